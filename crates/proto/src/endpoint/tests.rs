use core::net::SocketAddr;
use std::collections::BTreeMap;

use proptest::prelude::*;
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::{
    ChecksumCoverage, Kind, Options, Packet, PacketType, Payload, Reset, ResetCode, SeqNo, ServiceCode,
};

use super::{ConnectionHandle, Endpoint, EndpointConfig, EndpointEvent, InitCookies};
use crate::config::TimerConfig;
use crate::connection::tests::pair::{config, datagram};
use crate::{Config, ConnectionError, Event, ListenError, ReceiveMeta, SendError, State, Transmit};

mod addresses;
mod invitation;
mod limits;
mod moves;
mod nat;
mod sharing;
mod stateless;
mod unmatched;

use nat::{Filter, Nat};

const PORT: u16 = 5001;

fn address(host: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, host], 6511))
}
fn free() -> Config {
    config(Duration::ZERO)
}
fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Endpoints with 10 ms between any two, unless said otherwise.
struct Net {
    now: Instant,
    /// One-way delay.
    delay: Duration,
    /// Larger packets do not arrive: bytes from the DCCP header on.
    path_mtu: usize,
    /// Resets do not arrive.
    loses_resets: bool,
    /// Nothing arrives.
    is_down: bool,
    endpoints: BTreeMap<SocketAddr, Endpoint>,
    in_flight: BTreeMap<(Instant, u64), (SocketAddr, SocketAddr, Packet)>,
    order: u64,
    sent: Vec<(SocketAddr, Packet)>,
    /// Destination of each of them.
    sent_to: Vec<SocketAddr>,
    events: Vec<(SocketAddr, ConnectionHandle, EndpointEvent)>,
    /// By the address of the host behind it.
    nats: BTreeMap<SocketAddr, Nat>,
    /// The packets that are lost, counted from 0.
    lost: std::collections::BTreeSet<usize>,
}

