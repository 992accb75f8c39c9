//! Many multipath connections of one host.

use core::hash::Hash;
use std::collections::{BTreeSet, VecDeque};

use rustc_hash::FxHashMap;
use slab::Slab;
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::multipath::MultipathOption;
use whimbrel_wire::{Ecn, Packet, PacketType, Reset, ResetCode, ServiceCode};

use super::entropy::Entropy;
use super::{JoinError, MultipathConfig, MultipathConnection, MultipathEvent, Path, SubflowId, offer};
use crate::refusal::refusal;
use crate::token_bucket::TokenBucket;
use crate::{Config, ConnectError, ListenError, ReceiveMeta, Transmit, config_setters};

/// DCCP ports from which a client chooses.
const FIRST_PORT: u16 = 49_152;
/// The most Resets to packets of no connection that wait to be sent.
const MAX_WAITING: usize = 64;
/// Packets that a connection sends before the next one is served.
const PACKETS_PER_TURN: u32 = 32;

/// Configuration of a [`MultipathEndpoint`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct MultipathEndpointConfig {
    /// Maximum number of connections. Further Requests get Reset 9, "Too Busy".
    pub max_connections: usize,
    /// Maximum number of connections whose first handshake is not complete: the addresses of their clients may be
    /// forged.
    pub max_half_open: usize,
    /// Maximum rate of Resets to packets that belong to no connection, per second (RFC 4340, Section 8.1.3).
    pub resets_per_second: u32,
}

impl Default for MultipathEndpointConfig {
    fn default() -> Self {
        Self { max_connections: 16_384, max_half_open: 1_024, resets_per_second: 1_024 }
    }
}

config_setters!(MultipathEndpointConfig {
    max_connections: usize,
    max_half_open: usize,
    resets_per_second: u32
});

/// Identifies a connection of a [`MultipathEndpoint`]. Handles are reused after [`MultipathEvent::Drained`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct MultipathHandle(pub usize);

/// An event of one of an endpoint's connections.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum MultipathEndpointEvent {
    /// A client's Request was accepted: the first event of every server connection.
    Accepted {
        /// The path of the Request.
        path: Path,
        /// The DCCP port requested.
        port: u16,
        /// The Service Code requested.
        service_code: ServiceCode,
    },
    /// An event of the connection itself.
    Connection(MultipathEvent),
}

/// The identity of a subflow on the network: its path, and the DCCP ports of this end and of the peer.
type Route = (Path, u16, u16);

/// Many multipath connections of one host.
#[derive(Debug)]
pub struct MultipathEndpoint {
    config: MultipathEndpointConfig,
    entropy: Entropy,
    listeners: Vec<Listener>,
    slots: Slab<Slot>,
    /// The connection of each subflow. Entries of subflows that are over are checked when used.
    routes: FxHashMap<Route, usize>,
    /// The connection of each Connection Identifier of this host.
    identifiers: FxHashMap<u32, usize>,
    ready: VecDeque<usize>,
    /// Packets that the first ready connection has sent in its turn.
    turn: u32,
    deadlines: BTreeSet<(Instant, usize)>,
    eventful: VecDeque<usize>,
    refusals: VecDeque<(Path, Packet)>,
    resets: TokenBucket,
}

#[derive(Debug)]
struct Listener {
    port: u16,
    config: Config,
    settings: MultipathConfig,
}

/// A connection, and its places in the endpoint's lists.
#[derive(Debug)]
struct Slot {
    connection: MultipathConnection,
    accepted: Option<MultipathEndpointEvent>,
    /// The paths and ports of its subflows, and of some that are over.
    routes: Vec<Route>,
    is_half_open: bool,
    is_ready: bool,
    is_eventful: bool,
    deadline: Option<Instant>,
}

