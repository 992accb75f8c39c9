//! A placeholder for systems without a timer that the runtime can poll like a socket.

use whimbrel_units::Duration;

/// A timer that is never available.
#[derive(Debug, Default)]
pub(super) struct FineTimer;

impl FineTimer {
    /// Returns `false`: not available.
    pub(super) fn set(&mut self, _ahead: Duration) -> bool {
        false
    }

    /// Never.
    pub(super) async fn expired(&mut self) {
        std::future::pending().await
    }
}