impl Net {
    fn new(hosts: u8, config: EndpointConfig) -> Self {
        let endpoint = |host| (address(host), Endpoint::new(config, u64::from(host)));
        Self {
            now: Instant::from_secs(50),
            delay: millis(10),
            path_mtu: usize::MAX,
            loses_resets: false,
            is_down: false,
            endpoints: (1..=hosts).map(endpoint).collect(),
            in_flight: BTreeMap::new(),
            order: 0,
            sent: Vec::new(),
            sent_to: Vec::new(),
            events: Vec::new(),
            nats: BTreeMap::new(),
            lost: std::collections::BTreeSet::new(),
        }
    }
    /// A server at host 1 and a client at host 2.
    fn serving() -> Self {
        let mut net = Self::new(2, EndpointConfig::default());
        net.at(1).listen(PORT, free()).unwrap();
        net
    }
    fn at(&mut self, host: u8) -> &mut Endpoint {
        self.endpoints.get_mut(&address(host)).unwrap()
    }
    fn connect(&mut self, from: u8, to: u8) -> ConnectionHandle {
        let now = self.now;
        self.at(from).connect(now, address(to), PORT, free()).unwrap()
    }
    fn run_for(&mut self, time: Duration) {
        let deadline = self.now + time;
        loop {
            self.drain();
            let arrival = self.in_flight.keys().next().map(|(at, _)| *at);
            let wakes = self.endpoints.values().filter_map(Endpoint::poll_timeout);
            match wakes.chain(arrival).min() {
                Some(next) if next <= deadline => self.advance(next),
                _ => break,
            }
        }
        self.now = deadline;
    }
    fn advance(&mut self, next: Instant) {
        assert!(next > self.now, "a drained endpoint waits");
        self.now = next;
        for endpoint in self.endpoints.values_mut() {
            endpoint.handle_timeout(next);
        }
        while let Some(entry) = self.in_flight.first_entry().filter(|entry| entry.key().0 <= next) {
            let (from, to, packet) = entry.remove();
            let Some(to) = nat::inside(&self.nats, from, to) else { continue };
            if let Some(endpoint) = self.endpoints.get_mut(&to) {
                endpoint.handle_packet(next, from, ReceiveMeta::default(), packet);
            }
        }
    }
    fn drain(&mut self) {
        for (from, endpoint) in &mut self.endpoints {
            while let Some((to, Transmit { packet, .. })) = endpoint.poll_transmit(self.now) {
                self.order += 1;
                let seen_from = self.nats.get_mut(from).map_or(*from, |nat| nat.let_out(to));
                let is_lost = self.lost.contains(&self.sent.len())
                    || self.is_down
                    || packet.encoded_len() > self.path_mtu
                    || (self.loses_resets && packet.packet_type() == PacketType::Reset);
                if !is_lost {
                    let at = (self.now + self.delay, self.order);
                    self.in_flight.insert(at, (seen_from, to, packet.clone()));
                }
                self.sent.push((*from, packet));
                self.sent_to.push(to);
            }
            while let Some((handle, event)) = endpoint.poll_event() {
                self.events.push((*from, handle, event));
            }
            assert!(endpoint.poll_transmit(self.now).is_none(), "draining twice is draining once");
        }
    }
    /// Empties the log.
    fn forget(&mut self) {
        self.sent.clear();
        self.sent_to.clear();
        self.lost.clear();
        self.events.clear();
    }
    fn events_at(&self, host: u8) -> Vec<&EndpointEvent> {
        let at = |(at, _, event)| (at == &address(host)).then_some(event);
        self.events.iter().map(|(at, handle, event)| (at, handle, event)).filter_map(at).collect()
    }
    fn datagrams_at(&self, host: u8) -> usize {
        let is_datagram =
            |event: &&EndpointEvent| matches!(event, EndpointEvent::Connection(Event::Datagram { .. }));
        self.events_at(host).into_iter().filter(|event| is_datagram(event)).count()
    }
    /// The handle of the `n`th connection that a host accepted.
    fn accepted(&self, host: u8, n: usize) -> ConnectionHandle {
        let is_accepted = |event: &EndpointEvent| matches!(event, EndpointEvent::Accepted { .. });
        let handles = self.events.iter().filter(|(at, _, event)| *at == address(host) && is_accepted(event));
        handles.map(|(_, handle, _)| *handle).nth(n).expect("it was accepted")
    }
    /// Gives host 1 a packet that belongs to no connection, and returns the answers.
    fn ask(&mut self, packet: Packet) -> Vec<Packet> {
        let now = self.now;
        self.at(1).handle_packet(now, address(99), ReceiveMeta::default(), packet);
        let endpoint = self.at(1);
        core::iter::from_fn(|| endpoint.poll_transmit(now)).map(|(_, transmit)| transmit.packet).collect()
    }
}

fn packet(kind: Kind, sequence: u64, port: u16) -> Packet {
    Packet {
        source_port: 7,
        destination_port: port,
        ccval: 0,
        checksum_coverage: ChecksumCoverage::ALL,
        extended: true,
        sequence: SeqNo::new(sequence),
        kind,
        options: Options::new(),
        payload: Payload::EMPTY,
    }
}
fn request(service_code: u32, port: u16) -> Packet {
    packet(Kind::Request { service_code: ServiceCode(service_code) }, 100, port)
}
/// The code of a Reset.
fn code(packet: &Packet) -> Option<ResetCode> {
    match packet.kind {
        Kind::Reset { reset, .. } => Some(reset.code),
        _ => None,
    }
}

