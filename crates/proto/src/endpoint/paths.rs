//! Connections over several paths, which subflows join by the Connection Identifier (RFC 9897).

use core::net::SocketAddr;

use whimbrel_units::Instant;
use whimbrel_wire::option::multipath::MultipathOption;
use whimbrel_wire::{DccpOption, Packet, PacketType, Reset, ResetCode, SeqNo, ServiceCode};

use super::config::EndpointConfig;
use super::held::{Address, Held, Standing};
use super::init_cookie::Returned;
use super::initial_sequence::{FourTuple, Secret};
use super::table::SlotState;
use super::{ConnectionHandle, Endpoint};
use crate::multipath::{
    Entropy, JoinError, MultipathConfig, MultipathConnection, MultipathEvent, Path, SubflowId, offer,
    option_error,
};
use crate::{Config, ConnectError, ListenError, ReceiveMeta, Transmit};

/// Separate the numbers of these purposes from others derived from the endpoint's entropy.
const ANSWER: u64 = 0x416e_7377_6572_0000;
const IDENTIFIER: u64 = 0x4964_656e_7469_6679;

impl Address for Path {
    fn remote(&self) -> SocketAddr {
        self.remote
    }

    fn local(&self) -> Option<SocketAddr> {
        Some(self.local)
    }
}

/// Configuration of the multipath connections that a port accepts.
#[derive(Debug)]
pub struct MultipathService {
    config: Config,
    settings: MultipathConfig,
}

impl Endpoint<MultipathConnection> {
    /// Creates an endpoint of connections over several paths, without listeners. `secret`: bytes from the
    /// operating system's random generator, from which keys, nonces, identifiers and sequence numbers derive.
    pub fn with_entropy(config: EndpointConfig, secret: [u8; 32]) -> Self {
        let mut entropy = Entropy::new(secret);
        let secret = Secret::from_bytes(entropy.bytes());
        Self::with(config, secret, entropy)
    }

    /// Accepts connections to a DCCP port with the config's Service Code.
    ///
    /// # Errors
    ///
    /// A configuration is invalid, or the port already serves the Service Code.
    pub fn listen(
        &mut self,
        port: u16,
        config: Config,
        settings: MultipathConfig,
    ) -> Result<(), ListenError> {
        config.validate()?;
        settings.validate()?;
        self.listeners.add(port, vec![(config.service_code, MultipathService { config, settings })])
    }

    /// Opens a connection on its first path, from a free DCCP port.
    ///
    /// # Errors
    ///
    /// A configuration is invalid, or no port is free.
    pub fn connect(
        &mut self,
        now: Instant,
        path: Path,
        port: u16,
        config: Config,
        settings: MultipathConfig,
    ) -> Result<ConnectionHandle, ConnectError> {
        let tuple = self.free_tuple(path, port).ok_or(ConnectError::NoPort)?;
        let ports = [tuple.local_port, port];
        let connection = loop {
            let (config, settings) = (config.clone(), settings.clone());
            let entropy = self.common.bytes();
            let made = MultipathConnection::client(now, config, settings, path, ports, entropy)?;
            if self.table.find_identifier(made.connection_id().into()).is_none() {
                break made;
            }
        };
        Ok(self.add(tuple, connection))
    }

    /// Adds a subflow to a connection on a path: with the ports of the first subflow, or from another port if
    /// these are in use on the path.
    ///
    /// # Errors
    ///
    /// [`JoinError`]; [`JoinError::NotReady`] if there is no such connection.
    pub fn join(
        &mut self,
        now: Instant,
        handle: ConnectionHandle,
        path: Path,
        port: Option<u16>,
    ) -> Result<SubflowId, JoinError> {
        let [source, destination] = self.connection(handle).ok_or(JoinError::NotReady)?.ports();
        let destination = port.unwrap_or(destination);
        let usual = FourTuple { address: path, local_port: source, remote_port: destination };
        let tuple = match self.table.find(&usual) {
            None => usual,
            Some(_) => self.free_tuple(path, destination).ok_or(JoinError::InUse)?,
        };
        let connection = self.connection_mut(handle).ok_or(JoinError::NotReady)?;
        let subflow = connection.join(now, path, [tuple.local_port, destination])?;
        self.add_subflow(handle.0, tuple);
        self.wake(handle);
        Ok(subflow)
    }

