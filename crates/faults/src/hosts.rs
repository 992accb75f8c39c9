//! One host: its endpoint, its applications, and the checks of each of its connections.

use core::net::SocketAddr;
use std::collections::BTreeMap;

use whimbrel_proto::config::PathMtuDiscovery;
use whimbrel_proto::endpoint::InitCookies;
use whimbrel_proto::{
    Config, Connection, ConnectionError, ConnectionHandle, ConnectionSnapshot, Endpoint, Event, PathChange,
    ReceiveMeta, State, Transmit,
};
use whimbrel_units::{ByteCount, Duration, Instant};
use whimbrel_wire::option::data_dropped::DropCode;
use whimbrel_wire::{Packet, PacketType};

use crate::heap::{self, Heap};
use crate::plan::{Dice, HostPlan, Plan, Side};
use crate::tally::Tally;
use crate::watch::bounds;
use crate::watch::flow::Flow;
use crate::watch::ledger::{DatagramState, Ledger, Pending};
use crate::watch::memory::{ConnectionMemory, EndpointMemory};
use crate::watch::order::{self, Order};
use crate::watch::rate::Rate;
use crate::watch::sizes::Sizes;
use crate::world::moves::is_clients;

/// The round-trip time that a connection assumes before the first measurement.
const DEFAULT_RTT: Duration = Duration::from_millis(200);

/// One host.
#[derive(Debug)]
pub(crate) struct Host {
    pub(crate) side: Side,
    pub(crate) plan: HostPlan,
    dice: Dice,
    /// Commands and drains run [within](Host::within) its memory; reads may come from anywhere.
    pub(crate) endpoint: Endpoint,
    heap: Heap,
    memory: EndpointMemory,
    pub(crate) watched: BTreeMap<ConnectionHandle, Watched>,
    /// Number of connections so far.
    known: u64,
    /// Its application polls for events.
    pub(crate) reads: bool,
    /// Time at which it last resumed polling: events received at that time may be old.
    pub(crate) resumed: Option<Instant>,
}

/// A connection and the state of its checks.
#[derive(Debug)]
pub(crate) struct Watched {
    /// Number of the host's connection; handles are reused.
    number: u64,
    /// The client's DCCP port, which identifies the connection at both hosts.
    pub(crate) port: u16,
    pub(crate) config: Config,
    flow: Flow,
    /// The check of packet sizes.
    pub(crate) sizes: Sizes,
    /// The datagrams that left, by the numbers of their packets: their tags.
    sent: BTreeMap<u64, usize>,
    pub(crate) pending: Pending,
    /// Datagrams that its application has handed over.
    pub(crate) handed_over: usize,
    memory: ConnectionMemory,
    order: Order,
    /// Datagrams that were handed over, and that left.
    pub(crate) rate: Rate,
    seen: Option<ConnectionSnapshot>,
    /// The last address of the other end.
    remote: Option<SocketAddr>,
    ended: Option<ConnectionError>,
}

impl Watched {
    /// `true` if it is neither closed nor closing.
    pub(crate) fn may_go_on(&self) -> bool {
        self.ended.is_none()
    }
}

/// Distance to a number that no packet of a trial has. It differs in so many bits that damage cannot lead
/// there: a distance of one bit was once reached by a packet tampered with, and everything below the newest
/// packet may have come.
const UNREACHED: u64 = 0x2aaa_aaaa_aaaa;

impl Host {
    pub(crate) fn new(side: Side, plan: &Plan) -> Self {
        let host = plan.hosts[side as usize].clone();
        let seed = plan.seed.wrapping_mul(2) + side as u64;
        let mut heap = Heap::default();
        let endpoint = heap.within(|| {
            let mut endpoint = Endpoint::new(host.endpoint, seed);
            if let Some(base) = host.numbers {
                endpoint.set_initial_sequence_base(base);
            }
            endpoint
        });
        Self {
            side,
            plan: host,
            dice: plan.dice(if side == Side::Client { "clients" } else { "servers" }),
            endpoint,
            memory: EndpointMemory::new(heap.bytes()),
            heap,
            watched: BTreeMap::new(),
            known: 0,
            reads: true,
            resumed: None,
        }
    }

    /// Runs a command of the endpoint. Its heap memory is counted, so that returned values are copied, and
    /// dropped here.
    pub(crate) fn within<T>(&mut self, run: impl FnOnce(&mut Endpoint) -> T) -> T {
        self.heap.within(|| run(&mut self.endpoint))
    }

