//! Tasks that wait for one socket.

use std::sync::Arc;

use tokio::sync::Notify;

/// The tasks that wait for a socket, by what they wait for.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    /// Notified when datagrams arrive.
    pub(crate) readable: Arc<Notify>,
    /// Notified when the send queue has room again.
    pub(crate) writable: Arc<Notify>,
    /// Notified of other events.
    pub(crate) happened: Arc<Notify>,
}

/// The tasks to wake.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wake {
    /// Datagrams arrived.
    pub(crate) readable: bool,
    /// The send queue has room again.
    pub(crate) writable: bool,
    /// There are other events.
    pub(crate) happened: bool,
}

impl Wake {
    pub(crate) const ALL: Self = Self { readable: true, writable: true, happened: true };
}

impl Waiters {
    /// Wakes all waiting tasks: each checks its own condition, so that no wake-up is lost on the wrong task.
    pub(crate) fn wake(&self, which: Wake) {
        for (wanted, notify) in [
            (which.readable, &self.readable),
            (which.writable, &self.writable),
            (which.happened, &self.happened),
        ] {
            if wanted {
                notify.notify_waiters();
            }
        }
    }
}

/// Calls `look` now and after each notification until it returns a value.
pub(crate) async fn wait<T>(notify: &Notify, mut look: impl FnMut() -> Option<T>) -> T {
    loop {
        // Created before `look` is called: it receives a wake-up between that call and waiting.
        let notified = notify.notified();
        if let Some(found) = look() {
            return found;
        }
        notified.await;
    }
}