    /// Leads the packets of a subflow to its connection, and forgets subflows that are gone: a connection may
    /// have any number of subflows, one after the other.
    fn add_subflow(&mut self, index: usize, tuple: FourTuple<Path>) {
        let Some(entry) = self.table.get_mut(index) else { return };
        let SlotState::Live(connection) = &entry.state else { return };
        let is_there =
            |it: &FourTuple<Path>| connection.has_subflow(it.address, [it.local_port, it.remote_port]);
        let (kept, gone): (Vec<_>, Vec<_>) =
            core::mem::take(&mut entry.extra).into_iter().partition(is_there);
        entry.extra = kept;
        if tuple != entry.tuple && !entry.extra.contains(&tuple) {
            entry.extra.push(tuple);
        }
        for gone in gone {
            self.table.unlink(&gone, index);
        }
        self.table.link(&tuple, index);
    }

    /// `true` if a packet concerns a multipath connection: it belongs to a subflow, or is a Request with
    /// multipath options, or returns an Init Cookie of this endpoint. For hosts that pass all others to an
    /// endpoint of connections over one path at the same address.
    pub fn concerns(&self, now: Instant, path: Path, packet: &Packet) -> bool {
        if packet.packet_type() == PacketType::Request {
            return offer::is_join(&packet.options) || offer::is_first(&packet.options);
        }
        let tuple =
            FourTuple { address: path, local_port: packet.destination_port, remote_port: packet.source_port };
        self.table.find(&tuple).is_some()
            || Returned::is_on(packet) && self.returned(now, &tuple, packet).is_some()
    }

    /// Accepts a subflow that joins, or returns the Reset that answers its Request.
    fn accept_join(
        &mut self,
        now: Instant,
        tuple: &FourTuple<Path>,
        meta: ReceiveMeta,
        packet: &Packet,
    ) -> Result<(), Reset> {
        let named = packet.options.iter().find_map(|option| match MultipathOption::parse(option) {
            Some(MultipathOption::Join(join)) => Some(join.connection),
            _ => None,
        });
        // RFC 9897, Section 3.2.8: an unknown identifier is answered with a Reset.
        let index = named.and_then(|named| self.table.find_identifier(named.into())).ok_or(option_error())?;
        if self.table.is_taken(&tuple.address) {
            let port = tuple.address.remote.port();
            return Err(Reset::encapsulated_port_reuse(packet.packet_type(), port));
        }
        let handle = ConnectionHandle(index);
        // Section 3.2.11: ignored once the connection has ended.
        let Some(connection) = self.connection_mut(handle) else { return Ok(()) };
        if connection.accept_join(now, tuple.address, meta, packet.clone())?.is_some() {
            self.add_subflow(index, *tuple);
            self.wake(handle);
        }
        Ok(())
    }
}

impl Held for MultipathConnection {
    type Address = Path;
    type Event = MultipathEvent;
    type Service = MultipathService;
    type Common = Entropy;
    /// The addresses and ports of its subflows other than the first, and of some that have ended.
    type Extra = Vec<FourTuple<Path>>;
    const DRAINED: MultipathEvent = MultipathEvent::Drained;
    const NEEDS_IDENTIFIER: bool = true;

    fn standing(&self) -> Standing {
        MultipathConnection::standing(self)
    }

    fn is_drained(&self) -> bool {
        MultipathConnection::is_drained(self)
    }

    fn time_wait(&self) -> Option<Instant> {
        MultipathConnection::time_wait(self)
    }

    fn identifier(&self) -> Option<u64> {
        Some(self.connection_id().into())
    }

