//! One connection, for an application.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use whimbrel_proto::repair::RepairCounts;
use whimbrel_proto::{
    Connection, ConnectionError, ConnectionHandle, ConnectionSnapshot, Datagram, Event, SendError, State,
};
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::ResetCode;

use crate::carrier::UdpCarrier;
use crate::datagram_socket::{self, Queued, SocketCore, datagram_methods};
use crate::driver::Shared;
use crate::dtls::Fingerprint;
use crate::host_port::most_telling;
use crate::mailbox::Mailbox;
use crate::streams::Streams;
use crate::unread::Unread;
use crate::waiters::{Waiters, wait};
use crate::{DCCP_UDP_PORT, HostOptions, HostPort, NetError, Received, Setup, SocketOptions, connect_any};

/// Time without a Response after which a client sends its Requests from another UDP port: the path of the old one may lead into a
/// link that is down, of several among which routers choose by addresses and ports, or through a mapping of a NAT that leads nowhere.
/// In its time a port has sent eight Requests. An attempt that was answered is not given up.
const PORT_PATIENCE: Duration = Duration::from_secs(5);
/// RFC 6773, Section 3.8: if the server has another connection at the UDP port, as of another client behind the same NAT, another
/// port may succeed. This many others are tried.
const OTHER_PORTS: usize = 2;

/// One DCCP connection, over UDP unless its [`Host`](crate::Host) uses another carrier.
///
/// Its methods take `&self`: several tasks may send, receive and watch events at the same time.
/// Dropping it closes the connection in good order as long as the runtime lives.
#[derive(Debug)]
pub struct Socket {
    pub(crate) shared: Arc<Shared>,
    pub(crate) handle: ConnectionHandle,
    pub(crate) mailbox: Arc<Mailbox>,
    streams: Streams,
}

impl Socket {
    /// Opens a connection to the DCCP `port` behind the UDP address `remote`, and waits for the handshake. While there is no
    /// answer, it changes its own UDP port every 5 s.
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
        let mut setup = setup.into();
        let has_choice = options.local.is_none();
        let mut reused = 0;
        loop {
            let left = setup.config.timers.connect;
            let patience = Some(PORT_PATIENCE).filter(|patience| has_choice && *patience < left);
            match Self::connect_once(remote, port, setup.clone(), options, patience).await {
                Err(NetError::Connection(ConnectionError::Reset(reset)))
                    if has_choice
                        && reset.code == ResetCode::EncapsulatedPortReuse
                        && reused < OTHER_PORTS =>
                {
                    reused += 1;
                }
                Ok(Some(socket)) => return Ok(socket),
                Ok(None) => setup.config.timers.connect = left - PORT_PATIENCE,
                Err(error) => return Err(error),
            }
        }
    }

    /// As [`Socket::connect_with`], to a host whose name is resolved first. All its addresses are tried, and the connection is the one
    /// that is established first ([`connect_any`](crate::connect_any)). Without a port, it is 6511.
    ///
    /// # Errors
    /// The name cannot be resolved; otherwise as [`Socket::connect`], for the address that has said most.
    pub async fn connect_host(
        remote: &HostPort,
        port: u16,
        setup: impl Into<Setup>,
        options: SocketOptions,
    ) -> Result<Self, NetError> {
        let setup = setup.into();
        let addresses = remote.resolve(DCCP_UDP_PORT).await?;
        let attempt = |at| Self::connect_with(at, port, setup.clone(), options);
        connect_any(&addresses, attempt).await.map(|(_, socket)| socket).map_err(most_telling)
    }

    /// An attempt from one UDP port; `None` if there was no answer for as long as `patience`.
    async fn connect_once(
        remote: SocketAddr,
        port: u16,
        setup: Setup,
        options: SocketOptions,
        patience: Option<Duration>,
    ) -> Result<Option<Self>, NetError> {
        let any = if remote.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let local = options.local.unwrap_or(SocketAddr::new(any, 0));
        let carrier = UdpCarrier::bind(local, Some(remote)).map_err(NetError::io("opening a UDP socket"))?;
        Self::connect_through(carrier, remote, port, setup, options, true, patience).await
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
        let connected =
            Self::connect_through(carrier, remote, port, setup.into(), options, false, None).await?;
        Ok(connected.expect("without a limit to its patience it waits for the connection"))
    }

    async fn connect_through(
        carrier: UdpCarrier,
        remote: SocketAddr,
        port: u16,
        setup: Setup,
        options: SocketOptions,
        is_bound_by_us: bool,
        patience: Option<Duration>,
    ) -> Result<Option<Self>, NetError> {
        let (receive_queue, dscp) = (options.receive_queue, options.dscp);
        let host = HostOptions { receive_queue, dscp, ..HostOptions::default() };
        let driver =
            Shared::start_for_one(carrier.into(), &host).map_err(NetError::io("opening a UDP socket"))?;
        let socket = Self::request(driver.shared(), remote, options.source_port, port, setup)?;
        let follows = options.local.is_none() && is_bound_by_us;
        tokio::select! {
            result = socket.established() => result.map(|()| Some(socket)),
            () = socket.follow_address(remote), if follows => unreachable!("it follows until the handshake is over"),
            () = socket.silent_for(patience) => {
                // RFC 4340, Section 8.1.1: a Reset cleans up state if a Request arrived.
                socket.abort();
                Ok(None)
            }
        }
    }

    /// Waits until no Response has come for as long as `patience`; for ever if one comes.
    async fn silent_for(&self, patience: Option<Duration>) {
        if let Some(patience) = patience {
            tokio::time::sleep(patience.into()).await;
            if self.snapshot().is_some_and(|snapshot| snapshot.state == State::Request) {
                return;
            }
        }
        std::future::pending().await
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
        wait(&mailbox.waiters.happened, || {
            let inbox = mailbox.inbox();
            inbox.unread.end().map(Err).or(inbox.opened.map(|_| Ok(())))
        })
        .await
    }

    /// A handle for a connection of the driver; it is counted already.
    pub(crate) fn new(shared: Arc<Shared>, handle: ConnectionHandle, mailbox: Arc<Mailbox>) -> Self {
        Self { shared, handle, mailbox, streams: Streams::default() }
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

    /// A snapshot of the connection; `None` once its state is removed.
    pub fn snapshot(&self) -> Option<ConnectionSnapshot> {
        let state = self.shared.lock();
        state
            .connections
            .snapshot(self.handle)
            .filter(|_| state.connections.is_current(self.handle, &self.mailbox))
    }

    /// The fingerprint of the key by which the peer has authenticated itself; `None` if the connection is not secured
    /// ([`Setup::secured`]), and once its state is removed.
    pub fn peer(&self) -> Option<Fingerprint> {
        let state = self.shared.lock();
        state
            .connections
            .layer(self.handle)
            .filter(|_| state.connections.is_current(self.handle, &self.mailbox))?
            .peer()
    }

    /// Number of datagrams of the peer that were not authentic, or came twice, and were discarded. Zero if the connection is
    /// not secured.
    pub fn forgeries(&self) -> u64 {
        let state = self.shared.lock();
        let layer = state
            .connections
            .layer(self.handle)
            .filter(|_| state.connections.is_current(self.handle, &self.mailbox));
        layer.map_or(0, crate::dtls::Layer::ignored)
    }

    /// What repair did ([`Setup::repaired`]); `None` if the ends have not agreed on it, and once the connection is over.
    pub fn repair(&self) -> Option<RepairCounts> {
        let state = self.shared.lock();
        let connections = &state.connections;
        connections.repair(self.handle).filter(|_| connections.is_current(self.handle, &self.mailbox))
    }

    /// Number of datagrams that the kernel dropped at this end's UDP or raw socket: they came faster than they were read, or
    /// their checksum was wrong. All connections of a [`Listener`](crate::Listener) or [`Host`](crate::Host) share one
    /// socket. 0 on systems other than Linux.
    pub fn kernel_drops(&self) -> u64 {
        self.shared.lock().kernel_drops.total()
    }

    /// Gives the connection a command, if it still exists.
    pub(crate) fn command<T>(&self, command: impl FnOnce(&mut Connection, Instant) -> T) -> Option<T> {
        let mut state = self.shared.lock();
        if !state.connections.is_current(self.handle, &self.mailbox) {
            return None;
        }
        let result =
            command(state.connections.endpoint.connection_mut(self.handle)?, self.shared.clock.now());
        state.connections.endpoint.wake(self.handle);
        self.shared.wake_driver(state);
        Some(result)
    }

    /// Returns memory that the handshake, or traffic, has left behind: a quarter of what a connection takes. It is allocated again when
    /// it is needed. For servers with many connections, most of which are idle.
    pub fn shrink_to_fit(&self) {
        let mut state = self.shared.lock();
        if state.connections.is_current(self.handle, &self.mailbox) {
            state.shrink_to_fit(self.handle);
        }
    }

    /// Ends the connection at once with a Reset.
    pub fn abort(&self) {
        let mut state = self.shared.lock();
        if state.connections.is_current(self.handle, &self.mailbox) {
            state.connections.endpoint.abort(self.now(), self.handle);
            self.shared.wake_driver(state);
        }
    }
}

