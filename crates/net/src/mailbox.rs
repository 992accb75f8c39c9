//! The application's side of one connection: received data and waiting tasks.

use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::inbox::Inbox;
use crate::trace::Trace;
use crate::waiters::Waiters;

/// State shared by the driver and one socket besides the protocol.
#[derive(Debug)]
pub(crate) struct Mailbox {
    remote: Mutex<SocketAddr>,
    /// The peer opened the connection.
    pub(crate) is_server: bool,
    inbox: Mutex<Inbox>,
    pub(crate) trace: Trace,
    pub(crate) waiters: Waiters,
}

impl Mailbox {
    pub(crate) fn new(remote: SocketAddr, is_server: bool, limit: usize) -> Self {
        Self {
            remote: Mutex::new(remote),
            is_server,
            inbox: Mutex::new(Inbox::new(limit)),
            trace: Trace::new(remote, is_server),
            waiters: Waiters::default(),
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
}
