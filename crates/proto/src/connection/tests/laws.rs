//! Laws that hold for any behaviour of the network and the applications.
//!
//! [`Pair`] checks after every drain that an end's next wake-up is later than now, that draining twice is
//! draining once, that an early wake-up does nothing and that sending ends.

use bytes::Bytes;
use proptest::collection::vec;
use proptest::prelude::*;
use rustc_hash::FxHashMap;
use whimbrel_units::Duration;
use whimbrel_wire::option::data_dropped::DropCode;
use whimbrel_wire::option::{Elapsed, FeatureAction, FeatureOption, NdpCount};
use whimbrel_wire::{
    DccpOption, Ecn, Kind, OptionBytes, Options, Packet, PacketType, Payload, Reset, ResetCode, SeqNo,
    ServiceCode,
};

use super::fixed_rate::{FIXED_RATE, FixedRate};
use super::pair::{End, Pair, Treatment, datagram};
use crate::ccid::Registry;
use crate::config::{DataChecksumUse, IntegrityConfig, ReceiveConfig};
use crate::{Ccid, Config, DatagramId, Event, ReceiveMeta, State};

fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// The next action of an application or of the network.
#[derive(Clone, Copy, Debug)]
enum Step {
    Wait(Duration),
    Send {
        from: End,
        count: u8,
        lifetime: Option<u16>,
    },
    Close(End),
    Abort(End),
    Unreachable(End),
    Shrink(End, usize),
    StopReceiving(End),
    Slow(End, bool),
    /// The application could not make use of one of its last datagrams.
    Discard(End, u8, u8),
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![Just(End::Client), Just(End::Server)]
}
fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (0u64..400).prop_map(|time| Step::Wait(millis(time))),
        1 => (1u64..600).prop_map(|time| Step::Wait(Duration::from_secs(time))),
        8 => (end(), 1u8..40, prop::option::of(0u16..500))
            .prop_map(|(from, count, lifetime)| Step::Send { from, count, lifetime }),
        1 => end().prop_map(Step::Close),
        1 => end().prop_map(Step::Abort),
        1 => end().prop_map(Step::Unreachable),
        1 => (end(), 50usize..1400).prop_map(|(end, limit)| Step::Shrink(end, limit)),
        1 => end().prop_map(Step::StopReceiving),
        1 => (end(), any::<bool>()).prop_map(|(end, slow)| Step::Slow(end, slow)),
        2 => (end(), any::<u8>(), 0u8..8).prop_map(|(end, age, code)| Step::Discard(end, age, code)),
    ]
}

/// Impairments of the network: percentages, and the seed of its random numbers.
#[derive(Clone, Copy, Debug)]
struct Weather {
    lose: u8,
    duplicate: u8,
    delay: u8,
    mark: u8,
    seed: u64,
}

fn weather() -> impl Strategy<Value = Weather> {
    (0u8..40, 0u8..30, 0u8..30, 0u8..20, any::<u64>())
        .prop_map(|(lose, duplicate, delay, mark, seed)| Weather { lose, duplicate, delay, mark, seed })
}

impl Weather {
    fn script(self) -> impl FnMut(&super::pair::SentPacket) -> Treatment + 'static {
        let mut state = self.seed | 1;
        let mut die = move |sides: u64| {
            // xorshift64*: any dice will do, as long as they fall the same way again.
            state ^= state >> 12;
            state ^= state << 25;
            state ^= state >> 27;
            (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % sides
        };
        move |_| match die(100) as u8 {
            roll if roll < self.lose => Treatment::Lose,
            _ if (die(100) as u8) < self.duplicate => Treatment::Duplicate(millis(die(300))),
            _ if (die(100) as u8) < self.delay => Treatment::Delay(millis(die(300))),
            _ if (die(100) as u8) < self.mark => Treatment::Mark,
            _ => Treatment::Deliver,
        }
    }
}

