//! Attacks by off-path attackers, which see no packet of the connections.

use crate::duo;

use core::net::SocketAddr;

use allocation_counter::measure;
use duo::{Duo, config, requesting, to_client};
use whimbrel_proto::{
    Ccid, Config, Connection, ConnectionHandle, Endpoint, EndpointConfig, EndpointEvent, Event,
    MobilityConfig, PathChange, ReceiveMeta, State,
};
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::mobility::{MobilityOption, Move};
use whimbrel_wire::option::{FeatureAction, FeatureOption};
use whimbrel_wire::{
    ChecksumCoverage, DccpOption, Kind, OptionBytes, Options, Packet, PacketType, Payload, Reset, ResetCode,
    SeqNo, ServiceCode,
};

/// Deterministic pseudo-random numbers: SplitMix64.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// A number at a distance of at most `reach` from `center`, on either side.
    fn near(&mut self, center: SeqNo, reach: u64) -> SeqNo {
        center.sub(reach).add(self.roll() % (2 * reach))
    }
}

const PORT: u16 = 5001;
const FORGED: u32 = 1_000_000;

fn forged_request(dice: &mut Dice) -> (SocketAddr, Packet) {
    let [a, b, c, d, e, f, ..] = dice.roll().to_be_bytes();
    let request = Packet {
        source_port: u16::from_be_bytes([e, f]),
        destination_port: PORT,
        ccval: 0,
        checksum_coverage: ChecksumCoverage::ALL,
        extended: true,
        sequence: SeqNo::new(dice.roll()),
        kind: Kind::Request { service_code: ServiceCode(0) },
        options: Options::new(),
        payload: Payload::EMPTY,
    };
    (SocketAddr::from(([a, b, c, d], 6511)), request)
}

#[test]
fn a_million_forged_requests_cost_no_memory_and_exclude_no_client() {
    let limits = EndpointConfig::default().max_half_open(256);
    let mut server = Endpoint::new(limits, 1);
    server.listen(PORT, Config::default()).expect("free");
    let mut now = Instant::from_secs(100);
    let mut dice = Dice(5);
    // Answers are limited to three times the bytes received.
    let (mut asked, mut answered) = (0, 0);
    let mut flood = |server: &mut Endpoint, now: &mut Instant, count: u32| {
        for _ in 0..count {
            let (from, request) = forged_request(&mut dice);
            asked += request.encoded_len();
            server.handle_packet(*now, from, ReceiveMeta::default(), request);
            while let Some((_, transmit)) = server.poll_transmit(*now) {
                answered += transmit.packet.encoded_len();
            }
            while server.poll_event().is_some() {}
            *now += Duration::from_micros(1);
        }
    };
    // Until the places for half-open connections are taken.
    flood(&mut server, &mut now, 5_000);
    let before = server.snapshot();
    let info = measure(|| flood(&mut server, &mut now, FORGED / 2));
    assert_eq!(server.snapshot(), before);
    assert!(info.bytes_current.abs() < 1024, "{} bytes were kept", info.bytes_current);
    assert!(info.bytes_max < 64 << 10, "{} bytes at the most", info.bytes_max);

    // An honest client, 10 ms away, during the attack: a million Requests per second continue.
    let mut client = Endpoint::new(EndpointConfig::default(), 2);
    let (here, there) = (SocketAddr::from(([192, 0, 2, 1], 6511)), SocketAddr::from(([192, 0, 2, 2], 6511)));
    let begin = now;
    client.connect(now, there, PORT, Config::default()).expect("a free port");
    let mut under_way: std::collections::VecDeque<(Instant, bool, Packet)> =
        std::collections::VecDeque::new();
    let (mut connected, mut accepted) = (None, false);
    for _ in 0..FORGED / 2 / 1000 {
        client.handle_timeout(now);
        while let Some((_, transmit)) = client.poll_transmit(now) {
            under_way.push_back((now + Duration::from_millis(10), true, transmit.packet));
        }
        while under_way.front().is_some_and(|(at, _, _)| *at <= now) {
            let Some((_, is_to_server, packet)) = under_way.pop_front() else { break };
            if is_to_server {
                server.handle_packet(now, here, ReceiveMeta::default(), packet);
                while let Some((to, transmit)) = server.poll_transmit(now) {
                    if to == here {
                        under_way.push_back((now + Duration::from_millis(10), false, transmit.packet));
                    }
                }
                while let Some((_, event)) = server.poll_event() {
                    accepted |= matches!(event, EndpointEvent::Accepted { from, .. } if from == here);
                }
            } else {
                client.handle_packet(now, there, ReceiveMeta::default(), packet);
            }
        }
        while let Some((_, event)) = client.poll_event() {
            if matches!(event, EndpointEvent::Connection(Event::Connected { .. })) {
                connected.get_or_insert(now - begin);
            }
        }
        flood(&mut server, &mut now, 1000);
    }
    assert!(connected.is_some_and(|after| after < Duration::from_secs(1)), "{connected:?}");
    assert!(accepted);
    assert!(answered <= 3 * asked, "{answered} bytes for {asked}");
}