    /// Runs a command of one of its connections.
    pub(crate) fn command<T>(
        &mut self,
        handle: ConnectionHandle,
        run: impl FnOnce(&mut Connection) -> T,
    ) -> Option<T> {
        self.within(|endpoint| {
            let result = endpoint.connection_mut(handle).map(run);
            endpoint.wake(handle);
            result
        })
    }

    /// The next packet to send, and its destination.
    pub(crate) fn poll_transmit(&mut self, now: Instant) -> Option<(SocketAddr, Transmit)> {
        let (remote, transmit) = self.within(|endpoint| endpoint.poll_transmit(now))?;
        let sent = Transmit { packet: heap::copy(&transmit.packet), ..transmit };
        self.within(|_| drop(transmit));
        Some((remote, sent))
    }

    /// A packet arrived.
    pub(crate) fn handle_packet(
        &mut self,
        now: Instant,
        source: SocketAddr,
        meta: ReceiveMeta,
        packet: &Packet,
    ) {
        let may_be_stateless = self.plan.endpoint.init_cookies != InitCookies::Never;
        if may_be_stateless && packet.packet_type() == PacketType::Request {
            self.memory.on_stateless();
        }
        self.within(|endpoint| endpoint.handle_packet(now, source, meta, heap::copy(packet)));
    }

    /// A connection was created.
    pub(crate) fn watch(&mut self, handle: ConnectionHandle, port: u16, config: Config, least: usize) {
        let is_damped = config.ccids.tfrc().is_some_and(|tfrc| tfrc.oscillation_damping);
        let flow = Flow::new(ByteCount::new(least as u64), is_damped);
        let memory = match config.mobility {
            Some(_) => ConnectionMemory::of_one_that_may_move(),
            None => ConnectionMemory::default(),
        };
        self.known += 1;
        let mut watched = Watched {
            number: self.known,
            port,
            config,
            flow,
            sizes: Sizes::default(),
            sent: BTreeMap::new(),
            pending: Pending::new(),
            handed_over: 0,
            memory,
            order: Order::default(),
            rate: Rate::default(),
            seen: None,
            remote: None,
            ended: None,
        };
        // A connection that was not polled may have stored much already.
        if let Some(connection) = self.endpoint.connection(handle) {
            watched.memory.on_change(&connection.snapshot(), None);
        }
        let old = self.watched.insert(handle, watched);
        assert!(old.is_none(), "{handle:?} names two connections");
    }

    /// One of its connections that is not over, picked by `which`.
    pub(crate) fn pick(&self, which: u64) -> Option<ConnectionHandle> {
        let live: Vec<_> = self
            .watched
            .iter()
            .filter(|(_, watched)| watched.ended.is_none())
            .map(|(handle, _)| *handle)
            .collect();
        (!live.is_empty()).then(|| live[(which % live.len() as u64) as usize])
    }

    /// The client's host has moved: the packet size of its new path is unknown.
    pub(crate) fn on_move(&mut self) {
        for watched in self.watched.values_mut() {
            watched.sizes.on_change();
        }
    }

    /// The congestion control of a connection restarts.
    pub(crate) fn restart(&mut self, handle: ConnectionHandle) {
        if let Some(watched) = self.watched.get_mut(&handle) {
            watched.flow.restart();
        }
    }

    /// The connection that a packet belongs to, one that this host sends.
    pub(crate) fn find(&self, packet: &Packet, remote: SocketAddr) -> Option<ConnectionHandle> {
        // A client may return to an address from which an old Request of its port has made a second
        // connection. Numbers distinguish such connections. A challenge also goes to a candidate address of
        // the other end. Resets of unknown connections do, too, but belong to no connection.
        let is_question = packet.packet_type() == PacketType::Sync;
        self.between_ports(packet)
            .filter(|handle| {
                self.endpoint.remote(*handle) == Some(remote) || (is_question && self.may_move(*handle))
            })
            .min_by_key(|handle| self.watched[handle].flow.distance(packet))
    }

    fn may_move(&self, handle: ConnectionHandle) -> bool {
        self.endpoint.connection(handle).is_some_and(Connection::may_move)
    }