    fn service_code(&self) -> ServiceCode {
        MultipathConnection::service_code(self)
    }

    fn extra(&self) -> Self::Extra {
        Vec::new()
    }

    fn handle_packet(&mut self, now: Instant, path: Path, meta: ReceiveMeta, packet: Packet) {
        MultipathConnection::handle_packet(self, now, path, meta, packet);
    }

    fn handle_timeout(&mut self, now: Instant) {
        MultipathConnection::handle_timeout(self, now);
    }

    fn poll_transmit(&mut self, now: Instant, _: &mut Self::Extra, _: Path) -> Option<(Path, Transmit)> {
        MultipathConnection::poll_transmit(self, now)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        MultipathConnection::poll_timeout(self)
    }

    fn poll_event(&mut self, _: &mut Self::Extra, _: Path) -> Option<MultipathEvent> {
        MultipathConnection::poll_event(self)
    }

    fn has_events(&self) -> bool {
        MultipathConnection::has_events(self)
    }

    fn evict(&mut self) {
        MultipathConnection::evict(self);
    }

    fn reserve_on_response(&mut self, bytes: usize) {
        self.with_first(|first| first.reserve_on_response(bytes));
    }

    fn release_from_cookies(&mut self) {
        self.with_first(|first| first.release_from_cookies());
    }

    fn objection(service: &MultipathService, request: &Packet) -> Option<Reset> {
        MultipathConnection::objection(&service.settings, request)
    }

    /// All copies of a client's Request get the same keys and identifier. A server under pressure may answer
    /// one copy without keeping state and the next one with state, so that the connection may be established
    /// by the one Response and the other's numbers.
    fn answer(
        (entropy, _): (&Entropy, &Secret),
        service: &MultipathService,
        at: Instant,
        tuple: &FourTuple<Path>,
        request: &Packet,
        iss: SeqNo,
    ) -> Option<Self> {
        let mut words = tuple.words();
        words.extend([request.sequence.value(), IDENTIFIER]);
        let offered = request.options.iter().find_map(|option| match option {
            DccpOption::Multipath(data) => Some(&data[..]),
            _ => None,
        });
        let offered = offered.unwrap_or_default();
        let identifier = Entropy::new(entropy.derive(&words, offered)).word();
        words.pop();
        words.push(ANSWER);
        let secret = entropy.derive(&words, offered);
        let MultipathService { config, settings } = service;
        let (config, settings, path) = (config.clone(), settings.clone(), tuple.address);
        MultipathConnection::answering(at, config, settings, path, request, identifier, secret, Some(iss))
            .ok()
    }

    fn claim(
        endpoint: &mut Endpoint<Self>,
        now: Instant,
        tuple: &FourTuple<Path>,
        meta: ReceiveMeta,
        packet: &Packet,
    ) -> bool {
        let is_join = packet.packet_type() == PacketType::Request && offer::is_join(&packet.options);
        let known = endpoint.table.find(tuple).filter(|_| is_join);
        if !is_join || known.is_some_and(|index| Self::owns(endpoint, now, index, tuple, packet)) {
            return false;
        }
        if let Err(reset) = endpoint.accept_join(now, tuple, meta, packet)
            && (endpoint.config.is_alone || reset.code == ResetCode::TooBusy)
        {
            endpoint.stateless.refuse(now, tuple.address, packet, reset);
        }
        true
    }

    fn owns(
        endpoint: &mut Endpoint<Self>,
        _: Instant,
        index: usize,
        tuple: &FourTuple<Path>,
        packet: &Packet,
    ) -> bool {
        match endpoint.table.get(index).map(|entry| &entry.state) {
            Some(SlotState::Live(connection)) => connection.find(tuple.address, packet).is_some(),
            Some(_) => packet.packet_type() != PacketType::Request,
            None => false,
        }
    }

    fn take_others(extra: &mut Self::Extra) -> impl Iterator<Item = FourTuple<Path>> {
        core::mem::take(extra).into_iter()
    }
}