impl MultipathEndpoint {
    /// Creates an endpoint without listeners. `secret`: bytes from the operating system's random generator, from which
    /// keys, nonces, identifiers and sequence numbers derive.
    pub fn new(config: MultipathEndpointConfig, secret: [u8; 32]) -> Self {
        let interval = Duration::from_nanos(1_000_000_000 / u64::from(config.resets_per_second.max(1)));
        let burst = if config.resets_per_second == 0 { 0 } else { (config.resets_per_second / 8).max(1) };
        Self {
            config,
            entropy: Entropy::new(secret),
            listeners: Vec::new(),
            slots: Slab::new(),
            routes: FxHashMap::default(),
            identifiers: FxHashMap::default(),
            ready: VecDeque::new(),
            turn: 0,
            deadlines: BTreeSet::new(),
            eventful: VecDeque::new(),
            refusals: VecDeque::new(),
            resets: TokenBucket::new(burst.into(), interval),
        }
    }
    /// Accepts connections to a DCCP port with the config's Service Code.
    ///
    /// # Errors
    ///
    /// A configuration is invalid, or the port is in use.
    pub fn listen(
        &mut self,
        port: u16,
        config: Config,
        settings: MultipathConfig,
    ) -> Result<(), ListenError> {
        config.validate()?;
        settings.validate()?;
        let service_code = config.service_code;
        if self.listeners.iter().any(|it| it.port == port && it.config.service_code == service_code) {
            return Err(ListenError::InUse { port, service_code });
        }
        self.listeners.push(Listener { port, config, settings });
        Ok(())
    }
    /// Stops accepting connections to that port; existing ones continue, and accept subflows. Returns `true` if the port
    /// was open.
    pub fn stop_listening(&mut self, port: u16) -> bool {
        let before = self.listeners.len();
        self.listeners.retain(|listener| listener.port != port);
        self.listeners.len() < before
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
    ) -> Result<MultipathHandle, ConnectError> {
        let source = self.free_port(path, port).ok_or(ConnectError::NoPort)?;
        let connection = loop {
            let (config, settings) = (config.clone(), settings.clone());
            let entropy = self.entropy.bytes();
            let made = MultipathConnection::client(now, config, settings, path, [source, port], entropy)?;
            if !self.identifiers.contains_key(&made.connection_id()) {
                break made;
            }
        };
        let index = self.insert(connection, None);
        self.add_route(index, (path, source, port));
        Ok(MultipathHandle(index))
    }
    /// Adds a subflow to a connection on a path: with the ports of the first subflow, or from another port if these are in
    /// use on the path.
    ///
    /// # Errors
    ///
    /// [`JoinError`]; [`JoinError::NotReady`] if there is no such connection.
    pub fn join(
        &mut self,
        now: Instant,
        handle: MultipathHandle,
        path: Path,
        port: Option<u16>,
    ) -> Result<SubflowId, JoinError> {
        let slot = self.slots.get(handle.0).ok_or(JoinError::NotReady)?;
        let [source, destination] = slot.connection.ports();
        let destination = port.unwrap_or(destination);
        let is_free = !self.routes.contains_key(&(path, source, destination));
        let source =
            if is_free { source } else { self.free_port(path, destination).ok_or(JoinError::InUse)? };
        let slot = &mut self.slots[handle.0];
        let subflow = slot.connection.join(now, path, [source, destination])?;
        self.add_route(handle.0, (path, source, destination));
        self.wake(handle);
        Ok(subflow)
    }
    /// Leads the packets of a subflow to its connection, and forgets routes of subflows that are gone: a connection may
    /// have any number of subflows, one after the other.
    fn add_route(&mut self, index: usize, route: Route) {
        let slot = &mut self.slots[index];
        let (kept, gone): (Vec<_>, Vec<_>) =
            core::mem::take(&mut slot.routes).into_iter().partition(|(path, source, destination)| {
                slot.connection.has_subflow(*path, [*source, *destination])
            });
        slot.routes = kept;
        if !slot.routes.contains(&route) {
            slot.routes.push(route);
        }
        for route in gone {
            self.remove_route(index, &route);
        }
        self.routes.insert(route, index);
    }
    fn remove_route(&mut self, index: usize, route: &Route) {
        if self.routes.get(route) == Some(&index) {
            self.routes.remove(route);
        }
    }
    fn free_port(&mut self, path: Path, destination: u16) -> Option<u16> {
        let ports = u32::from(u16::MAX - FIRST_PORT) + 1;
        let start = self.entropy.word() % ports;
        let port = |offset: u32| FIRST_PORT + ((start + offset) % ports) as u16;
        (0..ports).map(port).find(|source| !self.routes.contains_key(&(path, *source, destination)))
    }
    fn insert(&mut self, connection: MultipathConnection, accepted: Option<MultipathEndpointEvent>) -> usize {
        let identifier = connection.connection_id();
        let index = self.slots.insert(Slot {
            connection,
            routes: Vec::new(),
            is_half_open: accepted.is_some(),
            accepted,
            is_ready: false,
            is_eventful: false,
            deadline: None,
        });
        self.identifiers.insert(identifier, index);
        self.wake(MultipathHandle(index));
        index
    }