const REACH: u64 = 400;
const TRIALS: u64 = 6_000;

/// Number of [`TRIALS`] packets that count, from an attacker that knows the sequence numbers to within
/// [`REACH`]. An attacker without any knowledge has 2^48 numbers to choose from instead of 800.
fn hits(config: &Config, short: bool, kind: impl Fn(SeqNo) -> Kind) -> u64 {
    hits_after(config, short, Duration::ZERO, kind)
}

/// The same on a connection that has been quiet for a while.
fn hits_after(config: &Config, short: bool, quiet: Duration, kind: impl Fn(SeqNo) -> Kind) -> u64 {
    let mut dice = Dice(9);
    let mut duo = Duo::connected(config.clone());
    let mut hits = 0;
    for _ in 0..TRIALS {
        let sequence = dice.near(duo.gsr, REACH);
        let ack = dice.near(duo.gss, REACH);
        let mut packet = to_client(kind(ack), sequence);
        if short {
            packet.extended = false;
            packet.sequence = SeqNo::new(sequence.low24().into());
            if let Kind::Ack { ack } | Kind::DataAck { ack } = &mut packet.kind {
                *ack = SeqNo::new(ack.low24().into());
            }
        }
        let before = duo.client.snapshot().statistics.packets_received;
        duo.client.handle_packet(duo.now + quiet, ReceiveMeta::default(), packet);
        if duo.client.snapshot().statistics.packets_received > before {
            hits += 1;
            duo = Duo::connected(config.clone());
        }
    }
    hits
}

/// Compares a count with the probability that follows from the windows, five standard deviations either way.
fn check(name: &str, hits: u64, sequence_numbers: u64, ack_numbers: Option<u64>) {
    let width = (2 * REACH) as f64;
    let p = sequence_numbers as f64 / width * ack_numbers.map_or(1.0, |numbers| numbers as f64 / width);
    let (mean, deviation) = (TRIALS as f64 * p, (TRIALS as f64 * p * (1.0 - p)).sqrt());
    let bounds = mean - 5.0 * deviation - 1.0..=mean + 5.0 * deviation + 1.0;
    assert!(bounds.contains(&(hits as f64)), "{name}: {hits} hits, expected {mean:.1} +- {deviation:.1}");
}