fn config(ccid: Ccid) -> Config {
    Config {
        service_code: ServiceCode(42),
        sender_ccids: [ccid].into(),
        receiver_ccids: [ccid].into(),
        ccids: Registry::default().with(FixedRate::every(millis(3))),
        ..Config::default()
    }
}
fn integrity() -> impl Strategy<Value = IntegrityConfig> {
    let off = Just(IntegrityConfig::default());
    let use_of_checksum =
        prop_oneof![Just(DataChecksumUse::Off), Just(DataChecksumUse::Offer), Just(DataChecksumUse::Require)];
    let on = (0u8..=15, 0u8..=15, use_of_checksum).prop_map(
        |(checksum_coverage, minimum_coverage, data_checksum)| IntegrityConfig {
            checksum_coverage,
            minimum_coverage,
            data_checksum,
        },
    );
    prop_oneof![off, on]
}
fn configs() -> impl Strategy<Value = Config> {
    let ccid = prop_oneof![Just(Ccid::TCP_LIKE), Just(Ccid::TFRC), Just(FIXED_RATE)];
    let wait = prop::option::weighted(0.25, 1u64..500);
    (ccid, any::<[bool; 4]>(), integrity(), wait).prop_map(|(ccid, choices, integrity, wait)| {
        let [data_on_handshake, short_sequence_numbers, server_sends_close_request, ecn] = choices;
        Config {
            integrity,
            receive: ReceiveConfig { reorder_delay: wait.map(millis), ..ReceiveConfig::default() },
            data_on_handshake,
            short_sequence_numbers,
            server_sends_close_request,
            ecn,
            ..config(ccid)
        }
    })
}

/// An application's record of its datagrams.
#[derive(Default)]
struct Ledger {
    /// The contents of each datagram.
    taken: FxHashMap<DatagramId, u64>,
}

impl Ledger {
    /// Every datagram was either sent or dropped, once; returns those that were sent.
    fn settle(&self, events: &[Event]) -> Vec<u64> {
        let mut fates: FxHashMap<DatagramId, u32> = FxHashMap::default();
        let mut sent = Vec::new();
        for event in events {
            match event {
                Event::DatagramSent { id, .. } => {
                    *fates.entry(*id).or_default() += 1;
                    sent.push(self.taken[id]);
                }
                Event::DatagramDropped { id, .. } => *fates.entry(*id).or_default() += 1,
                _ => {}
            }
        }
        assert_eq!(fates.len(), self.taken.len(), "every datagram ends in an event");
        assert!(fates.values().all(|count| *count == 1), "and in no more than one");
        sent
    }
}

fn check_ending(events: &[Event]) {
    let closed = events.iter().filter(|event| matches!(event, Event::Closed(_))).count();
    assert_eq!(closed, 1, "a connection ends once");
    assert_eq!(events.last(), Some(&Event::Drained), "and nothing follows");
    let connected = events.iter().filter(|event| matches!(event, Event::Connected { .. })).count();
    assert!(connected <= 1);
    let first_data = events.iter().position(|event| matches!(event, Event::Datagram { .. }));
    let connected = events.iter().position(|event| matches!(event, Event::Connected { .. }));
    assert!(first_data.is_none_or(|data| connected.is_some_and(|connected| connected < data)));
}