    /// A connection, for reading.
    pub fn connection(&self, handle: MultipathHandle) -> Option<&MultipathConnection> {
        self.slots.get(handle.0).map(|slot| &slot.connection)
    }
    /// A connection, for commands; [`MultipathEndpoint::wake`] must follow.
    pub fn connection_mut(&mut self, handle: MultipathHandle) -> Option<&mut MultipathConnection> {
        self.slots.get_mut(handle.0).map(|slot| &mut slot.connection)
    }
    /// Visits a connection that has received a command.
    pub fn wake(&mut self, handle: MultipathHandle) {
        let Some(slot) = self.slots.get_mut(handle.0) else { return };
        if !slot.is_ready {
            slot.is_ready = true;
            self.ready.push_back(handle.0);
        }
        if !slot.is_eventful && (slot.connection.has_events() || slot.accepted.is_some()) {
            slot.is_eventful = true;
            self.eventful.push_back(handle.0);
        }
    }
    /// Number of connections.
    pub fn len(&self) -> usize {
        self.slots.len()
    }
    /// Number of remembered paths with ports of subflows, for checking the bounds of memory.
    pub fn routes(&self) -> usize {
        self.routes.len()
    }
    /// `true` without connections.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// `true` if a packet concerns a multipath connection: it belongs to a subflow, or is a Request with multipath
    /// options. For hosts that pass all others to an [`Endpoint`](crate::Endpoint) at the same address.
    pub fn concerns(&self, path: Path, packet: &Packet) -> bool {
        if packet.packet_type() == PacketType::Request {
            return offer::is_join(&packet.options) || offer::is_first(&packet.options);
        }
        self.routes.contains_key(&(path, packet.destination_port, packet.source_port))
    }
    /// The subflows on a path, with their connections.
    pub fn subflows_on(&self, path: Path) -> Vec<(MultipathHandle, SubflowId)> {
        let on_path = |(index, slot): (usize, &Slot)| {
            let subflows = slot.connection.subflows().filter(move |(_, of)| *of == path);
            subflows.map(move |(subflow, _)| (MultipathHandle(index), subflow)).collect::<Vec<_>>()
        };
        self.slots.iter().flat_map(on_path).collect()
    }
    /// Passes a packet to its subflow, accepts it as a new connection or a joining subflow, or answers it with a Reset.
    pub fn handle_packet(&mut self, now: Instant, path: Path, meta: ReceiveMeta, packet: Packet) {
        let route = (path, packet.destination_port, packet.source_port);
        let index = self.routes.get(&route).copied().filter(|index| {
            self.slots.get(*index).is_some_and(|slot| slot.connection.find(path, &packet).is_some())
        });
        if let Some(index) = index {
            self.slots[index].connection.handle_packet(now, path, meta, packet);
            self.wake(MultipathHandle(index));
            return;
        }
        if packet.packet_type() != PacketType::Request {
            self.refuse(now, path, &packet, Reset::new(ResetCode::NoConnection));
        } else if offer::is_join(&packet.options) {
            self.accept_join(now, route, meta, packet);
        } else {
            self.accept(now, route, meta, packet);
        }
    }
    fn accept_join(&mut self, now: Instant, route: Route, meta: ReceiveMeta, packet: Packet) {
        let path = route.0;
        let named = packet.options.iter().find_map(|option| match MultipathOption::parse(option) {
            Some(MultipathOption::Join(join)) => Some(join.connection),
            _ => None,
        });
        // RFC 9897, Section 3.2.8: an unknown identifier is answered with a Reset.
        let Some(index) = named.and_then(|named| self.identifiers.get(&named).copied()) else {
            return self.refuse(now, path, &packet, super::connection::option_error());
        };
        let copy = refusal(&packet, Reset::new(ResetCode::Unspecified)).is_some().then(|| packet.clone());
        match self.slots[index].connection.accept_join(now, path, meta, packet) {
            Ok(Some(_)) => {
                self.add_route(index, route);
                self.wake(MultipathHandle(index));
            }
            Ok(None) => {}
            Err(reset) => {
                if let Some(packet) = copy {
                    self.refuse(now, path, &packet, reset);
                }
            }
        }
    }
    fn accept(&mut self, now: Instant, route: Route, meta: ReceiveMeta, packet: Packet) {
        let (path, port, _) = route;
        let whimbrel_wire::Kind::Request { service_code } = packet.kind else { return };
        let code = |code| Reset::new(code);
        let listener = self
            .listeners
            .iter()
            .find(|listener| listener.port == port && listener.config.service_code == service_code);
        let Some(listener) = listener else {
            let is_open = self.listeners.iter().any(|listener| listener.port == port);
            let reason = if is_open { ResetCode::BadServiceCode } else { ResetCode::ConnectionRefused };
            return self.refuse(now, path, &packet, code(reason));
        };
        let half_open = self.slots.iter().filter(|(_, slot)| slot.is_half_open).count();
        if self.slots.len() >= self.config.max_connections || half_open >= self.config.max_half_open {
            return self.refuse(now, path, &packet, code(ResetCode::TooBusy));
        }
        if let Some(reset) = MultipathConnection::objection(&listener.settings, &packet) {
            return self.refuse(now, path, &packet, reset);
        }
        let identifier = loop {
            let word = self.entropy.word();
            if !self.identifiers.contains_key(&word) {
                break word;
            }
        };
        let (config, settings) = (listener.config.clone(), listener.settings.clone());
        let entropy = self.entropy.bytes();
        let made = MultipathConnection::server(now, config, settings, path, &packet, identifier, entropy);
        // The configuration was valid when the port was opened.
        let Ok(mut connection) = made else { return };
        connection.handle_packet(now, path, meta, packet);
        let accepted = MultipathEndpointEvent::Accepted { path, port, service_code };
        let index = self.insert(connection, Some(accepted));
        self.add_route(index, route);
    }
    fn refuse(&mut self, now: Instant, path: Path, packet: &Packet, reset: Reset) {
        if let Some(answer) = refusal(packet, reset)
            && self.refusals.len() < MAX_WAITING
            && self.resets.take(now)
        {
            self.refusals.push_back((path, answer));
        }
    }