#[test]
fn blind_packets_count_as_often_as_the_windows_let_them() {
    // RFC 4340, Section 7.5: with the Sequence Window of 100 a Sequence Number has 100 chances, 75 of
    // them above GSR: those below are duplicates, which count on Syncs only. An Acknowledgement Number
    // has 100, on packets that end the connection those from GAR to GSS. Without any knowledge that is,
    // per packet: Data 75 / 2^48, Ack 75 * 100 / 2^96, Sync 100 * 100 / 2^96, Reset and Close
    // 75 * (GSS - GAR + 1) / 2^96.
    let config = config(Ccid::TCP_LIKE);
    let duo = Duo::connected(config.clone());
    let unacknowledged = duo.gss.distance_from(duo.gar).unsigned_abs() + 1;
    assert!(unacknowledged < 20, "{unacknowledged}");
    let reset = Reset::new(ResetCode::Closed);
    check("Data", hits(&config, false, |_| Kind::Data), 75, None);
    check("Ack", hits(&config, false, |ack| Kind::Ack { ack }), 75, Some(100));
    check("DataAck", hits(&config, false, |ack| Kind::DataAck { ack }), 75, Some(100));
    check("Sync", hits(&config, false, |ack| Kind::Sync { ack }), 100, Some(100));
    // On a quiet connection a Sync's Sequence Number may lie anywhere ahead (RFC 4340, Section 7.5.3):
    // 100 / 2^49 then, of the numbers tried here 25 below GSR and all above.
    let quiet = hits_after(&config, false, Duration::from_secs(10), |ack| Kind::Sync { ack });
    check("Sync on a quiet connection", quiet, 25 + REACH - 1, Some(100));
    check("SyncAck", hits(&config, false, |ack| Kind::SyncAck { ack }), 100, Some(100));
    check("Close", hits(&config, false, |ack| Kind::Close { ack }), 75, Some(unacknowledged));
    check("CloseReq", hits(&config, false, |ack| Kind::CloseReq { ack }), 75, Some(unacknowledged));
    check("Reset", hits(&config, false, |ack| Kind::Reset { ack, reset }), 75, Some(unacknowledged));
    // After the handshake a Response never counts, except those that appear to come from before it.
    let service_code = ServiceCode(0);
    check("Response", hits(&config, false, |ack| Kind::Response { ack, service_code }), 0, Some(100));
    // Short numbers do not count where they were not agreed on.
    assert_eq!(hits(&config, true, |_| Kind::Data), 0);
}

#[test]
fn short_sequence_numbers_open_the_same_windows_among_fewer_numbers() {
    // RFC 4340, Section 7.6: of 2^24 numbers 75 are good for Data, one packet in 224 thousand; of
    // 2^48 pairs 75 * 100 are good for an Ack. Packets that end or move the connection stay long.
    let config = config(Ccid::TCP_LIKE).short_sequence_numbers(true);
    check("Data", hits(&config, true, |_| Kind::Data), 75, None);
    check("Ack", hits(&config, true, |ack| Kind::Ack { ack }), 75, Some(100));
    let duo = Duo::connected(config.clone());
    let unacknowledged = duo.gss.distance_from(duo.gar).unsigned_abs() + 1;
    let reset = Reset::new(ResetCode::Closed);
    check("Reset", hits(&config, false, |ack| Kind::Reset { ack, reset }), 75, Some(unacknowledged));
    let mut duo = Duo::connected(config);
    let mut short = to_client(Kind::Reset { ack: duo.gss, reset }, duo.gsr.next());
    short.extended = false;
    duo.client.handle_packet(duo.now, ReceiveMeta::default(), short);
    assert_ne!(duo.client.state(), State::TimeWait);
}

/// `true` if an answer to a Request with that Acknowledgement Number counts.
fn is_believed(client: impl Fn() -> (Instant, Connection), kind: Kind, sequence: SeqNo) -> bool {
    let (now, mut client) = client();
    client.handle_packet(now, ReceiveMeta::default(), to_client(kind, sequence));
    client.state() != State::Request
}

