//! One connection, for an application.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use whimbrel_proto::{Config, ConnectionHandle, ConnectionSnapshot, Datagram, Event, SendError};
use whimbrel_units::Instant;
use whimbrel_wire::Payload;

use crate::carrier::Carrier;
use crate::driver::{Mailbox, Shared, Wakers};
use crate::{NetError, Received};

/// What a socket needs besides the protocol's [`Config`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SocketOptions {
    /// The local UDP address; `None`: any.
    pub local: Option<SocketAddr>,
    /// Unread datagrams kept; beyond that the oldest is dropped.
    pub receive_queue: usize,
}

impl Default for SocketOptions {
    fn default() -> Self {
        Self { local: None, receive_queue: 4096 }
    }
}

/// One DCCP connection over UDP.
///
/// Dropping it closes the connection in good order as long as the runtime lives.
#[derive(Debug)]
pub struct Socket {
    shared: Arc<Shared>,
    handle: ConnectionHandle,
    wakers: Arc<Wakers>,
    remote: SocketAddr,
}

impl Socket {
    /// Opens a connection to the DCCP `port` behind the UDP address `remote`, and waits for the handshake.
    ///
    /// # Errors
    /// The system's refusal of a UDP socket; a Reset, ICMP or silence from the other end.
    pub async fn connect(remote: SocketAddr, port: u16, config: Config) -> Result<Self, NetError> {
        Self::connect_with(remote, port, config, SocketOptions::default()).await
    }

    /// As [`Socket::connect`], with options.
    ///
    /// # Errors
    /// As [`Socket::connect`].
    pub async fn connect_with(
        remote: SocketAddr,
        port: u16,
        config: Config,
        options: SocketOptions,
    ) -> Result<Self, NetError> {
        let any = if remote.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let local = options.local.unwrap_or(SocketAddr::new(any, 0));
        let carrier = Carrier::bind(local, Some(remote)).map_err(NetError::io("opening a UDP socket"))?;
        let shared =
            Shared::start(carrier, options.receive_queue).map_err(NetError::io("opening a UDP socket"))?;
        let socket = {
            let mut state = shared.lock();
            let now = shared.clock.now();
            let handle = state
                .endpoint
                .connect(now, remote, port, config)
                .map_err(|error| NetError::Config(error.to_string()))?;
            state.mailboxes.insert(handle, Mailbox::new(remote));
            drop(state);
            Self::attach(&shared, handle)
        };
        shared.commanded.notify_one();
        loop {
            {
                let state = shared.lock();
                if let Some(why) = state.failure(socket.handle) {
                    return Err(why.into());
                }
                if state.stopped {
                    return Err(NetError::DriverStopped);
                }
                if state
                    .mailboxes
                    .get(&socket.handle)
                    .is_some_and(|mailbox| mailbox.inbox.connected.is_some())
                {
                    break;
                }
            }
            socket.wakers.event.notified().await;
        }
        Ok(socket)
    }

    /// A handle for a connection that the driver knows.
    pub(crate) fn attach(shared: &Arc<Shared>, handle: ConnectionHandle) -> Self {
        let mut state = shared.lock();
        state.handles += 1;
        let (wakers, remote) = state.mailboxes.get(&handle).map_or_else(
            || (Arc::default(), shared.local),
            |mailbox| (mailbox.wakers.clone(), mailbox.remote),
        );
        drop(state);
        Self { shared: shared.clone(), handle, wakers, remote }
    }

    /// The peer's UDP address.
    pub const fn remote(&self) -> SocketAddr {
        self.remote
    }

    /// This end's UDP address.
    pub fn local(&self) -> SocketAddr {
        self.shared.local
    }

    /// The time on this socket's clock, for deadlines.
    pub fn now(&self) -> Instant {
        self.shared.clock.now()
    }

    /// Queues a datagram. Where the send queue refuses when full
    /// ([`whimbrel_proto::OverflowPolicy::Refuse`]), waits for room; else never waits.
    ///
    /// # Errors
    /// The datagram is too large, or the connection is over.
    pub async fn send(&self, payload: Bytes) -> Result<(), NetError> {
        let mut datagram = Datagram::new(payload);
        loop {
            match self.try_send_datagram(datagram) {
                Ok(()) => return Ok(()),
                Err((NetError::Send(SendError::QueueFull), again)) => datagram = again,
                Err((error, _)) => return Err(error),
            }
            self.wakers.writable.notified().await;
        }
    }

