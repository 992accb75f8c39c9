//! Connections over one path.

use core::iter;
use core::net::SocketAddr;

use whimbrel_units::Instant;
use whimbrel_wire::{Packet, Reset, SeqNo, ServiceCode};

use super::config::EndpointConfig;
use super::held::{Held, Standing};
use super::initial_sequence::{FourTuple, Secret};
use super::moves::{self, Mobility, Moves};
use super::{ConnectionHandle, Endpoint};
use crate::connection::Profile;
use crate::{
    Config, ConfigError, Connection, Datagram, DatagramId, Event, ListenError, ReceiveMeta, SendError, State,
    Transmit,
};

impl Endpoint<Connection> {
    /// Creates an endpoint without listeners. `seed`: entropy for ports, initial sequence numbers and Init
    /// Cookies. Sufficient for simulations; an endpoint on a network needs [`Endpoint::with_secret`].
    pub fn new(config: EndpointConfig, seed: u64) -> Self {
        Self::with(config, Secret::new(seed), Mobility::default())
    }

    /// Creates an endpoint without listeners. `secret`: bytes from the operating system's random generator,
    /// from which ports, initial sequence numbers, challenges and the keys of Init Cookies derive.
    pub fn with_secret(config: EndpointConfig, secret: [u8; 16]) -> Self {
        Self::with(config, Secret::from_bytes(secret), Mobility::default())
    }

    /// Accepts connections to a DCCP port with the config's Service Code. One port may serve several Service
    /// Codes.
    ///
    /// # Errors
    ///
    /// The configuration is invalid, or the port already serves the Service Code.
    pub fn listen(&mut self, port: u16, config: Config) -> Result<(), ListenError> {
        self.listen_for(port, &[config.service_code], config)
    }

    /// Accepts connections to a DCCP port with any of several Service Codes, instead of the config's
    /// (RFC 4340, Section 8.1.2).
    ///
    /// # Errors
    ///
    /// As [`Endpoint::listen`]; on an error none of them is served.
    pub fn listen_for(
        &mut self,
        port: u16,
        codes: &[ServiceCode],
        config: Config,
    ) -> Result<(), ListenError> {
        self.prepare_for(&config);
        let profile = |code: &ServiceCode| Profile::new(Config { service_code: *code, ..config.clone() });
        let profiles: Vec<_> =
            codes.iter().map(|code| Ok((*code, profile(code)?))).collect::<Result<_, ConfigError>>()?;
        self.listeners.add(port, profiles)
    }

    /// Queues a datagram on a connection: see [`Connection::send`].
    ///
    /// # Errors
    ///
    /// See [`Connection::send`]; [`SendError::Closed`] if there is no such connection.
    pub fn send(
        &mut self,
        now: Instant,
        handle: ConnectionHandle,
        datagram: Datagram,
    ) -> Result<DatagramId, SendError> {
        let result = self.connection_mut(handle).ok_or(SendError::Closed)?.send(now, datagram);
        self.wake(handle);
        result
    }

    /// Closes a connection: see [`Connection::close`].
    pub fn close(&mut self, now: Instant, handle: ConnectionHandle) {
        self.command(handle, |connection| connection.close(now));
    }

    /// Aborts a connection: see [`Connection::abort`].
    pub fn abort(&mut self, now: Instant, handle: ConnectionHandle) {
        self.command(handle, |connection| connection.abort(now));
    }

    /// Processes an ICMP message that reports this destination unreachable: see
    /// [`Connection::handle_unreachable`].
    pub fn handle_unreachable(
        &mut self,
        now: Instant,
        remote: SocketAddr,
        source_port: u16,
        destination_port: u16,
    ) {
        // The address that a client has left need not be reachable.
        if let Some(handle) = self.find(remote, source_port, destination_port) {
            self.command(handle, |connection| connection.handle_unreachable(now));
        }
    }

    /// The connection between these ports, if it exists.
    pub fn find(&self, remote: SocketAddr, local_port: u16, remote_port: u16) -> Option<ConnectionHandle> {
        let tuple = FourTuple { address: remote, local_port, remote_port };
        let handle = ConnectionHandle(self.table.find(&tuple)?);
        let is_here = self.table.get(handle.0).is_some_and(|entry| entry.tuple == tuple);
        self.connection(handle).filter(|_| is_here).map(|_| handle)
    }