#[test]
fn in_request_only_an_acknowledgement_of_a_request_counts() {
    // RFC 4340, Section 8.5, Step 4. One Request was sent, or three: that many of 2^48 numbers are valid.
    // Linux once accepted any Reset here.
    let service_code = ServiceCode(0);
    for requests in [1, 3] {
        let client = || {
            let (mut now, mut client, _) = requesting(config(Ccid::TFRC));
            for _ in 1..requests {
                now = client.poll_timeout().expect("it repeats");
                client.handle_timeout(now);
                assert!(client.poll_transmit(now).is_some());
            }
            (now, client)
        };
        let (_, _, request) = requesting(config(Ccid::TFRC));
        let mut dice = Dice(4);
        for (name, kind) in [
            (
                "Response",
                (|ack, service_code| Kind::Response { ack, service_code }) as fn(SeqNo, ServiceCode) -> Kind,
            ),
            ("Reset", |ack, _| Kind::Reset { ack, reset: Reset::new(ResetCode::ConnectionRefused) }),
        ] {
            let mut believed = 0;
            for _ in 0..TRIALS {
                let ack = dice.near(request.sequence, REACH);
                let sequence = SeqNo::new(dice.roll());
                believed += u64::from(is_believed(client, kind(ack, service_code), sequence));
            }
            // Any Sequence Number counts, as the server's is not known yet.
            check(name, believed, requests, None);
        }
        // Nothing else is, regardless of its numbers.
        let ack = request.sequence;
        for kind in [
            Kind::Data,
            Kind::Ack { ack },
            Kind::DataAck { ack },
            Kind::Close { ack },
            Kind::CloseReq { ack },
            Kind::Sync { ack },
            Kind::SyncAck { ack },
            Kind::Request { service_code },
            Kind::Listen { service_code },
        ] {
            assert!(!is_believed(client, kind, SeqNo::new(dice.roll())), "{kind:?}");
        }
    }
}

/// A packet whose options fill its header.
fn bombs() -> Vec<(&'static str, Options)> {
    let feature = |action, feature, length: usize| {
        DccpOption::Feature(FeatureOption { action, feature, values: OptionBytes::from_elem(9, length) })
    };
    let cells = |cell: u8| DccpOption::AckVector { nonce: false, cells: OptionBytes::from_elem(cell, 240) };
    use FeatureAction::{ChangeL, ChangeR, ConfirmL, ConfirmR};
    vec![
        ("unknown features", (0..240u8).map(|n| feature(ChangeL, n.max(10), 1)).collect()),
        ("one feature again and again", (0..240).map(|_| feature(ChangeR, 1, 1)).collect()),
        ("long preference lists", (0..4).map(|n| feature([ChangeL, ChangeR][n % 2], 1, 240)).collect()),
        (
            "Confirms of nothing",
            (0..300u16).map(|n| feature([ConfirmL, ConfirmR][usize::from(n % 2)], n as u8, 0)).collect(),
        ),
        ("Ack Vectors of 62 thousand packets", (0..4).map(|_| cells(0x3f)).collect()),
        ("Ack Vectors of losses", (0..4).map(|_| cells(0xff)).collect()),
        ("Ack Vectors of single packets", (0..4).map(|n| cells([0x00, 0xc0][n % 2])).collect()),
        (
            "nothing known",
            (0..480).map(|_| DccpOption::Unknown { kind: 99, data: OptionBytes::new() }).collect(),
        ),
        (
            "Data Dropped",
            (0..4).map(|_| DccpOption::DataDropped(OptionBytes::from_elem(0x8f, 240))).collect(),
        ),
        ("Padding", (0..960).map(|_| DccpOption::Padding).collect()),
    ]
}

#[test]
fn a_packet_full_of_options_costs_what_its_length_costs() {
    for ccid in [Ccid::TCP_LIKE, Ccid::TFRC] {
        for (name, options) in bombs() {
            let mut duo = Duo::connected(config(ccid));
            let mut worst = (0, 0);
            let mut kept = Vec::new();
            for round in 0..200u64 {
                let kind = Kind::Ack { ack: duo.gar };
                let mut packet = to_client(kind, duo.gsr.add(1 + round));
                packet.options = options.clone();
                let length = packet.encoded_len() as u64;
                assert!(length <= 1020, "{name}: {length} bytes");
                let info = measure(|| {
                    duo.client.handle_packet(duo.now, ReceiveMeta::default(), packet);
                    while duo.client.poll_transmit(duo.now).is_some() {}
                    while duo.client.poll_event().is_some() {}
                });
                worst = (worst.0.max(info.count_total), worst.1.max(info.bytes_total));
                kept.push(info.bytes_current);
                duo.now += Duration::from_millis(1);
            }
            // One allocation per four bytes of options, 16 bytes of memory per byte, at the most.
            assert!(worst.0 <= 256 && worst.1 <= 16 << 10, "{name}, {ccid}: {worst:?}");
            let last: i64 = kept[100..].iter().sum();
            assert!(last <= 1 << 10, "{name}, {ccid}: {last} bytes more after a hundred of them");
        }
    }
}