    /// Queues a datagram that is not worth sending after `deadline` (on this socket's clock). Never waits.
    ///
    /// # Errors
    /// The datagram is too large, the queue is full and refuses, or the connection is over.
    pub fn try_send(&self, payload: Bytes, deadline: Option<Instant>) -> Result<(), NetError> {
        self.try_send_datagram(Datagram { payload: Payload::Bytes(payload), deadline })
            .map_err(|(error, _)| error)
    }

    fn try_send_datagram(&self, datagram: Datagram) -> Result<(), (NetError, Datagram)> {
        let mut state = self.shared.lock();
        if let Some(why) = state.failure(self.handle) {
            return Err((why.into(), datagram));
        }
        if state.stopped {
            return Err((NetError::DriverStopped, datagram));
        }
        let now = self.shared.clock.now();
        // A datagram is a few words and a reference count: keeping one for the retry costs nothing that matters.
        let again = datagram.clone();
        let result = state.endpoint.send(now, self.handle, datagram);
        drop(state);
        match result {
            Ok(_) => {
                self.shared.commanded.notify_one();
                Ok(())
            }
            Err(error) => Err((error.into(), again)),
        }
    }

    /// The next datagram.
    ///
    /// # Errors
    /// The connection is over and all that arrived has been read.
    pub async fn recv(&self) -> Result<Received, NetError> {
        loop {
            {
                let mut state = self.shared.lock();
                if let Some(received) = state.mailboxes.get_mut(&self.handle).and_then(|m| m.inbox.pop()) {
                    return Ok(received);
                }
                self.check(&state)?;
            }
            self.wakers.readable.notified().await;
        }
    }

    /// Waits for at least one datagram and appends up to `limit` to `out`; tells how many.
    ///
    /// # Errors
    /// The connection is over and all that arrived has been read.
    pub async fn recv_many(&self, out: &mut Vec<Received>, limit: usize) -> Result<usize, NetError> {
        loop {
            {
                let mut state = self.shared.lock();
                let taken = state.mailboxes.get_mut(&self.handle).map_or(0, |m| m.inbox.pop_many(out, limit));
                if taken > 0 {
                    return Ok(taken);
                }
                self.check(&state)?;
            }
            self.wakers.readable.notified().await;
        }
    }

    /// The next event that is not a datagram: drops with their reasons, feature changes, the end.
    ///
    /// # Errors
    /// The connection is over and its last event has been read.
    pub async fn event(&self) -> Result<Event, NetError> {
        loop {
            {
                let mut state = self.shared.lock();
                if let Some(event) = state.mailboxes.get_mut(&self.handle).and_then(|m| m.inbox.pop_event()) {
                    return Ok(event);
                }
                self.check(&state)?;
            }
            self.wakers.event.notified().await;
        }
    }

    fn check(&self, state: &crate::driver::State) -> Result<(), NetError> {
        match state.failure(self.handle) {
            Some(why) => Err(why.into()),
            None if state.stopped => Err(NetError::DriverStopped),
            None => Ok(()),
        }
    }

    /// What can be seen of the connection; `None` once its state is forgotten.
    pub fn snapshot(&self) -> Option<ConnectionSnapshot> {
        self.shared.lock().endpoint.connection(self.handle).map(whimbrel_proto::Connection::snapshot)
    }

    /// Datagrams dropped because the application did not read them in time.
    pub fn receive_overflows(&self) -> u64 {
        self.shared.lock().mailboxes.get(&self.handle).map_or(0, |mailbox| mailbox.inbox.overflowed)
    }

    /// Closes in good order: sends what is queued, says goodbye, and waits until the peer agrees or is given up.
    ///
    /// Afterwards [`Socket::recv`] still gives what arrived before.
    pub async fn close(&self) {
        {
            let mut state = self.shared.lock();
            let now = self.shared.clock.now();
            state.endpoint.close(now, self.handle);
        }
        self.shared.commanded.notify_one();
        loop {
            {
                let state = self.shared.lock();
                if state.stopped || state.failure(self.handle).is_some() {
                    return;
                }
            }
            self.wakers.event.notified().await;
            // Events wait for their reader; the end is seen in the loop's head.
        }
    }

    /// Ends the connection at once with a Reset.
    pub fn abort(&self) {
        let now = self.shared.clock.now();
        self.shared.lock().endpoint.abort(now, self.handle);
        self.shared.commanded.notify_one();
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        let now = self.shared.clock.now();
        state.handles -= 1;
        if state.failure(self.handle).is_none() {
            state.endpoint.close(now, self.handle);
        }
        drop(state);
        self.shared.commanded.notify_one();
    }
}