#[test]
fn a_connection_opens_carries_data_and_closes() {
    let mut net = Net::serving();
    let client = net.connect(2, 1);
    net.run_for(millis(100));
    let accepted = EndpointEvent::Accepted { from: address(2), port: PORT, service_code: ServiceCode(42) };
    assert_eq!(net.events_at(1)[0], &accepted, "the first event");
    let server = net.accepted(1, 0);
    let now = net.now;
    net.at(2).send(now, client, datagram(1)).unwrap();
    net.at(1).send(now, server, datagram(2)).unwrap();
    net.run_for(millis(100));
    assert_eq!((net.datagrams_at(1), net.datagrams_at(2)), (1, 1));
    net.at(2).close(now, client);
    net.run_for(millis(100));
    let closed = |error| EndpointEvent::Connection(Event::Closed(error));
    assert!(net.events_at(2).contains(&&closed(ConnectionError::ClosedLocally)));
    assert!(net.events_at(1).contains(&&closed(ConnectionError::ClosedByPeer)));
    // The server has forgotten everything, the client keeps TIMEWAIT, in which nothing can be sent.
    assert_eq!((net.at(1).len(), net.at(2).len()), (0, 1));
    assert!(net.at(2).connection(client).is_none());
    let now = net.now;
    assert_eq!(net.at(2).send(now, client, datagram(3)), Err(SendError::Closed));
    net.run_for(Duration::from_secs(241));
    assert!(net.at(2).is_empty());
    assert_eq!(net.events_at(2).last(), Some(&&EndpointEvent::Connection(Event::Drained)));
}

#[test]
fn a_connection_can_be_read_when_its_end_is_reported() {
    let mut net = Net::serving();
    let client = net.connect(2, 1);
    net.run_for(millis(100));
    let now = net.now;
    net.at(2).send(now, client, datagram(1)).unwrap();
    net.at(2).close(now, client);
    net.drain();
    // By hand, to look between two events.
    let reset = Reset::new(ResetCode::Closed);
    let connection = net.at(2).connection(client).unwrap();
    let (source, destination) = (connection.source_port(), connection.destination_port());
    let last = net.sent.last().unwrap().1.clone();
    let mut packet = packet(Kind::Reset { ack: last.sequence, reset }, 0, source);
    packet.source_port = destination;
    packet.sequence = last.ack().unwrap().next();
    net.at(2).handle_packet(now, address(1), ReceiveMeta::default(), packet);
    while let Some((handle, event)) = net.at(2).poll_event() {
        if let EndpointEvent::Connection(Event::Closed(_)) = event {
            assert_eq!(net.at(2).connection(handle).unwrap().snapshot().statistics.datagrams_sent, 1);
            return;
        }
    }
    panic!("it did not end");
}

#[test]
fn a_port_serves_several_service_codes() {
    let mut net = Net::serving();
    let other = Config { service_code: ServiceCode(7), ..free() };
    net.at(1).listen(PORT, other.clone()).unwrap();
    assert_eq!(
        net.at(1).listen(PORT, other.clone()),
        Err(ListenError::InUse { port: PORT, service_code: ServiceCode(7) })
    );
    let now = net.now;
    let handle = net.at(2).connect(now, address(1), PORT, other).unwrap();
    net.run_for(millis(100));
    assert_eq!(net.at(2).connection(handle).unwrap().state(), State::PartOpen);
    assert!(net.at(1).stop_listening(PORT));
    assert_eq!(code(&net.ask(request(42, PORT))[0]), Some(ResetCode::ConnectionRefused));
    assert_eq!(net.at(2).connection(handle).unwrap().state(), State::PartOpen, "connections go on");
}

#[test]
fn connections_have_ports_and_numbers_of_their_own() {
    let mut net = Net::serving();
    for _ in 0..200 {
        net.connect(2, 1);
    }
    net.drain();
    let mut ports: Vec<u16> = net.sent.iter().map(|(_, packet)| packet.source_port).collect();
    let mut numbers: Vec<u64> = net.sent.iter().map(|(_, packet)| packet.sequence.value()).collect();
    assert!(ports.iter().all(|port| *port >= 49_152));
    // Neither is one after the other.
    let steps = ports.windows(2).filter(|pair| pair[0].abs_diff(pair[1]) < 100).count();
    assert!(steps < 20, "{steps} of 199 ports are close to the one before");
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), 200);
    numbers.sort_unstable();
    let closest = numbers.windows(2).map(|pair| pair[1] - pair[0]).min().unwrap();
    assert!(closest > 1_000_000, "random 48-bit numbers are far apart, these {closest}");
}

