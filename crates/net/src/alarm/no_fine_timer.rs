//! Where the system has no timer that the runtime can wait for as for a socket.

use whimbrel_units::Duration;

/// Stands for the timer that there is not.
#[derive(Debug, Default)]
pub(super) struct FineTimer;

impl FineTimer {
    /// It cannot.
    pub(super) fn set(&mut self, _ahead: Duration) -> bool {
        false
    }

    /// Never.
    pub(super) async fn expired(&mut self) {
        std::future::pending().await
    }
}