#[test]
fn a_forged_packet_of_any_type_never_creates_a_connection() {
    let mut server = Endpoint::new(EndpointConfig::default(), 1);
    server.listen(PORT, Config::default()).expect("free");
    let mut dice = Dice(8);
    let now = Instant::from_secs(5);
    for number in 1..=10 {
        let (from, mut packet) = forged_request(&mut dice);
        let (ack, service_code) = (SeqNo::new(dice.roll()), ServiceCode(0));
        packet.kind = match PacketType::from_number(number).expect("a type") {
            PacketType::Response => Kind::Response { ack, service_code },
            PacketType::Data => Kind::Data,
            PacketType::Ack => Kind::Ack { ack },
            PacketType::DataAck => Kind::DataAck { ack },
            PacketType::CloseReq => Kind::CloseReq { ack },
            PacketType::Close => Kind::Close { ack },
            PacketType::Reset => Kind::Reset { ack, reset: Reset::new(ResetCode::Closed) },
            PacketType::Sync => Kind::Sync { ack },
            PacketType::SyncAck => Kind::SyncAck { ack },
            _ => Kind::Listen { service_code },
        };
        server.handle_packet(now, from, ReceiveMeta::default(), packet);
        assert!(server.is_empty(), "type {number}");
    }
}

/// The connection of a client at `HOME`, with Moves that the server has not received: what it sent, in order.
struct Mover {
    now: Instant,
    server: Endpoint,
    handle: ConnectionHandle,
    announcements: Vec<Packet>,
}

const HOME: ([u8; 4], u16) = ([192, 0, 2, 1], 6511);

impl Mover {
    fn new() -> Self {
        let config = config(Ccid::TCP_LIKE).mobility(Some(MobilityConfig::default()));
        let (home, there) = (SocketAddr::from(HOME), SocketAddr::from(([192, 0, 2, 2], 6511)));
        let mut now = Instant::from_secs(100);
        let limits = EndpointConfig::default().resets_per_second(0);
        let (mut client, mut server) = (Endpoint::new(limits, 3), Endpoint::new(limits, 4));
        server.listen(PORT, config.clone()).expect("free");
        let at_client = client.connect(now, there, PORT, config).expect("a free port");
        let mut handle = None;
        for _ in 0..10 {
            now += Duration::from_millis(5);
            client.handle_timeout(now);
            while let Some((_, transmit)) = client.poll_transmit(now) {
                server.handle_packet(now, home, ReceiveMeta::default(), transmit.packet);
            }
            while let Some((_, transmit)) = server.poll_transmit(now) {
                client.handle_packet(now, there, ReceiveMeta::default(), transmit.packet);
            }
            handle = server.poll_event().map(|(handle, _)| handle).or(handle);
            while client.poll_event().is_some() {}
        }
        let connection = client.connection_mut(at_client).expect("open");
        connection.path_changed(now, PathChange::Keep);
        client.wake(at_client);
        let mut announcements = Vec::new();
        for _ in 0..4 {
            let datagram = whimbrel_proto::Datagram::new(Payload::Opaque { length: 10, tag: 0 });
            client.send(now, at_client, datagram).expect("open");
            announcements.extend(core::iter::from_fn(|| client.poll_transmit(now)).map(|(_, it)| it.packet));
        }
        assert!(announcements.len() > 2 && announcements.iter().all(|packet| moved(packet).is_some()));
        Self { now, server, handle: handle.expect("accepted"), announcements }
    }

