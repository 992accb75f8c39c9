//! One connection, for an application.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use bytes::Bytes;
use whimbrel_dtls::Fingerprint;
use whimbrel_proto::{
    Connection, ConnectionError, ConnectionHandle, ConnectionSnapshot, Datagram, Event, SendError,
};
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::data_dropped::DropCode;
use whimbrel_wire::{Payload, ResetCode};

use crate::carrier::UdpCarrier;
use crate::driver::Shared;
use crate::mailbox::Mailbox;
use crate::streams::{Reading, Writing};
use crate::{HostOptions, NetError, Received, Setup, SocketOptions};

/// One DCCP connection, over UDP unless its [`Host`](crate::Host) uses another carrier.
///
/// Its methods take `&self`: several tasks may send, receive and watch events at the same time.
/// Dropping it closes the connection in good order as long as the runtime lives.
#[derive(Debug)]
pub struct Socket {
    pub(crate) shared: Arc<Shared>,
    pub(crate) handle: ConnectionHandle,
    pub(crate) mailbox: Arc<Mailbox>,
    pub(crate) reading: Reading,
    pub(crate) writing: Writing,
}

impl Socket {
    /// Opens a connection to the DCCP `port` behind the UDP address `remote`, and waits for the handshake.
    ///
    /// # Errors
    /// The system refuses a UDP socket; the other end answers with a Reset or ICMP, or not at all.
    pub async fn connect(remote: SocketAddr, port: u16, setup: impl Into<Setup>) -> Result<Self, NetError> {
        Self::connect_with(remote, port, setup, SocketOptions::default()).await
    }

    /// As [`Socket::connect`], with options.
    ///
    /// # Errors
    /// As [`Socket::connect`].
    pub async fn connect_with(
        remote: SocketAddr,
        port: u16,
        setup: impl Into<Setup>,
        options: SocketOptions,
    ) -> Result<Self, NetError> {
        let setup = setup.into();
        // RFC 6773, Section 3.8: if the server has another connection at the UDP port, as of another client
        // behind the same NAT, another port may succeed.
        const ATTEMPTS: usize = 3;
        for _ in 1..ATTEMPTS {
            match Self::connect_once(remote, port, setup.clone(), options).await {
                Err(NetError::Connection(ConnectionError::Reset(reset)))
                    if options.local.is_none() && reset.code == ResetCode::EncapsulatedPortReuse => {}
                result => return result,
            }
        }
        Self::connect_once(remote, port, setup, options).await
    }

    async fn connect_once(
        remote: SocketAddr,
        port: u16,
        setup: Setup,
        options: SocketOptions,
    ) -> Result<Self, NetError> {
        let any = if remote.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let local = options.local.unwrap_or(SocketAddr::new(any, 0));
        let carrier = UdpCarrier::bind(local, Some(remote)).map_err(NetError::io("opening a UDP socket"))?;
        Self::connect_through(carrier, remote, port, setup, options, true).await
    }

    /// As [`Socket::connect_with`], through a UDP socket that the application has opened and bound. It is
    /// connected to `remote`, and belongs to the DCCP socket; `options.local` has no effect.
    ///
    /// # Errors
    /// As [`Socket::connect`].
    pub async fn from_std(
        socket: std::net::UdpSocket,
        remote: SocketAddr,
        port: u16,
        setup: impl Into<Setup>,
        options: SocketOptions,
    ) -> Result<Self, NetError> {
        let carrier = UdpCarrier::with_socket(socket, Some(remote))
            .map_err(NetError::io("taking over a UDP socket"))?;
        Self::connect_through(carrier, remote, port, setup.into(), options, false).await
    }

    async fn connect_through(
        carrier: UdpCarrier,
        remote: SocketAddr,
        port: u16,
        setup: Setup,
        options: SocketOptions,
        is_bound_by_us: bool,
    ) -> Result<Self, NetError> {
        let (receive_queue, dscp) = (options.receive_queue, options.dscp);
        let host = HostOptions { receive_queue, dscp, ..HostOptions::default() };
        let driver =
            Shared::start_for_one(carrier.into(), &host).map_err(NetError::io("opening a UDP socket"))?;
        let socket = Self::request(driver.shared(), remote, options.source_port, port, setup)?;
        let follows = options.local.is_none() && is_bound_by_us;
        tokio::select! {
            result = socket.established() => result.map(|()| socket),
            () = socket.follow_address(remote), if follows => unreachable!("it follows until the handshake is over"),
        }
    }

