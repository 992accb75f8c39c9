//! The application's side of one connection: received data and waiting tasks.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::inbox::Inbox;
use crate::trace::Trace;

/// State shared by the driver and one socket besides the protocol.
#[derive(Debug)]
pub(crate) struct Mailbox {
    remote: Mutex<SocketAddr>,
    /// The peer opened the connection.
    pub(crate) is_server: bool,
    inbox: Mutex<Inbox>,
    pub(crate) trace: Trace,
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

impl Mailbox {
    pub(crate) fn new(remote: SocketAddr, is_server: bool, limit: usize) -> Self {
        Self {
            remote: Mutex::new(remote),
            is_server,
            inbox: Mutex::new(Inbox::new(limit)),
            trace: Trace::new(remote, is_server),
            readable: Arc::default(),
            writable: Arc::default(),
            happened: Arc::default(),
        }
    }

    /// The peer's address.
    pub(crate) fn remote(&self) -> SocketAddr {
        *self.remote.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the peer's new address.
    pub(crate) fn set_remote(&self, remote: SocketAddr) {
        *self.remote.lock().unwrap_or_else(PoisonError::into_inner) = remote;
    }

    pub(crate) fn inbox(&self) -> MutexGuard<'_, Inbox> {
        // A panic elsewhere must not spread: the inbox is consistent between calls.
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes all waiting tasks: each checks its own condition, so that no wake-up is lost on the wrong task.
    pub(crate) fn wake(&self, waiters: Wake) {
        for (wanted, notify) in [
            (waiters.readable, &self.readable),
            (waiters.writable, &self.writable),
            (waiters.happened, &self.happened),
        ] {
            if wanted {
                notify.notify_waiters();
            }
        }
    }

    /// Waits for datagrams until `look` returns a value.
    pub(crate) async fn when_readable<T>(&self, look: impl FnMut() -> Option<T>) -> T {
        wait(&self.readable, look).await
    }

    /// Waits for room in the send queue until `look` returns a value.
    pub(crate) async fn when_writable<T>(&self, look: impl FnMut() -> Option<T>) -> T {
        wait(&self.writable, look).await
    }

    /// Waits for events until `look` returns a value.
    pub(crate) async fn when_happened<T>(&self, look: impl FnMut() -> Option<T>) -> T {
        wait(&self.happened, look).await
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
