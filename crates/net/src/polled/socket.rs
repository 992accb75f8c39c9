//! A socket that is polled.

use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Notify;
use tokio::sync::futures::OwnedNotified;
use whimbrel_proto::{ConnectionError, DatagramId, Event, SendError};

use super::Runtime;
use super::runtime::waited;
use super::signal::Signal;
use crate::waiters::wait;
use crate::{HostPort, Mark, NetError, Received, Setup, SocketOptions};

/// One connection; see [`crate::Socket`]. Its descriptor is readable while there are datagrams to read, and
/// when the handshake or the connection has ended; the descriptor of [`Socket::event_fd`] is readable while
/// there are events to read. An application that is not interested in events ignores the latter.
///
/// Its methods take `&self`, and several threads may call them. Dropping it closes the connection in order.
#[derive(Debug)]
pub struct Socket {
    handle: tokio::runtime::Handle,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// Shows datagrams.
    data: Signal,
    /// Shows events.
    events: Signal,
    phase: Mutex<Phase>,
    /// All datagrams have been read: the descriptor has to show the next one.
    data_drained: Notify,
    /// The same for events, or `room` is new.
    events_drained: Notify,
    /// The application has dropped or closed the socket.
    dropped: Notify,
    /// Wakes when the send queue has room after it has refused a datagram.
    room: Mutex<Option<OwnedNotified>>,
    /// `room` has woken since.
    has_room: AtomicBool,
}

#[derive(Debug)]
enum Phase {
    Connecting,
    Open(Arc<crate::Socket>),
    Failed(NetError),
}

impl Shared {
    fn new(phase: Phase) -> Result<Arc<Self>, NetError> {
        let signal = || Signal::new().map_err(NetError::io("opening a descriptor"));
        let (data, events, phase) = (signal()?, signal()?, Mutex::new(phase));
        let (data_drained, events_drained, dropped, room, has_room) = Default::default();
        Ok(Arc::new(Self { data, events, phase, data_drained, events_drained, dropped, room, has_room }))
    }

    fn signal_all(&self) {
        self.data.set();
        self.events.set();
    }

    fn signal_end(&self) {
        self.data.set_finally();
        self.events.set_finally();
    }

    fn phase(&self) -> MutexGuard<'_, Phase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_room(&self) -> Option<OwnedNotified> {
        self.room.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Opens the connection.
    async fn connect(&self, connecting: impl Future<Output = Result<crate::Socket, NetError>>) {
        let connected = tokio::select! {
            connected = connecting => connected,
            () = self.dropped.notified() => Err(ConnectionError::AbortedLocally.into()),
        };
        match connected {
            Ok(socket) => {
                let socket = Arc::new(socket);
                *self.phase() = Phase::Open(socket.clone());
                self.signal_all();
                self.watch(socket).await;
            }
            Err(error) => {
                *self.phase() = Phase::Failed(error);
                self.signal_end();
            }
        }
    }

    /// Sets the signals when there is something to do, until the application drops the socket, and closes the
    /// connection.
    async fn watch(&self, socket: Arc<crate::Socket>) {
        let mailbox = &socket.mailbox;
        // A signal that is set needs no watching.
        let (mut watches_data, mut watches_events) = (false, false);
        let mut room: Option<Pin<Box<OwnedNotified>>> = None;
        loop {
            tokio::select! {
                biased;
                () = self.dropped.notified() => break,
                () = self.data_drained.notified() => watches_data = true,
                () = self.events_drained.notified() => {
                    room = self.take_room().map(Box::pin).or(room);
                    watches_events = true;
                }
                () = woken(&mut room) => {
                    room = None;
                    self.has_room.store(true, Ordering::SeqCst);
                    self.events.set();
                }
                () = wait(&mailbox.waiters.readable, || mailbox.inbox().unread.has_datagram().then_some(())), if watches_data => {
                    watches_data = false;
                    self.data.set();
                }
                () = wait(&mailbox.waiters.happened, || self.has_event(&socket).then_some(())), if watches_events => {
                    watches_events = false;
                    self.events.set();
                }
            }
        }
        // The reason for the end is the error of reading.
        let _ = socket.close().await;
        self.signal_end();
    }

    fn has_event(&self, socket: &crate::Socket) -> bool {
        self.has_room.load(Ordering::SeqCst) || socket.mailbox.inbox().unread.has_event()
    }
}

/// Waits for room in a queue that has refused a datagram.
async fn woken(room: &mut Option<Pin<Box<OwnedNotified>>>) {
    match room {
        Some(room) => room.as_mut().await,
        None => std::future::pending().await,
    }
}

impl Socket {
    /// Begins to open a connection, as [`crate::Socket::connect_host`] does; waits neither for the addresses
    /// of a name nor for the handshake. The descriptor is readable when it has succeeded or failed.
    ///
    /// # Errors
    /// The setup is invalid, or the system refuses a descriptor.
    pub fn connect(
        runtime: &Runtime,
        remote: impl Into<HostPort>,
        port: u16,
        setup: impl Into<Setup>,
        options: SocketOptions,
    ) -> Result<Self, NetError> {
        let (setup, remote) = (setup.into(), remote.into());
        setup.check()?;
        let shared = Shared::new(Phase::Connecting)?;
        let task = shared.clone();
        runtime.spawn(async move {
            task.connect(crate::Socket::connect_host(&remote, port, setup, options)).await;
        });
        Ok(Self { handle: runtime.handle().clone(), shared })
    }