    /// Opens a connection through that driver, and waits for the handshake.
    pub(crate) async fn open(
        shared: &Arc<Shared>,
        remote: SocketAddr,
        source_port: Option<u16>,
        port: u16,
        setup: Setup,
    ) -> Result<Self, NetError> {
        let socket = Self::request(shared, remote, source_port, port, setup)?;
        socket.established().await.map(|()| socket)
    }

    /// Opens a connection through that driver.
    fn request(
        shared: &Arc<Shared>,
        remote: SocketAddr,
        source_port: Option<u16>,
        port: u16,
        setup: Setup,
    ) -> Result<Self, NetError> {
        let mut state = shared.lock();
        let opened = state.connect(shared.clock.now(), remote, source_port, port, setup);
        let (handle, mailbox) = opened.map_err(|error| NetError::Config(error.to_string()))?;
        state.handles += 1;
        shared.wake_driver(state);
        Ok(Self::new(shared.clone(), handle, mailbox))
    }

    /// Waits until the handshake is over.
    async fn established(&self) -> Result<(), NetError> {
        let mailbox = &self.mailbox;
        mailbox
            .when_happened(|| {
                let inbox = mailbox.inbox();
                inbox.end().map(Err).or(inbox.connected.map(|_| Ok(())))
            })
            .await
    }

    /// A handle for a connection of the driver; it is counted already.
    pub(crate) fn new(shared: Arc<Shared>, handle: ConnectionHandle, mailbox: Arc<Mailbox>) -> Self {
        Self { shared, handle, mailbox, reading: Reading::default(), writing: Writing::default() }
    }

    /// The peer's UDP address; without UDP, its IP address with port 0. That of a client may change:
    /// [`Event::PeerMoved`] reports it.
    pub fn remote(&self) -> SocketAddr {
        self.mailbox.remote()
    }

    /// This end's UDP address; without UDP, its host's with port 0. See [`Socket::rebind`].
    pub fn local(&self) -> SocketAddr {
        self.shared.local()
    }

    /// The time on this socket's clock, for deadlines.
    pub fn now(&self) -> Instant {
        self.shared.clock.now()
    }

    /// Queues a datagram. Its arrival is not confirmed: a dead peer is detected after
    /// [`TimerConfig::idle`](crate::TimerConfig::idle), a minute by default. Where the send queue refuses when full
    /// ([`whimbrel_proto::OverflowPolicy::Refuse`]), waits for room; otherwise never waits.
    ///
    /// # Errors
    /// The datagram is too large, or the connection is over.
    pub async fn send(&self, payload: Bytes) -> Result<(), NetError> {
        self.send_many([payload], None).await
    }

    /// Queues several datagrams at once, as [`Socket::send`] does one: the pieces of a video frame, say.
    /// They are not worth sending after `deadline` (on this socket's clock).
    ///
    /// # Errors
    /// As [`Socket::send`]; those before the one that failed are queued.
    pub async fn send_many(
        &self,
        payloads: impl IntoIterator<Item = Bytes>,
        deadline: Option<Instant>,
    ) -> Result<(), NetError> {
        let mut payloads = payloads.into_iter();
        let mut refused = None;
        self.mailbox
            .when_writable(|| match self.queue(&mut refused, &mut payloads, deadline) {
                Err(NetError::Send(SendError::QueueFull)) => None,
                result => Some(result),
            })
            .await
    }

    /// Waits until the send queue has room for a datagram of `size` bytes, for an application that decides at the last moment
    /// what to send. Without [`whimbrel_proto::OverflowPolicy::Refuse`] it makes room, and does not wait.
    ///
    /// # Errors
    /// Such a datagram is too large, or the connection is over.
    pub async fn writable(&self, size: usize) -> Result<(), NetError> {
        self.mailbox
            .when_writable(|| {
                let mut state = self.shared.lock();
                if !state.is_current(self.handle, &self.mailbox) || state.stopped {
                    return Some(Err(self.end()));
                }
                match state.make_room(self.now(), self.handle, size) {
                    Err(SendError::QueueFull) => None,
                    Err(SendError::Closed) => Some(Err(self.end())),
                    result => Some(result.map_err(NetError::from)),
                }
            })
            .await
    }