fn perform(pair: &mut Pair, ledgers: &mut [Ledger; 2], tag: &mut u64, step: Step) {
    let now = pair.now;
    let exists = |pair: &Pair, end| end == End::Client || pair.server.is_some();
    match step {
        Step::Wait(time) => pair.run_for(time),
        Step::Send { from, count, lifetime } if exists(pair, from) => {
            for _ in 0..count {
                *tag += 1;
                let mut new = datagram(*tag);
                new.deadline = lifetime.map(|lifetime| now + millis(lifetime.into()));
                if let Ok(id) = pair.end(from).send(now, new) {
                    ledgers[usize::from(from == End::Server)].taken.insert(id, *tag);
                }
            }
        }
        Step::Close(end) if exists(pair, end) => pair.end(end).close(now),
        Step::Abort(end) if exists(pair, end) => pair.end(end).abort(now),
        Step::Unreachable(end) if exists(pair, end) => pair.end(end).handle_unreachable(now),
        Step::Shrink(end, limit) if exists(pair, end) => pair.end(end).set_max_datagram(now, limit),
        Step::StopReceiving(end) if exists(pair, end) => pair.end(end).stop_receiving(now),
        Step::Slow(end, slow) if exists(pair, end) => pair.end(end).set_slow_receiver(slow),
        Step::Discard(end, age, code) if exists(pair, end) => {
            let sequence = pair.end(end).cx.sequence.numbers.gsr().sub(age.into());
            pair.end(end).datagram_discarded(sequence, DropCode::from_bits(code));
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn connections_come_to_an_end_and_deliver_only_what_was_sent_and_that_once(
        config in configs(),
        weather in weather(),
        delay in 0u64..200,
        steps in vec(step(), 1..60),
    ) {
        let mut pair = Pair::new(config);
        pair.delay = millis(delay);
        pair.script = Box::new(weather.script());
        let mut ledgers = [Ledger::default(), Ledger::default()];
        let mut tag = 0;
        pair.client.connect(pair.now);
        for step in steps {
            perform(&mut pair, &mut ledgers, &mut tag, step);
        }
        // In any state both can be closed, over the same path.
        pair.client.close(pair.now);
        let now = pair.now;
        if let Some(server) = &mut pair.server {
            server.close(now);
        }
        pair.drive_bounded();
        prop_assert_eq!(pair.client.state(), State::Closed);
        check_ending(&pair.client_events);
        let sent = [ledgers[0].settle(&pair.client_events), ledgers[1].settle(&pair.server_events)];
        if let Some(server) = &pair.server {
            prop_assert_eq!(server.state(), State::Closed);
            check_ending(&pair.server_events);
        }
        for (receiver, sent) in [(End::Server, &sent[0]), (End::Client, &sent[1])] {
            let mut received = pair.received(receiver);
            let count = received.len();
            received.sort_unstable();
            received.dedup();
            prop_assert_eq!(received.len(), count, "a datagram was delivered twice");
            prop_assert!(received.iter().all(|tag| sent.contains(tag)), "a datagram was never sent");
        }
    }

    #[test]
    fn on_a_kind_path_everything_that_is_sent_arrives_in_order(
        config in configs(),
        delay in 0u64..200,
        counts in vec((end(), 1u8..20, 0u64..300), 1..20),
    ) {
        let mut pair = Pair::new(config);
        pair.delay = millis(delay);
        pair.client.connect(pair.now);
        // The client is in OPEN, and everything is negotiated, after it has heard from the server.
        pair.run_for(Duration::from_secs(2));
        pair.send(End::Server, 0);
        pair.run_for(Duration::from_secs(2));
        pair.forget();
        let mut tag = 0;
        for (from, count, pause) in counts {
            for _ in 0..count {
                tag += 1;
                pair.send(from, tag);
            }
            pair.run_for(millis(pause));
        }
        pair.client.close(pair.now);
        pair.run_for(Duration::from_secs(600));
        let sent: Vec<u64> = (1..=tag).collect();
        let dropped = pair.client_events.iter().chain(&pair.server_events)
            .filter(|event| matches!(event, Event::DatagramDropped { .. })).count();
        let mut received = pair.received(End::Server);
        prop_assert!(received.is_sorted());
        prop_assert!(pair.received(End::Client).is_sorted());
        received.extend(pair.received(End::Client));
        received.sort_unstable();
        // The server's last datagrams may cross the client's Close, after which it sends nothing more.
        prop_assert!(received.len() + dropped + in_flight_at_close(&pair) >= sent.len());
        prop_assert!(received.iter().all(|tag| sent.contains(tag)));
    }
}

/// Datagrams that the server sent after the client's TIMEWAIT began or that met it.
fn in_flight_at_close(pair: &Pair) -> usize {
    let sent = pair.server_events.iter().filter(|event| matches!(event, Event::DatagramSent { .. })).count();
    sent - pair.received(End::Client).len()
}

fn bytes() -> impl Strategy<Value = OptionBytes> {
    vec(any::<u8>(), 0..12).prop_map(OptionBytes::from_vec)
}
fn elapsed() -> impl Strategy<Value = Elapsed> {
    prop_oneof![
        Just(Elapsed::Absent),
        any::<u16>().prop_map(Elapsed::Short),
        any::<u32>().prop_map(Elapsed::Long)
    ]
}
fn feature() -> impl Strategy<Value = FeatureOption> {
    use FeatureAction::{ChangeL, ChangeR, ConfirmL, ConfirmR};
    let action = prop_oneof![Just(ChangeL), Just(ChangeR), Just(ConfirmL), Just(ConfirmR)];
    let number = prop_oneof![0u8..12, Just(128), Just(192), any::<u8>()];
    let values = prop_oneof![bytes(), vec(0u8..4, 0..4).prop_map(OptionBytes::from_vec)];
    (action, number, values).prop_map(|(action, feature, values)| FeatureOption { action, feature, values })
}
fn option() -> impl Strategy<Value = DccpOption> {
    let kind = prop_oneof![Just(128u8), 192u8..196, 128u8..=255];
    let common = prop_oneof![
        Just(DccpOption::Padding),
        Just(DccpOption::Mandatory),
        Just(DccpOption::SlowReceiver),
        bytes().prop_map(DccpOption::InitCookie),
        any::<u64>().prop_map(|count| DccpOption::NdpCount(NdpCount::new(count))),
        bytes().prop_map(DccpOption::DataDropped),
        any::<u32>().prop_map(DccpOption::Timestamp),
        elapsed().prop_map(DccpOption::ElapsedTime),
        any::<u32>().prop_map(DccpOption::DataChecksum),
        bytes().prop_map(DccpOption::Malformed),
    ];
    prop_oneof![
        4 => common,
        2 => feature().prop_map(DccpOption::Feature),
        1 => (any::<bool>(), bytes()).prop_map(|(nonce, cells)| DccpOption::AckVector { nonce, cells }),
        1 => (any::<u32>(), elapsed())
            .prop_map(|(timestamp, elapsed)| DccpOption::TimestampEcho { timestamp, elapsed }),
        2 => (kind, bytes()).prop_map(|(kind, data)| DccpOption::CcidSpecific { kind, data }),
        1 => (3u8..128, bytes()).prop_map(|(kind, data)| DccpOption::Unknown { kind, data }),
    ]
}

/// A number relative to the numbers of the end under attack, so that it often is valid.
#[derive(Clone, Copy, Debug)]
enum Number {
    Near(i16),
    Next,
    Any(u64),
}

fn number() -> impl Strategy<Value = Number> {
    prop_oneof![
        4 => (-40i16..120).prop_map(Number::Near),
        4 => Just(Number::Next),
        1 => any::<u64>().prop_map(Number::Any),
    ]
}

impl Number {
    fn resolve(self, reference: SeqNo, next: u64) -> SeqNo {
        match self {
            Self::Near(offset) => SeqNo::new(reference.value().wrapping_add_signed(offset.into())),
            Self::Next => reference.add(next),
            Self::Any(value) => SeqNo::new(value),
        }
    }
}

/// A packet to throw at a connection.
#[derive(Clone, Debug)]
struct Missile {
    packet_type: u8,
    sequence: Number,
    ack: Number,
    code: u8,
    extended: bool,
    ccval: u8,
    options: Vec<DccpOption>,
    payload: usize,
    ecn: u8,
    pause: u64,
}

fn missile() -> impl Strategy<Value = Missile> {
    let header = (0u8..11, number(), number(), any::<u8>(), prop::bool::weighted(0.9), 0u8..16);
    let body = (vec(option(), 0..5), 0usize..2000, 0u8..4, 0u64..500);
    (header, body).prop_map(|(header, body)| {
        let (packet_type, sequence, ack, code, extended, ccval) = header;
        let (options, payload, ecn, pause) = body;
        Missile { packet_type, sequence, ack, code, extended, ccval, options, payload, ecn, pause }
    })
}

impl Missile {
    fn packet(&self, from: End, gsr: SeqNo, gss: SeqNo) -> (ReceiveMeta, Packet) {
        let ack = self.ack.resolve(gss, 0);
        let service_code = ServiceCode(42);
        let kind = match PacketType::from_number(self.packet_type).unwrap() {
            PacketType::Request => Kind::Request { service_code },
            PacketType::Response => Kind::Response { ack, service_code },
            PacketType::Data => Kind::Data,
            PacketType::Ack => Kind::Ack { ack },
            PacketType::DataAck => Kind::DataAck { ack },
            PacketType::CloseReq => Kind::CloseReq { ack },
            PacketType::Close => Kind::Close { ack },
            PacketType::Reset => {
                Kind::Reset { ack, reset: Reset::with_data(ResetCode::from(self.code), [self.code; 3]) }
            }
            PacketType::Sync => Kind::Sync { ack },
            PacketType::SyncAck => Kind::SyncAck { ack },
            PacketType::Listen => Kind::Listen { service_code },
        };
        let (source_port, destination_port) = if from == End::Client { (1111, 2222) } else { (2222, 1111) };
        let packet = Packet {
            source_port,
            destination_port,
            ccval: self.ccval,
            checksum_coverage: whimbrel_wire::ChecksumCoverage::ALL,
            extended: self.extended,
            sequence: self.sequence.resolve(gsr, 1),
            kind,
            options: Options::from_vec(self.options.clone()),
            payload: Payload::Bytes(Bytes::from(vec![0; self.payload])),
        };
        (ReceiveMeta { ecn: Ecn::from_bits(self.ecn), ..ReceiveMeta::default() }, packet)
    }
}

/// Progress of a connection before it is attacked.
fn prepared(config: Config, stage: u8) -> Pair {
    let mut pair = Pair::new(config);
    pair.client.connect(pair.now);
    let time = match stage {
        0 => millis(0),
        1 => millis(60),
        2 => millis(110),
        _ => millis(160),
    };
    pair.run_for(time);
    if stage >= 4 {
        pair.send(End::Server, 0);
        pair.run_for(millis(300));
    }
    if stage == 5 {
        pair.send(End::Client, 1);
        pair.send(End::Client, 2);
        pair.run_for(millis(60));
    }
    if stage == 6 {
        pair.client.close(pair.now);
        pair.drain();
    }
    if stage == 7 {
        let now = pair.now;
        pair.server_mut().close(now);
        pair.drain();
    }
    pair
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn no_packet_makes_a_connection_panic_or_spin(
        config in configs(),
        stage in 0u8..8,
        missiles in vec((end(), missile()), 1..25),
    ) {
        let mut pair = prepared(config, stage);
        for (at, missile) in missiles {
            if at == End::Server && pair.server.is_none() {
                continue;
            }
            let from = if at == End::Client { End::Server } else { End::Client };
            let numbers = &pair.end(at).cx.sequence.numbers;
            let (gsr, gss) = (numbers.gsr(), numbers.gss());
            let (meta, packet) = missile.packet(from, gsr, gss);
            pair.arrive(at, meta, packet);
            pair.run_for(millis(missile.pause));
            let now = pair.now;
            let _ = pair.end(at).send(now, datagram(9));
        }
        // The connection can still be brought to an end.
        pair.client.close(pair.now);
        let now = pair.now;
        if let Some(server) = &mut pair.server {
            server.close(now);
        }
        pair.drive_bounded();
        prop_assert_eq!(pair.client.state(), State::Closed);
        prop_assert_eq!(pair.client_events.last(), Some(&Event::Drained));
    }

    #[test]
    fn a_server_survives_any_request(missile in missile(), service_code in any::<u32>()) {
        let mut request = missile.packet(End::Client, SeqNo::ZERO, SeqNo::ZERO).1;
        request.kind = Kind::Request { service_code: ServiceCode(service_code) };
        request.extended = true;
        let mut pair = Pair::new(config(Ccid::TFRC));
        pair.inject(End::Server, request);
        pair.drain();
        prop_assert!(pair.sent.len() <= 1, "one answer at most: {:?}", pair.sent);
    }
}