    /// Current address of a connection's peer.
    pub fn remote(&self, handle: ConnectionHandle) -> Option<SocketAddr> {
        self.table.get(handle.0).map(|entry| entry.tuple.address)
    }
}

impl Held for Connection {
    type Address = SocketAddr;
    type Event = Event;
    type Service = Profile;
    type Common = Mobility;
    /// For a server connection whose client may move.
    type Extra = Option<Box<Moves>>;
    const DRAINED: Event = Event::Drained;
    const NEEDS_IDENTIFIER: bool = false;

    fn standing(&self) -> Standing {
        match self.state() {
            State::Listen | State::Respond => Standing::HalfOpen,
            State::Closing => Standing::Closing,
            State::Closed | State::TimeWait => Standing::Over,
            _ => Standing::Open,
        }
    }

    fn is_drained(&self) -> bool {
        Connection::is_drained(self)
    }

    fn time_wait(&self) -> Option<Instant> {
        Connection::poll_timeout(self).filter(|_| self.state() == State::TimeWait)
    }

    fn identifier(&self) -> Option<u64> {
        self.move_identifier()
    }

    fn service_code(&self) -> ServiceCode {
        Connection::service_code(self)
    }

    fn extra(&self) -> Self::Extra {
        self.move_identifier().map(|_| Box::default())
    }

    fn handle_packet(&mut self, now: Instant, _: SocketAddr, meta: ReceiveMeta, packet: Packet) {
        Connection::handle_packet(self, now, meta, packet);
    }

    fn handle_timeout(&mut self, now: Instant) {
        Connection::handle_timeout(self, now);
    }

    fn poll_transmit(
        &mut self,
        now: Instant,
        extra: &mut Self::Extra,
        home: SocketAddr,
    ) -> Option<(SocketAddr, Transmit)> {
        if let Some(moves) = extra
            && let Some(challenge) = moves.poll_challenge(now, self, home)
        {
            return Some(challenge);
        }
        Connection::poll_transmit(self, now).map(|transmit| (home, transmit))
    }

    fn poll_timeout(&self) -> Option<Instant> {
        Connection::poll_timeout(self)
    }

    fn poll_event(&mut self, extra: &mut Self::Extra, home: SocketAddr) -> Option<Event> {
        let from = extra.as_mut().and_then(|moves| moves.unreported.take());
        match from.filter(|from| *from != home) {
            Some(from) => Some(Event::PeerMoved { from, to: home }),
            None => Connection::poll_event(self),
        }
    }

    fn has_events(&self) -> bool {
        Connection::has_events(self)
    }

    fn evict(&mut self) {
        Connection::evict(self);
    }

    fn reserve_on_response(&mut self, bytes: usize) {
        Connection::reserve_on_response(self, bytes);
    }

    fn release_from_cookies(&mut self) {
        Connection::release_from_cookies(self);
    }

    fn objection(_: &Profile, _: &Packet) -> Option<Reset> {
        None
    }

    fn answer(
        (mobility, secret): (&Mobility, &Secret),
        service: &Profile,
        at: Instant,
        tuple: &FourTuple<SocketAddr>,
        request: &Packet,
        iss: SeqNo,
    ) -> Option<Self> {
        let mut connection = Connection::server_of(at, service.clone(), request, iss.value());
        moves::allow(mobility, secret, tuple, Some(request), &mut connection);
        Some(connection)
    }

    fn claim(
        endpoint: &mut Endpoint<Self>,
        now: Instant,
        tuple: &FourTuple<SocketAddr>,
        meta: ReceiveMeta,
        packet: &Packet,
    ) -> bool {
        endpoint.follow(now, tuple, meta, packet)
    }

    fn owns(
        endpoint: &mut Endpoint<Self>,
        now: Instant,
        index: usize,
        tuple: &FourTuple<SocketAddr>,
        packet: &Packet,
    ) -> bool {
        endpoint.table.get(index).is_some_and(|entry| entry.tuple == *tuple)
            || endpoint.is_straggler(now, index, packet)
    }

    fn take_others(extra: &mut Self::Extra) -> impl Iterator<Item = FourTuple<SocketAddr>> {
        let previous = extra.as_mut().and_then(|moves| moves.previous.take());
        iter::once(previous).flatten().map(|(tuple, _)| tuple)
    }
}