    /// Queues a datagram that is not worth sending after `deadline` (on this socket's clock). Never waits.
    ///
    /// # Errors
    /// The datagram is too large, the queue is full and refuses, or the connection is over.
    pub fn try_send(&self, payload: Bytes, deadline: Option<Instant>) -> Result<(), NetError> {
        self.queue(&mut None, &mut std::iter::once(payload), deadline)
    }

    /// Queues a datagram that is dropped if it could not be sent until `deadline` (on this socket's clock), and
    /// [`Event::DatagramDropped`] then reports it. Waits as [`Socket::send`] does.
    ///
    /// # Errors
    /// As [`Socket::send`].
    pub async fn send_before(&self, payload: Bytes, deadline: Instant) -> Result<(), NetError> {
        self.send_many([payload], Some(deadline)).await
    }

    /// As [`Socket::send_before`], with a deadline `lifetime` from now.
    ///
    /// # Errors
    /// As [`Socket::send`].
    pub async fn send_within(&self, payload: Bytes, lifetime: Duration) -> Result<(), NetError> {
        self.send_before(payload, self.now() + lifetime).await
    }

    /// Queues the datagram refused before and those that follow; leaves the one refused now in `refused`.
    pub(crate) fn queue(
        &self,
        refused: &mut Option<Bytes>,
        payloads: &mut impl Iterator<Item = Bytes>,
        deadline: Option<Instant>,
    ) -> Result<(), NetError> {
        let now = self.now();
        let mut state = self.shared.lock();
        if !state.is_current(self.handle, &self.mailbox) || state.stopped {
            return Err(self.end());
        }
        let mut result = Ok(());
        while let Some(payload) = refused.take().or_else(|| payloads.next()) {
            let datagram = Datagram { payload: Payload::Bytes(payload.clone()), deadline };
            match state.send(now, self.handle, datagram) {
                Ok(()) => {}
                Err(SendError::Closed) => {
                    result = Err(self.end());
                    break;
                }
                Err(error) => {
                    *refused = Some(payload);
                    result = Err(error.into());
                    break;
                }
            }
        }
        self.shared.wake_driver(state);
        result
    }

    /// The reason why nothing can be sent.
    fn end(&self) -> NetError {
        self.mailbox.inbox().end().unwrap_or(ConnectionError::ClosedLocally.into())
    }

    /// The next datagram.
    ///
    /// # Errors
    /// The connection is over and all that arrived has been read.
    pub async fn recv(&self) -> Result<Received, NetError> {
        self.mailbox
            .when_readable(|| {
                let mut inbox = self.mailbox.inbox();
                inbox.pop().map(Ok).or_else(|| inbox.end().map(Err))
            })
            .await
    }

    /// Waits for at least one datagram and appends up to `limit` to `out`; returns their number.
    ///
    /// # Errors
    /// The connection is over and all that arrived has been read.
    pub async fn recv_many(&self, out: &mut Vec<Received>, limit: usize) -> Result<usize, NetError> {
        self.mailbox
            .when_readable(|| {
                let mut inbox = self.mailbox.inbox();
                match inbox.pop_many(out, limit) {
                    0 if limit > 0 => inbox.end().map(Err),
                    taken => Some(Ok(taken)),
                }
            })
            .await
    }

    /// The next datagram if there is one now. Never waits.
    ///
    /// # Errors
    /// As [`Socket::recv`].
    pub fn try_recv(&self) -> Result<Option<Received>, NetError> {
        let mut inbox = self.mailbox.inbox();
        match inbox.pop() {
            Some(received) => Ok(Some(received)),
            None => inbox.end().map_or(Ok(None), Err),
        }
    }

    /// The next event if there is one now. Never waits.
    ///
    /// # Errors
    /// As [`Socket::event`].
    pub fn try_event(&self) -> Result<Option<Event>, NetError> {
        let mut inbox = self.mailbox.inbox();
        match inbox.pop_event() {
            Some(event) => Ok(Some(event)),
            None => inbox.end().map_or(Ok(None), Err),
        }
    }

    /// The next event that is not a datagram: drops with their reasons, feature changes, the end.
    ///
    /// # Errors
    /// The connection is over and its last event has been read.
    pub async fn event(&self) -> Result<Event, NetError> {
        self.mailbox
            .when_happened(|| {
                let mut inbox = self.mailbox.inbox();
                inbox.pop_event().map(Ok).or_else(|| inbox.end().map(Err))
            })
            .await
    }