    /// Runs the timers that are due. An early call does nothing.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some((deadline, index)) = self.deadlines.first().copied().filter(|(due, _)| *due <= now) {
            self.deadlines.remove(&(deadline, index));
            if let Some(slot) = self.slots.get_mut(index) {
                slot.deadline = None;
                slot.connection.handle_timeout(now);
                self.wake(MultipathHandle(index));
            }
        }
    }
    /// Returns the next packet to send, and its path. Connections are served in turns.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<(Path, Transmit)> {
        if let Some((path, packet)) = self.refusals.pop_front() {
            return Some((path, Transmit { packet, ecn: Ecn::NotEct }));
        }
        loop {
            while let Some(&index) = self.ready.front() {
                let transmit = self.slots.get_mut(index).and_then(|slot| slot.connection.poll_transmit(now));
                self.wake(MultipathHandle(index));
                let Some(transmit) = transmit else {
                    self.rest(index);
                    continue;
                };
                self.turn += 1;
                if self.turn >= PACKETS_PER_TURN {
                    self.turn = 0;
                    self.ready.rotate_left(1);
                }
                return Some(transmit);
            }
            if self.deadlines.first().is_none_or(|(due, _)| *due > now) {
                return None;
            }
            self.handle_timeout(now);
        }
    }
    /// The first ready connection has nothing to send: schedules its next deadline.
    fn rest(&mut self, index: usize) {
        self.ready.pop_front();
        self.turn = 0;
        let Some(slot) = self.slots.get_mut(index) else { return };
        slot.is_ready = false;
        slot.is_half_open &= slot.connection.is_opening();
        let next = slot.connection.poll_timeout();
        if next != slot.deadline {
            if let Some(old) = slot.deadline {
                self.deadlines.remove(&(old, index));
            }
            slot.deadline = next;
            self.deadlines.extend(next.map(|next| (next, index)));
        }
    }
    /// Time of the next call to [`MultipathEndpoint::handle_timeout`] and [`MultipathEndpoint::poll_transmit`]. Valid once
    /// `poll_transmit` has returned `None`.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.deadlines.first().map(|(due, _)| *due)
    }
    /// Returns the next event of any connection.
    pub fn poll_event(&mut self) -> Option<(MultipathHandle, MultipathEndpointEvent)> {
        while let Some(&index) = self.eventful.front() {
            if let Some(slot) = self.slots.get_mut(index) {
                if let Some(accepted) = slot.accepted.take() {
                    return Some((MultipathHandle(index), accepted));
                }
                if let Some(event) = slot.connection.poll_event() {
                    if event == MultipathEvent::Drained {
                        self.remove(index);
                    }
                    return Some((MultipathHandle(index), MultipathEndpointEvent::Connection(event)));
                }
                slot.is_eventful = false;
            }
            self.eventful.pop_front();
        }
        None
    }
    fn remove(&mut self, index: usize) {
        let Some(slot) = self.slots.try_remove(index) else { return };
        self.identifiers.remove(&slot.connection.connection_id());
        for route in slot.routes {
            self.remove_route(index, &route);
        }
        self.ready.retain(|ready| *ready != index);
        self.eventful.retain(|eventful| *eventful != index);
        if let Some(deadline) = slot.deadline {
            self.deadlines.remove(&(deadline, index));
        }
    }
}