#[test]
fn a_thousand_handshakes_at_once_succeed() {
    let mut net = Net::serving();
    let handles: Vec<_> = (0..1000).map(|_| net.connect(2, 1)).collect();
    net.run_for(millis(40));
    let now = net.now;
    for handle in &handles {
        net.at(2).send(now, *handle, datagram(1)).unwrap();
    }
    net.run_for(millis(40));
    assert_eq!(net.datagrams_at(1), 1000);
    for handle in &handles {
        net.at(2).abort(now, *handle);
    }
    net.run_for(millis(40));
    assert!(net.at(2).is_empty(), "an abort leaves nothing behind");
    assert_eq!(net.at(1).len(), 1000, "the other end keeps TIMEWAIT");
    net.run_for(Duration::from_secs(241));
    assert!(net.at(1).is_empty());
}

#[test]
fn connections_take_turns_of_some_packets_each() {
    let mut net = Net::new(2, EndpointConfig { packets_per_turn: 2, ..EndpointConfig::default() });
    net.at(1).listen(PORT, free()).unwrap();
    let (a, b) = (net.connect(2, 1), net.connect(2, 1));
    net.run_for(millis(100));
    net.sent.clear();
    let now = net.now;
    for tag in 0..5 {
        net.at(2).send(now, a, datagram(tag)).unwrap();
    }
    for tag in 0..2 {
        net.at(2).send(now, b, datagram(tag)).unwrap();
    }
    let ports = [a, b].map(|handle| net.at(2).connection(handle).unwrap().source_port());
    net.drain();
    let turns: Vec<_> = net
        .sent
        .iter()
        .map(|(_, packet)| ports.iter().position(|port| *port == packet.source_port))
        .collect();
    assert_eq!(turns, [0, 0, 1, 1, 0, 0, 0].map(Some));
}

#[test]
fn a_handle_serves_again_once_its_connection_is_drained() {
    let mut net = Net::serving();
    let first = net.connect(2, 1);
    net.run_for(millis(100));
    let now = net.now;
    net.at(2).abort(now, first);
    net.drain();
    let second = net.connect(2, 1);
    assert_eq!(first, second);
    net.run_for(millis(100));
    assert_eq!(net.at(2).connection(second).unwrap().state(), State::PartOpen);
    assert_eq!(net.at(2).remote(second), Some(address(1)));
}

#[test]
fn a_command_on_the_connection_takes_effect_after_a_wake() {
    let mut net = Net::serving();
    let handle = net.connect(2, 1);
    net.run_for(millis(100));
    net.sent.clear();
    let now = net.now;
    net.at(2).connection_mut(handle).unwrap().send(now, datagram(5)).unwrap();
    net.at(2).wake(handle);
    net.drain();
    assert_eq!(net.sent.len(), 1);
}

#[test]
fn commands_for_unknown_handles_do_nothing() {
    let mut net = Net::serving();
    let now = net.now;
    let nobody = ConnectionHandle(123);
    net.at(2).close(now, nobody);
    net.at(2).abort(now, nobody);
    net.at(2).wake(nobody);
    assert_eq!(net.at(2).send(now, nobody, datagram(1)), Err(SendError::Closed));
    assert!(net.at(2).connection(nobody).is_none());
    net.drain();
    assert!(net.sent.is_empty());
}