    /// A snapshot of the connection; `None` once its state is removed.
    pub fn snapshot(&self) -> Option<ConnectionSnapshot> {
        let state = self.shared.lock();
        state.snapshot(self.handle).filter(|_| state.is_current(self.handle, &self.mailbox))
    }

    /// The fingerprint of the key by which the peer has authenticated itself; `None` if the connection is not secured
    /// ([`Setup::secured`]), and once its state is removed.
    pub fn peer(&self) -> Option<Fingerprint> {
        let state = self.shared.lock();
        state.layer(self.handle).filter(|_| state.is_current(self.handle, &self.mailbox))?.peer()
    }

    /// Number of datagrams of the peer that were not authentic, or came twice, and were discarded. Zero if the connection is
    /// not secured.
    pub fn forgeries(&self) -> u64 {
        let state = self.shared.lock();
        let layer = state.layer(self.handle).filter(|_| state.is_current(self.handle, &self.mailbox));
        layer.map_or(0, whimbrel_dtls::Layer::ignored)
    }

    /// Datagrams dropped because the application did not read them in time.
    pub fn receive_overflows(&self) -> u64 {
        self.mailbox.inbox().overflowed
    }

    /// Stops receiving: later arrivals are dropped, and the peer is notified (RFC 4340, Section 11.7.2).
    /// Datagrams that have arrived can still be read, and sending continues. This cannot be undone.
    /// Dropping the socket implies it.
    pub fn stop_receiving(&self) {
        self.command(|connection, now| connection.stop_receiving(now));
    }

    /// Sets or clears the slow-receiver state of the application: while it is set, the peer is asked not to
    /// send faster (RFC 4340, Section 11.6), as it is when three quarters of [`SocketOptions::receive_queue`]
    /// are full.
    pub fn set_slow_receiver(&self, slow: bool) {
        self.command(|connection, _| {
            let mut inbox = self.mailbox.inbox();
            inbox.asked_slow = slow;
            inbox.report_to(connection);
        });
    }

    /// Reports that the application discarded a datagram: its own checksum was wrong ([`DropCode::Corrupt`]),
    /// or it had no room ([`DropCode::ReceiveBuffer`]). The peer's congestion control counts it. Returns `true`
    /// if the peer will be notified: see [`whimbrel_proto::Connection::datagram_discarded`].
    pub fn discarded(&self, received: &Received, code: DropCode) -> bool {
        let mut is_told = false;
        self.command(|connection, _| is_told = connection.datagram_discarded(received.sequence, code));
        is_told
    }

    /// Gives the connection a command, if it still exists.
    pub(crate) fn command(&self, command: impl FnOnce(&mut Connection, Instant)) {
        let mut state = self.shared.lock();
        if state.is_current(self.handle, &self.mailbox)
            && let Some(connection) = state.endpoint.connection_mut(self.handle)
        {
            command(connection, self.shared.clock.now());
            state.endpoint.wake(self.handle);
            self.shared.wake_driver(state);
        }
    }

    /// Returns memory that the handshake, or traffic, has left behind: a quarter of what a connection takes. It is allocated again when
    /// it is needed. For servers with many connections, most of which are idle.
    pub fn shrink_to_fit(&self) {
        let mut state = self.shared.lock();
        if state.is_current(self.handle, &self.mailbox) {
            state.shrink_to_fit(self.handle);
        }
    }

    /// Closes gracefully: sends the queued datagrams, then a Close, and waits until the peer answers or is given up, for no longer
    /// than the configuration's [`TimerConfig::close`](crate::TimerConfig::close), half a minute by default. Datagrams still
    /// queued then are dropped and the connection is reset.
    ///
    /// Afterwards [`Socket::recv`] still gives what arrived before.
    pub async fn close(&self) {
        self.start_closing();
        self.mailbox.when_happened(|| self.mailbox.inbox().end()).await;
    }

    /// Ends the connection at once with a Reset.
    pub fn abort(&self) {
        let mut state = self.shared.lock();
        if state.is_current(self.handle, &self.mailbox) {
            state.endpoint.abort(self.now(), self.handle);
            self.shared.wake_driver(state);
        }
    }

    pub(crate) fn start_closing(&self) {
        let mut state = self.shared.lock();
        if state.is_current(self.handle, &self.mailbox) {
            state.close(self.now(), self.handle);
            self.shared.wake_driver(state);
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.stop_receiving();
        self.start_closing();
        let mut state = self.shared.lock();
        state.handles -= 1;
        // The driver ends if that was the last.
        self.shared.wake_driver(state);
    }
}
