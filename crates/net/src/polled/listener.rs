//! A listener that is polled.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::runtime::waited;
use super::signal::Signal;
use super::{Runtime, Socket};
use crate::{HostOptions, HostPort, NetError, Setup};

/// Accepted connections that wait for the application here; further ones wait in the listener.
const ACCEPTED: usize = 16;

/// Accepts connections; see [`crate::Listener`]. Its descriptor is readable while there are connections to
/// accept.
///
/// Dropping it stops listening.
#[derive(Debug)]
pub struct Listener {
    runtime: Runtime,
    local: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    signal: Signal,
    accepted: Mutex<Accepted>,
    /// The application has taken connections.
    taken: Notify,
    /// The application has dropped the listener.
    dropped: Notify,
}

#[derive(Debug, Default)]
struct Accepted {
    sockets: VecDeque<crate::Socket>,
    has_stopped: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Accepted> {
        self.accepted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn serve(&self, listener: crate::Listener) {
        loop {
            let is_full = self.lock().sockets.len() >= ACCEPTED;
            tokio::select! {
                biased;
                () = self.dropped.notified() => return,
                () = self.taken.notified(), if is_full => {}
                accepted = listener.accept(), if !is_full => {
                    let mut waiting = self.lock();
                    match accepted {
                        Ok(socket) => waiting.sockets.push_back(socket),
                        Err(_) => waiting.has_stopped = true,
                    }
                    self.signal.set();
                    if waiting.has_stopped {
                        return;
                    }
                }
            }
        }
    }
}

impl Listener {
    /// Listens, as [`crate::Listener::bind_host`] does.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Panics
    /// If called by an asynchronous task of `tokio`.
    pub fn bind(
        runtime: &Runtime,
        local: impl Into<HostPort>,
        port: u16,
        setup: impl Into<Setup>,
        options: HostOptions,
    ) -> Result<Self, NetError> {
        let signal = Signal::new().map_err(NetError::io("opening a descriptor"))?;
        let listener = runtime.within(crate::Listener::bind_host(&local.into(), port, setup, options))?;
        let local = listener.local();
        let (accepted, taken, dropped) = Default::default();
        let shared = Arc::new(Shared { signal, accepted, taken, dropped });
        let task = shared.clone();
        runtime.spawn(async move { task.serve(listener).await });
        Ok(Self { runtime: runtime.clone(), local, shared })
    }

    /// The UDP address it listens on.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// The next connection with a complete handshake, if there is one.
    ///
    /// # Errors
    /// The thread has stopped, or the system refuses a descriptor.
    pub fn try_accept(&self) -> Result<Option<Socket>, NetError> {
        let next = {
            let mut waiting = self.shared.lock();
            let next = waiting.sockets.pop_front();
            if waiting.sockets.is_empty() && !waiting.has_stopped {
                self.shared.signal.clear();
            }
            if next.is_none() && waiting.has_stopped {
                return Err(NetError::DriverStopped);
            }
            next
        };
        self.shared.taken.notify_one();
        next.map(|socket| Socket::accepted(&self.runtime, socket)).transpose()
    }

    /// Waits until the descriptor is readable; returns `false` after `limit`. Returns early where a signal
    /// interrupts it.
    ///
    /// # Errors
    /// The system refuses to wait.
    pub fn wait(&self, limit: Option<Duration>) -> Result<bool, NetError> {
        waited(self.shared.signal.wait(limit))
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.shared.signal.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.shared.dropped.notify_one();
    }
}