    /// One that a listener has accepted.
    pub(super) fn accepted(runtime: &Runtime, socket: crate::Socket) -> Result<Self, NetError> {
        let socket = Arc::new(socket);
        let shared = Shared::new(Phase::Open(socket.clone()))?;
        // As after the handshake of a client: there is an event to read.
        shared.signal_all();
        let task = shared.clone();
        runtime.spawn(async move { task.watch(socket).await });
        Ok(Self { handle: runtime.handle().clone(), shared })
    }

    /// The connection, for all that needs no waiting; `None` during the handshake.
    ///
    /// # Errors
    /// The handshake has failed.
    pub fn get(&self) -> Result<Option<Arc<crate::Socket>>, NetError> {
        match &*self.shared.phase() {
            Phase::Connecting => Ok(None),
            Phase::Open(socket) => Ok(Some(socket.clone())),
            Phase::Failed(error) => Err(error.repeated()),
        }
    }

    /// The next datagram if there is one.
    ///
    /// # Errors
    /// Same as [`crate::Socket::recv`].
    pub fn try_recv(&self) -> Result<Option<Received>, NetError> {
        let Some(socket) = self.get()? else { return Ok(None) };
        let received = socket.try_recv()?;
        if received.is_none() {
            self.shared.data.clear();
            self.shared.data_drained.notify_one();
        }
        Ok(received)
    }

    /// The next event if there is one.
    ///
    /// # Errors
    /// Same as [`crate::Socket::event`].
    pub fn try_event(&self) -> Result<Option<Event>, NetError> {
        if self.shared.has_room.swap(false, Ordering::SeqCst) {
            return Ok(Some(Event::SendReady));
        }
        let Some(socket) = self.get()? else { return Ok(None) };
        let event = socket.try_event()?;
        if event.is_none() {
            self.shared.events.clear();
            self.shared.events_drained.notify_one();
        }
        Ok(event)
    }

    /// Queues a datagram that is dropped if it could not be sent within `lifetime`.
    ///
    /// # Errors
    /// Same as [`crate::Socket::try_send`]. If the queue is full and refuses, [`Socket::event_fd`] becomes
    /// readable when it has room, and [`Socket::try_event`] gives [`Event::SendReady`]. During the handshake,
    /// the queue counts as full.
    pub fn try_send(&self, payload: Bytes, lifetime: Option<Duration>) -> Result<DatagramId, NetError> {
        self.try_send_part(payload, lifetime, Mark::SINGLE)
    }

    /// Like [`Socket::try_send`], with the place of the datagram in a frame of media, by which
    /// [repair](crate::Setup::repaired) protects whole frames.
    ///
    /// # Errors
    /// Same as [`Socket::try_send`].
    pub fn try_send_part(
        &self,
        payload: Bytes,
        lifetime: Option<Duration>,
        mark: Mark,
    ) -> Result<DatagramId, NetError> {
        let Some(socket) = self.get()? else { return Err(SendError::QueueFull.into()) };
        let deadline = lifetime.map(|lifetime| socket.now() + lifetime.into());
        // Created before the attempt: it receives a wake-up between that and waiting.
        let room = socket.mailbox.waiters.writable.clone().notified_owned();
        let result = socket.try_send_part(payload, deadline, mark);
        if let Err(NetError::Send(SendError::QueueFull)) = result {
            *self.shared.room.lock().unwrap_or_else(PoisonError::into_inner) = Some(room);
            self.shared.events_drained.notify_one();
        }
        result
    }

    /// Continues from another UDP address: see [`crate::Socket::rebind`].
    ///
    /// # Errors
    /// As there; during the handshake nothing is done.
    ///
    /// # Panics
    /// If called by an asynchronous task of `tokio`.
    pub fn rebind(&self, local: Option<SocketAddr>, change: crate::PathChange) -> Result<(), NetError> {
        match self.get()? {
            Some(socket) => self.handle.block_on(socket.rebind(local, change)),
            None => Ok(()),
        }
    }

    /// Begins to close the connection, as [`crate::Socket::close`] does: the descriptor becomes readable when
    /// that is done, and reading gives the error [`ConnectionError::ClosedLocally`] at the end. A handshake
    /// is given up.
    pub fn close(&self) {
        self.shared.dropped.notify_one();
    }

    /// Waits until the descriptor is readable; returns `false` after `limit`. Returns early where a signal
    /// interrupts it.
    ///
    /// # Errors
    /// The system refuses to wait.
    pub fn wait(&self, limit: Option<Duration>) -> Result<bool, NetError> {
        waited(self.shared.data.wait(limit))
    }

    /// Like [`Socket::wait`], for the descriptor of events.
    ///
    /// # Errors
    /// The system refuses to wait.
    pub fn wait_event(&self, limit: Option<Duration>) -> Result<bool, NetError> {
        waited(self.shared.events.wait(limit))
    }

    /// The descriptor that is readable while there are events to read.
    pub fn event_fd(&self) -> BorrowedFd<'_> {
        self.shared.events.as_fd()
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.shared.data.as_fd()
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.close();
    }
}