#[test]
fn an_unreachable_destination_ends_the_attempt() {
    let mut net = Net::serving();
    let handle = net.connect(2, 1);
    net.drain();
    let port = net.at(2).connection(handle).unwrap().source_port();
    let now = net.now;
    net.at(2).handle_unreachable(now, address(1), port, PORT);
    net.drain();
    let ended = EndpointEvent::Connection(Event::Closed(ConnectionError::Unreachable));
    assert!(net.events_at(2).contains(&&ended));
    assert!(net.at(2).is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn strangers_get_one_answer_at_most_and_none_that_is_worth_sending_them_for(
        packets in prop::collection::vec((0u8..11, any::<u64>(), any::<u64>(), 0u8..4, any::<bool>()), 1..200),
    ) {
        let mut net = Net::serving();
        for (packet_type, sequence, ack, from, extended) in packets {
            let (ack, service_code) = (SeqNo::new(ack), ServiceCode(42));
            let kind = match PacketType::from_number(packet_type).unwrap() {
                PacketType::Request => Kind::Request { service_code },
                PacketType::Response => Kind::Response { ack, service_code },
                PacketType::Data => Kind::Data,
                PacketType::Ack => Kind::Ack { ack },
                PacketType::DataAck => Kind::DataAck { ack },
                PacketType::CloseReq => Kind::CloseReq { ack },
                PacketType::Close => Kind::Close { ack },
                PacketType::Reset => Kind::Reset { ack, reset: Reset::new(ResetCode::Closed) },
                PacketType::Sync => Kind::Sync { ack },
                PacketType::SyncAck => Kind::SyncAck { ack },
                PacketType::Listen => Kind::Listen { service_code },
            };
            let mut packet = packet(kind, sequence, PORT);
            packet.source_port = u16::from(from);
            packet.extended = extended;
            let answers = net.ask(packet);
            prop_assert!(answers.len() <= 1, "{:?}", answers);
            // A Reset is 28 bytes; a Response holds what negotiation needs.
            for answer in &answers {
                let limit = if code(answer).is_some() { 28 } else { 128 };
                prop_assert!(answer.encoded_len() <= limit, "{:?}", answer);
            }
            while net.at(1).poll_event().is_some() {}
            net.now += millis(1);
        }
        net.run_for(Duration::from_secs(1000));
        prop_assert!(net.at(1).is_empty(), "nothing is kept for ever");
    }
}

#[test]
fn outdated_deadlines_do_not_pile_up() {
    let mut net = Net::new(2, EndpointConfig::default());
    let patient = Config {
        timers: TimerConfig { idle: Some(Duration::from_secs(3_600)), ..TimerConfig::default() },
        ..config(millis(50))
    };
    net.at(1).listen(PORT, patient.clone()).unwrap();
    let now = net.now;
    let client = net.at(2).connect(now, address(1), PORT, patient).unwrap();
    net.run_for(millis(500));
    // Paced data has a deadline soon, and then there is only the idle timer's.
    for tag in 0..2_000 {
        let now = net.now;
        net.at(2).send(now, client, datagram(2 * tag)).unwrap();
        net.at(2).send(now, client, datagram(2 * tag + 1)).unwrap();
        net.run_for(millis(200));
    }
    assert_eq!(net.datagrams_at(1), 4_000);
    for host in [1, 2] {
        let seen = net.at(host).snapshot();
        assert!(seen.deadlines <= 80, "{seen:?}");
    }
}

/// Deadlines of connections that have ended go with them, also where many end at once and nothing happens
/// afterwards.
#[test]
fn connections_that_end_take_their_deadlines_along() {
    let mut net = Net::new(2, EndpointConfig::default());
    let timers = TimerConfig { idle: Some(Duration::from_secs(3_600)), ..TimerConfig::default() };
    let config = Config { timers, ..config(millis(20)) };
    net.at(1).listen(PORT, config.clone()).unwrap();
    let now = net.now;
    let clients: Vec<_> =
        (0..30).map(|_| net.at(2).connect(now, address(1), PORT, config.clone()).unwrap()).collect();
    net.run_for(millis(500));
    let mut most = 0;
    for tag in 0..8 {
        let now = net.now;
        for client in &clients {
            net.at(2).send(now, *client, datagram(2 * tag)).unwrap();
            net.at(2).send(now, *client, datagram(2 * tag + 1)).unwrap();
        }
        net.run_for(millis(100));
        most = most.max(net.at(2).snapshot().deadlines);
    }
    assert!(most > 64, "{most} deadlines at most: too few to be left behind");
    let now = net.now;
    for client in &clients {
        net.at(2).abort(now, *client);
    }
    net.run_for(millis(100));
    let seen = net.at(2).snapshot();
    assert_eq!(seen.connections, 0);
    assert!(seen.deadlines <= 64, "{seen:?}");
}