datagram_methods!(Socket, Received, Event);

impl SocketCore for Socket {
    type Received = Received;
    type Event = Event;
    type Connection = Connection;

    fn clock(&self) -> Instant {
        self.shared.clock.now()
    }

    fn waiters(&self) -> &Waiters {
        &self.mailbox.waiters
    }

    fn with_unread<T>(&self, look: impl FnOnce(&mut Unread<Received, Event>) -> T) -> T {
        look(&mut self.mailbox.inbox().unread)
    }

    fn queue(&self, next: impl FnMut() -> Option<Datagram>) -> Queued {
        let now = self.now();
        let mut state = self.shared.lock();
        let is_current = state.connections.is_current(self.handle, &self.mailbox) && !state.stopped;
        let queued = Queued::by(next, |datagram| {
            if is_current {
                state.connections.send(now, self.handle, datagram)
            } else {
                Err(SendError::Closed)
            }
        });
        self.shared.wake_driver(state);
        queued
    }

    fn make_room(&self, size: usize) -> Result<(), SendError> {
        let mut state = self.shared.lock();
        if !state.connections.is_current(self.handle, &self.mailbox) || state.stopped {
            return Err(SendError::Closed);
        }
        state.connections.make_room(self.now(), self.handle, size)
    }

    fn begin_closing(&self) {
        let mut state = self.shared.lock();
        if state.connections.is_current(self.handle, &self.mailbox) {
            state.connections.close(self.now(), self.handle);
            self.shared.wake_driver(state);
        }
    }

    fn with_connection<T>(&self, command: impl FnOnce(&mut Self::Connection, Instant) -> T) -> Option<T> {
        self.command(command)
    }

    fn streams(&mut self) -> &mut Streams {
        &mut self.streams
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        datagram_socket::stop_receiving(self);
        self.begin_closing();
        let mut state = self.shared.lock();
        state.handles -= 1;
        // The driver ends if that was the last.
        self.shared.wake_driver(state);
    }
}