    /// Gives the server that packet from another address; returns `true` if the server sends a challenge
    /// there.
    fn asks(&mut self, packet: Packet) -> bool {
        let eve = SocketAddr::from(([203, 0, 113, 66], 6511));
        self.server.handle_packet(self.now, eve, ReceiveMeta::default(), packet);
        let mut asks = false;
        while let Some((to, _)) = self.server.poll_transmit(self.now) {
            asks |= to == eve;
        }
        assert_eq!(self.server.remote(self.handle), Some(SocketAddr::from(HOME)));
        asks
    }
}

fn moved(packet: &Packet) -> Option<Move> {
    packet.options.iter().find_map(|option| match MobilityOption::parse(option) {
        Some(MobilityOption::Move(moved)) => Some(moved),
        _ => None,
    })
}

/// The packet with another Move.
fn with(packet: &Packet, moved: Move) -> Packet {
    Packet { options: [MobilityOption::Move(moved).into()].into_iter().collect(), ..packet.clone() }
}

#[test]
fn a_forged_move_has_one_chance_in_2_to_the_192() {
    // The identifier has 64 bits, the authenticator 128, and any error in either makes a Move useless: an
    // attacker that knows all but any eight bits of one of them has one chance in 256.
    // Without any knowledge there is one chance in 2^192 that a challenge is sent to the claimed address; and
    // its echo needs another authenticator.
    const UNKNOWN: u64 = 256;
    let mut dice = Dice(7);
    let fresh = Mover::new();
    let genuine = moved(&fresh.announcements[0]).expect("a Move");
    for (name, forge) in [
        (
            "identifier",
            (|it: Move, bits, at| Move { identifier: it.identifier ^ bits << at, ..it })
                as fn(Move, u64, u32) -> Move,
        ),
        ("authenticator, below", |it, bits, at| Move { tag: it.tag ^ u128::from(bits) << at, ..it }),
        ("authenticator, above", |it, bits, at| Move { tag: it.tag ^ u128::from(bits) << (64 + at), ..it }),
    ] {
        let mut hits = 0;
        let mut mover = Mover::new();
        for _ in 0..TRIALS {
            let (bits, at) = (dice.roll() % UNKNOWN, (dice.roll() % 57) as u32);
            let asks = mover.asks(with(&mover.announcements[0], forge(genuine, bits, at)));
            assert_eq!(asks, bits == 0, "{name}: {bits:x} at {at}");
            if asks {
                hits += 1;
                mover = Mover::new();
            }
        }
        let p = 1.0 / UNKNOWN as f64;
        let (mean, deviation) = (TRIALS as f64 * p, (TRIALS as f64 * p * (1.0 - p)).sqrt());
        assert!((hits as f64 - mean).abs() < 5.0 * deviation, "{name}: {hits} hits, expected {mean:.1}");
    }
}

#[test]
fn forged_moves_cost_no_memory_and_as_much_as_a_look_and_one_authenticator() {
    let mut mover = Mover::new();
    let genuine = moved(&mover.announcements[0]).expect("a Move");
    let packet = mover.announcements[0].clone();
    let mut dice = Dice(11);
    let before = mover.server.snapshot();
    let info = measure(|| {
        for round in 0..100_000u64 {
            // Identifiers of no connection, and one of an existing one.
            let identifier = if round % 2 == 0 { dice.roll() } else { genuine.identifier };
            let tag = u128::from(dice.roll()) << 64 | u128::from(dice.roll());
            let echo = (round % 3 == 0).then(|| dice.roll());
            assert!(!mover.asks(with(&packet, Move { identifier, echo, tag })));
        }
    });
    assert_eq!(mover.server.snapshot(), before);
    assert!(info.bytes_current.abs() < 1024, "{} bytes were kept", info.bytes_current);
    assert!(info.bytes_max < 16 << 10, "{} bytes at the most", info.bytes_max);
    // The client's own packet counts as before.
    assert!(mover.asks(packet));
}