    fn between_ports(&self, packet: &Packet) -> impl Iterator<Item = ConnectionHandle> + '_ {
        let ports = (packet.source_port, packet.destination_port);
        self.watched.keys().copied().filter(move |handle| {
            let belongs = |it: &Connection| {
                let (ours, theirs) = (it.source_port(), it.destination_port());
                ports == (ours, theirs) || ports == (theirs, ours)
            };
            self.endpoint.connection(*handle).is_some_and(belongs)
        })
    }

    pub(crate) fn connection(&self, port: u16) -> Option<&Connection> {
        let mut found = self.watched.iter().filter(|(_, watched)| watched.port == port);
        found.find_map(|(handle, _)| self.endpoint.connection(*handle))
    }

    /// The connection of that port with that remote address.
    pub(crate) fn connection_with(&self, port: u16, remote: SocketAddr) -> Option<&Connection> {
        let here = |handle: &ConnectionHandle| self.endpoint.remote(*handle) == Some(remote);
        let mut found = self.watched.iter().filter(|(handle, watched)| watched.port == port && here(handle));
        found.find_map(|(handle, _)| self.endpoint.connection(*handle))
    }

    /// Checks its connections after any event.
    pub(crate) fn look(&mut self, now: Instant, tally: &mut Tally) {
        let seen = self.endpoint.snapshot();
        bounds::check_endpoint(&self.plan.endpoint, &seen, tally);
        for (handle, watched) in &mut self.watched {
            if let Some(connection) = self.endpoint.connection(*handle) {
                let seen = connection.snapshot();
                let remote = self.endpoint.remote(*handle);
                if watched.remote.is_some() && watched.remote != remote {
                    assert!(remote.is_some_and(is_clients), "a connection was hijacked: {remote:?}");
                    tally.count("path: a server followed its client");
                    if watched.config.mobility.is_some_and(|it| it.on_move != PathChange::Keep) {
                        watched.flow.restart();
                    }
                }
                watched.remote = remote;
                order::check(now, &watched.config, connection, tally);
                bounds::check_connection(&watched.config, &seen, watched.handed_over, tally);
                watched.flow.on_change(now, &seen);
                if seen.freeze.local || seen.freeze.by_peer {
                    watched.sizes.on_pause(now);
                }
                watched.memory.on_change(&seen, watched.flow.unacknowledged());
                watched.seen = Some(seen);
            }
        }
        self.memory.on_change(&seen);
        // Connections that the application has not polled are not known.
        if self.watched.len() == seen.connections {
            let connections = self.watched.values().map(|it| it.memory.bound()).sum();
            self.memory.check(self.heap.bytes(), connections, tally);
        }
    }

    /// Ends the trial: checks that the endpoint's heap memory is freed.
    pub(crate) fn close(&mut self) {
        let (endpoint, side) = (self.plan.endpoint, self.side);
        self.within(|old| *old = Endpoint::new(endpoint, 0));
        let (left, fresh) = (self.heap.bytes(), self.memory.fresh());
        assert_eq!(left, fresh, "{side:?}: bytes left of an endpoint that is no more, and of a new one");
    }

    /// A data packet of one of its connections was too large for the path. `rtt` is the least time of an
    /// answer.
    pub(crate) fn on_vanished(
        &mut self,
        now: Instant,
        handle: ConnectionHandle,
        rtt: Duration,
        tally: &mut Tally,
    ) {
        let Some(watched) = self.watched.get_mut(&handle) else { return };
        let discovers =
            matches!(watched.config.path_mtu, PathMtuDiscovery::FromBase | PathMtuDiscovery::FromLargest);
        let is_open = watched.seen.as_ref().is_some_and(|seen| seen.state == State::Open);
        if discovers && is_open {
            let known = watched.seen.as_ref().and_then(|seen| seen.rtt).unwrap_or(DEFAULT_RTT);
            tally.count("path: too large, though sizes are discovered");
            watched.sizes.on_vanished(now, rtt.max(known));
        }
    }

    /// A datagram reached its application, which may discard it. `true` if it does.
    pub(crate) fn perhaps_discard(
        &mut self,
        handle: ConnectionHandle,
        event: &Event,
        ledger: &mut Ledger,
        tally: &mut Tally,
    ) -> bool {
        let Event::Datagram { payload, sequence, .. } = event else { return false };
        if !self.dice.chance(self.plan.discards) {
            return false;
        }
        let code = *self.dice.pick(&[DropCode::ReceiveBuffer, DropCode::Corrupt, DropCode::Reserved(5)]);
        let never = sequence.add(UNREACHED);
        let reported = self.command(handle, |connection| {
            assert!(!connection.datagram_discarded(never, DropCode::Corrupt), "discards what never came");
            let is_told = connection.datagram_discarded(*sequence, code);
            let again = connection.datagram_discarded(*sequence, DropCode::ReceiveBuffer);
            (is_told, again)
        });
        match (reported, code) {
            (Some((true, _)), DropCode::Reserved(_)) => panic!("a reserved code is reported"),
            (Some((true, true)), _) => panic!("a datagram is discarded twice: {sequence:?}"),
            (Some((true, false)), _) => ledger.discarded(payload, code),
            (Some((false, true)), _) => ledger.discarded(payload, DropCode::ReceiveBuffer),
            _ => tally.count("datagrams discarded too late"),
        }
        true
    }

    /// A packet of one of its connections left.
    pub(crate) fn on_sent(&mut self, now: Instant, handle: ConnectionHandle, packet: &Packet) {
        let (Some(watched), Some(connection)) =
            (self.watched.get_mut(&handle), self.endpoint.connection(handle))
        else {
            return;
        };
        if matches!(packet.packet_type(), PacketType::Data | PacketType::DataAck) {
            watched.sizes.on_sent(now, packet.encoded_len());
        }
        let after = connection.snapshot();
        let before = watched.seen.replace(after.clone());
        watched.flow.on_sent(now, packet, before.as_ref().unwrap_or(&after), &after);
    }

    /// A packet is about to be processed, which may be for any connection between its ports, from any address
    /// of the other end.
    pub(crate) fn on_arrival(&mut self, source: SocketAddr, packet: &Packet) {
        let is_for = |handle: &ConnectionHandle| {
            self.endpoint.remote(*handle) == Some(source) || self.may_move(*handle)
        };
        for handle in self.between_ports(packet).filter(is_for).collect::<Vec<_>>() {
            if let Some(watched) = self.watched.get_mut(&handle) {
                watched.flow.on_arrival(packet);
                watched.order.on_arrival(packet);
            }
        }
    }

    /// A connection has an event for its application.
    pub(crate) fn on_event(
        &mut self,
        (now, handle): (Instant, ConnectionHandle),
        event: &Event,
        ledger: &mut Ledger,
        corrupted: u64,
        tally: &mut Tally,
    ) {
        let side = self.side;
        let Some(watched) = self.watched.get_mut(&handle) else {
            panic!("the {side:?} receives {event:?} about {handle:?}, which is over");
        };
        match event {
            Event::Connected { sender_ccid, receiver_ccid } => {
                // The opening time of a connection that is reported late is unknown: the path may have
                // changed in the meantime.
                if self.resumed != Some(now) {
                    watched.sizes.on_open(now);
                }
                tally.count(&format!(
                    "{side:?} connected: sends by {sender_ccid}, receives by {receiver_ccid}"
                ));
            }
            Event::Datagram { payload, sequence, .. } => {
                assert!(watched.ended.is_none(), "data after the end");
                watched.order.on_datagram(&watched.config, *sequence);
                ledger.delivered(side, (watched.port, watched.number), payload, corrupted, tally);
            }
            Event::CorruptDatagram { sequence, .. } => {
                watched.order.on_datagram(&watched.config, *sequence);
                assert!(watched.config.receive.deliver_corrupt, "corrupt data were not requested");
                tally.count("datagrams delivered, known to be corrupt");
            }
            Event::DataDropped { sequence, code } => {
                tally.count(&format!("datagrams dropped by the peer: {code:?}"));
                // Requests are repeated under other numbers.
                if let Some(tag) = watched.sent.get(&sequence.value()) {
                    ledger.refused(*tag, *code);
                }
            }
            Event::SlowReceiver => tally.count("slow receiver reported"),
            Event::Frozen { by_peer: false } => tally.count("frozen"),
            Event::Frozen { by_peer: true } => tally.count("frozen by the other end"),
            Event::Unfrozen { by } => tally.count(&format!("unfrozen: {by:?}")),
            Event::DatagramSent { id, sequence } => {
                let tag = ledger.on_outcome(&mut watched.pending, *id, DatagramState::Sent);
                watched.rate.on_sent(now);
                watched.sent.insert(sequence.value(), tag);
            }
            Event::DatagramDropped { id, .. } => {
                ledger.on_outcome(&mut watched.pending, *id, DatagramState::Dropped);
            }
            Event::Closed(error) => {
                assert!(watched.ended.is_none(), "{handle:?} ends twice: {:?}, {error:?}", watched.ended);
                assert!(watched.pending.is_empty(), "no event for {:?}", watched.pending);
                watched.ended = Some(*error);
                tally.count(&format!("{side:?} ended: {error}"));
            }
            Event::Drained => {
                assert!(watched.ended.is_some(), "{handle:?} is drained without an end");
                self.watched.remove(&handle);
            }
            _ => {}
        }
    }
}
