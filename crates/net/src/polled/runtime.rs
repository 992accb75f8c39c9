//! The thread that drives sockets.

use std::convert::Infallible;
use std::io;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::runtime::{Builder, Handle};
use tokio::sync::mpsc;

use crate::NetError;

/// A thread that drives sockets.
///
/// The thread ends when this handle, its clones and all listeners are dropped, and the connections of all
/// sockets are closed.
#[derive(Clone, Debug)]
pub struct Runtime(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    handle: Handle,
    /// The thread ends when every clone of it is dropped.
    alive: mpsc::Sender<Infallible>,
    /// Disconnected when the thread ends.
    ended: Mutex<std::sync::mpsc::Receiver<()>>,
    thread: JoinHandle<()>,
}

impl Runtime {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system refuses a thread or the descriptors of its event loop.
    pub fn start() -> Result<Self, NetError> {
        let starting = || NetError::io("starting the thread of sockets");
        let runtime = Builder::new_current_thread().enable_all().build().map_err(starting())?;
        let handle = runtime.handle().clone();
        let (alive, mut users) = mpsc::channel(1);
        let (end, ended) = sync_channel(0);
        let run = move || {
            let _end = end;
            runtime.block_on(async { while users.recv().await.is_some() {} });
        };
        let thread = std::thread::Builder::new().name("whimbrel".into()).spawn(run).map_err(starting())?;
        Ok(Self(Arc::new(Inner { handle, alive, ended: Mutex::new(ended), thread })))
    }

    /// Waits until the connections of sockets that have been dropped are closed, for at most `limit`, and
    /// ends the thread. Returns `false` if there are open sockets after that time, or listeners or clones of
    /// this handle; the thread then ends when it has nothing to do any more.
    pub fn shutdown(self, limit: Duration) -> bool {
        let Some(Inner { alive, ended, thread, .. }) = Arc::into_inner(self.0) else { return false };
        drop(alive);
        let ended = ended.into_inner().unwrap_or_else(PoisonError::into_inner);
        ended.recv_timeout(limit) == Err(RecvTimeoutError::Disconnected) && thread.join().is_ok()
    }

    pub(super) fn handle(&self) -> &Handle {
        &self.0.handle
    }

    /// Runs a task. The thread does not end before it does.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let alive = self.0.alive.clone();
        self.0.handle.spawn(async move {
            task.await;
            drop(alive);
        });
    }

    /// Runs `work`, which needs the thread's event loop. `action` is for the error.
    pub(super) fn within<T>(&self, work: impl Future<Output = Result<T, NetError>>) -> Result<T, NetError> {
        self.0.handle.block_on(work)
    }
}

/// The result of waiting for a descriptor.
pub(super) fn waited(result: io::Result<bool>) -> Result<bool, NetError> {
    match result {
        // A handler of signals has run: the caller may look for its result.
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(true),
        result => result.map_err(NetError::io("waiting for a socket")),
    }
}
