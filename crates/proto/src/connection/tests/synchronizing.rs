//! Sequence-invalid packets, Sync and SyncAck (RFC 4340, Section 7.5).

use whimbrel_units::Duration;
use whimbrel_wire::PacketType::{Data, Reset, Sync, SyncAck};
use whimbrel_wire::{DccpOption, Kind, Packet, PacketType, Payload, ResetCode, SeqNo, ServiceCode};

use super::pair::{End, Pair, Treatment, config};
use crate::config::{PathMtuDiscovery, Silence};
use crate::{Config, State};

fn free() -> Config {
    config(Duration::ZERO)
}

fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// The last numbers that the client has sent and the server has sent.
fn numbers(pair: &Pair) -> (SeqNo, SeqNo) {
    (pair.client.cx.sequence.numbers.gss(), pair.server().cx.sequence.numbers.gss())
}

fn forge_data(pair: &Pair, from: End, sequence: SeqNo, tag: u64) -> Packet {
    Packet { payload: Payload::Opaque { length: 10, tag }, ..pair.forge(from, Kind::Data, sequence) }
}

#[test]
fn a_large_burst_of_loss_is_survived() {
    // RFC 4340, Section 7.5.6, the first example, with 80 packets lost instead of 99.
    let mut pair = Pair::connected(free());
    pair.lose(|sent| sent.packet.packet_type() == Data);
    for tag in 0..80 {
        pair.send(End::Client, tag);
        pair.run_for(millis(10));
    }
    pair.deliver_all();
    pair.forget();
    let (gss, _) = numbers(&pair);
    pair.send(End::Client, 99);
    pair.run_for(millis(200));
    let log: Vec<_> = pair.sent.iter().map(|s| (s.from, s.packet.packet_type(), s.packet.ack())).collect();
    let sync = pair.sent[1].packet.sequence;
    assert_eq!(
        log[..3],
        [
            (End::Client, Data, None),
            (End::Server, Sync, Some(gss.next())),
            (End::Client, SyncAck, Some(sync)),
        ]
    );
    assert_eq!(pair.received(End::Server), [], "the packet that was out of sequence is not processed");
    pair.send(End::Client, 100);
    pair.run_for(millis(100));
    assert_eq!(pair.received(End::Server), [100]);
}

/// The answers to data and Syncs are lost until the peer has sent more than its Sequence Window: it ignores a
/// Sync with GSR from then on, and data is not sent beyond the window.
#[test]
fn the_loss_of_a_whole_window_of_answers_is_survived() {
    let asks_for_the_path = (Some(Silence::RoundTrips(4.0)), PathMtuDiscovery::Off);
    let probes_the_path_mtu = (None, PathMtuDiscovery::FromBase);
    for (silence, path_mtu) in [asks_for_the_path, probes_the_path_mtu] {
        let mut config = Config { sequence_window: 100, path_mtu, ..free() };
        config.freeze.silence = silence;
        let mut pair = Pair::connected(config);
        let stream = |pair: &mut Pair, seconds: u64| {
            for tag in 0..seconds * 10 {
                pair.send(End::Client, tag);
                pair.run_for(millis(100));
            }
        };
        stream(&mut pair, 20);
        pair.lose(|sent| sent.from == End::Server);
        stream(&mut pair, 300);
        pair.deliver_all();
        stream(&mut pair, 20);
        let before = pair.received(End::Server).len();
        stream(&mut pair, 10);
        let received = pair.received(End::Server).len() - before;
        assert!(received >= 90, "{silence:?} {path_mtu:?}: {received} of 100 datagrams");
    }
}

#[test]
fn a_peer_that_falls_silent_gets_few_packets() {
    let mut config = Config { path_mtu: PathMtuDiscovery::Off, ..free() };
    config.freeze.silence = Some(Silence::Time(millis(300)));
    let mut pair = Pair::connected(config);
    for tag in 0..20 {
        pair.send(End::Client, tag);
        pair.run_for(millis(100));
    }
    pair.lose(|sent| sent.from == End::Server);
    pair.forget();
    pair.send(End::Client, 20);
    pair.run_for(Duration::from_secs(100));
    let syncs = pair.sent_by(End::Client, Sync).len() as f64;
    // From 0.3 to 0.8 s one in 25 ms, then one in a 32nd of the silence: 4.83 is ln(100 s / 0.8 s).
    let expected = 40.0 * 0.5 + 32.0 * 4.83;
    assert!((0.9 * expected..=1.05 * expected).contains(&syncs), "{syncs} Syncs, {expected} expected");
    let acks = pair.sent_by(End::Client, PacketType::Ack).len();
    // Until the Syncs are a second apart, at 32 s, with the first one after each second: about 26. Then with
    // each of 32 ln(100 s / 32 s), or 36.
    assert!((58..=66).contains(&acks), "{acks} acknowledgements");
}

#[test]
fn a_blind_attack_disturbs_nothing() {
    // RFC 4340, Section 7.5.6, the second example.
    let mut pair = Pair::connected(free());
    let (gss, _) = numbers(&pair);
    let attack = forge_data(&pair, End::Client, gss.add(1_000_000), 666);
    pair.inject(End::Server, attack);
    pair.run_for(millis(200));
    assert_eq!(
        pair.types(),
        [(End::Server, Sync)],
        "the client ignores a Sync that names what it never sent"
    );
    assert_eq!(pair.sent[0].packet.ack(), Some(gss.add(1_000_000)));
    pair.send(End::Client, 1);
    pair.run_for(millis(100));
    assert_eq!(pair.received(End::Server), [1]);
}

#[test]
fn the_edges_of_the_sequence_window_are_where_the_rfc_puts_them() {
    // A window of 100: GSR - 24 to GSR + 75. Numbers below count as old here, not as out of sequence.
    for (offset, valid) in [(75, true), (76, false)] {
        let mut pair = Pair::connected(free());
        let (gss, _) = numbers(&pair);
        let data = forge_data(&pair, End::Client, gss.add(offset), 1);
        pair.inject(End::Server, data);
        pair.drain();
        assert_eq!(pair.received(End::Server).len(), usize::from(valid), "GSR + {offset}");
        assert_eq!(pair.sent_by(End::Server, Sync).len(), usize::from(!valid), "GSR + {offset}");
    }
    for (offset, valid) in [(24, true), (25, false)] {
        let mut pair = Pair::connected(free());
        let (gss, _) = numbers(&pair);
        // Moves GSR on, so that there are numbers below it which have not come.
        let data = forge_data(&pair, End::Client, gss.add(50), 1);
        pair.inject(End::Server, data);
        let data = forge_data(&pair, End::Client, gss.add(50 - offset), 2);
        pair.inject(End::Server, data);
        pair.drain();
        assert_eq!(pair.received(End::Server).contains(&2), valid, "GSR - {offset}");
        assert_eq!(pair.sent_by(End::Server, Sync).len(), usize::from(!valid), "GSR - {offset}");
    }
}

#[test]
fn the_edges_of_the_acknowledgement_window_are_where_the_rfc_puts_them() {
    let mut pair = Pair::connected(free());
    let (gss, server_gss) = numbers(&pair);
    let cases = [
        (server_gss, true),
        (server_gss.next(), false),
        (SeqNo::new(2_000_000), true),
        (SeqNo::new(1_999_999), false),
    ];
    for (index, (ack, valid)) in cases.into_iter().enumerate() {
        pair.run_for(Duration::from_secs(1));
        pair.forget();
        let packet = pair.forge(End::Client, Kind::Ack { ack }, gss.add(1 + index as u64));
        pair.inject(End::Server, packet);
        pair.drain();
        assert_eq!(pair.sent_by(End::Server, Sync).len(), usize::from(!valid), "ack {ack}");
    }
}

#[test]
fn a_sequence_invalid_reset_elicits_a_sync_that_acknowledges_gsr() {
    let mut pair = Pair::connected(free());
    let (gss, server_gss) = numbers(&pair);
    let reset = whimbrel_wire::Reset::new(ResetCode::NoConnection);
    // Its number is not later than GSR: a peer without the connection has guessed it.
    let reset = pair.forge(End::Client, Kind::Reset { ack: server_gss, reset }, SeqNo::ZERO);
    pair.inject(End::Server, reset);
    pair.drain();
    assert_eq!(pair.types(), [(End::Server, Sync)]);
    assert_eq!(pair.sent[0].packet.ack(), Some(gss));
    assert_eq!(pair.server().state(), State::Open);
}

#[test]
fn an_invalid_sync_is_ignored_whatever_is_wrong_with_it() {
    let mut pair = Pair::connected(free());
    let (gss, server_gss) = numbers(&pair);
    for (sequence, ack) in [(gss.next(), server_gss.next()), (gss.sub(100), server_gss)] {
        for kind in [Kind::Sync { ack }, Kind::SyncAck { ack }] {
            let sync = pair.forge(End::Client, kind, sequence);
            pair.inject(End::Server, sync);
        }
    }
    pair.drain();
    assert!(pair.sent.is_empty());
}

#[test]
fn a_sync_far_ahead_counts_only_after_three_round_trip_times_of_silence() {
    let far = 1_000_000;
    let mut pair = Pair::connected(free());
    let (gss, server_gss) = numbers(&pair);
    let ack = pair.forge(End::Client, Kind::Ack { ack: server_gss }, gss.next());
    pair.inject(End::Server, ack);
    let rtt = pair.server().snapshot().rtt.unwrap();
    pair.run_for(rtt * 3);
    let sync = pair.forge(End::Client, Kind::Sync { ack: server_gss }, gss.add(far));
    pair.inject(End::Server, sync.clone());
    pair.drain();
    assert!(pair.sent.is_empty(), "the connection is active");
    pair.run_for(Duration::from_nanos(1));
    pair.inject(End::Server, sync);
    pair.drain();
    assert_eq!(pair.types(), [(End::Server, SyncAck)]);
    assert_eq!(pair.server().cx.sequence.numbers.gsr(), gss.add(far));
}

#[test]
fn a_syncack_names_its_sync_even_if_later_packets_have_come() {
    let mut pair = Pair::connected(free());
    let (gss, server_gss) = numbers(&pair);
    let data = forge_data(&pair, End::Client, gss.add(9), 1);
    pair.inject(End::Server, data);
    for step in [5, 7] {
        let sync = pair.forge(End::Client, Kind::Sync { ack: server_gss }, gss.add(step));
        pair.inject(End::Server, sync);
    }
    pair.drain();
    let acks: Vec<_> =
        pair.sent_by(End::Server, SyncAck).iter().map(|sent| sent.packet.ack().unwrap()).collect();
    assert_eq!(acks, [gss.add(5), gss.add(7)], "each has its own");
    assert_eq!(pair.server().cx.sequence.numbers.gsr(), gss.add(9));
}

#[test]
fn syncs_are_limited_to_eight_per_second() {
    let mut pair = Pair::connected(free());
    let (gss, _) = numbers(&pair);
    let start = pair.now;
    // The client would answer and resynchronize.
    pair.lose(|_| true);
    while pair.now < start + Duration::from_secs(10) {
        let attack = forge_data(&pair, End::Client, gss.add(1_000_000), 666);
        pair.inject(End::Server, attack);
        pair.run_for(millis(2));
    }
    let syncs = pair.sent_by(End::Server, Sync);
    assert_eq!(pair.server().snapshot().statistics.syncs_sent, syncs.len() as u64);
    assert!(syncs.len() > 50, "but there are some: {}", syncs.len());
    for (index, first) in syncs.iter().enumerate() {
        let within = syncs[index..].iter().filter(|sync| sync.at < first.at + Duration::from_secs(1));
        assert!(within.count() <= 8);
    }
}

#[test]
fn packets_that_make_no_sense_at_this_end_elicit_a_sync() {
    let service_code = ServiceCode(42);
    let cases = [
        (End::Server, PacketType::CloseReq),
        (End::Server, PacketType::Response),
        (End::Server, PacketType::Request),
        (End::Client, PacketType::Request),
    ];
    for (to, packet_type) in cases {
        let mut pair = Pair::connected(free());
        let (client, server) = numbers(&pair);
        let (from, sequence, ack) = match to {
            End::Server => (End::Client, client.next(), server),
            End::Client => (End::Server, server.next(), client),
        };
        let kind = match packet_type {
            PacketType::CloseReq => Kind::CloseReq { ack },
            PacketType::Response => Kind::Response { ack, service_code },
            _ => Kind::Request { service_code },
        };
        let packet = pair.forge(from, kind, sequence);
        pair.inject(to, packet);
        pair.drain();
        assert_eq!(pair.types(), [(to, Sync)], "{kind:?}");
        assert_eq!(pair.sent[0].packet.ack(), Some(sequence));
        assert_eq!(pair.end(to).state(), State::Open);
    }
}

#[test]
fn an_old_request_that_the_network_kept_back_is_not_out_of_place() {
    // RFC 4340, Section 8.5, Step 7: only what is not older than OSR.
    let mut pair = Pair::new(free());
    pair.lose(|sent| sent.packet.sequence == SeqNo::new(1_000_000));
    pair.client.connect(pair.now);
    pair.run_for(Duration::from_secs(2));
    assert_eq!(pair.server().state(), State::Open);
    pair.forget();
    let request =
        pair.forge(End::Client, Kind::Request { service_code: ServiceCode(42) }, SeqNo::new(1_000_001));
    pair.inject(End::Server, request);
    pair.drain();
    assert!(pair.sent.is_empty());
    assert_eq!(pair.server().state(), State::Open);
}

#[test]
fn data_in_respond_elicit_a_sync() {
    let mut pair = Pair::new(free());
    pair.lose(|sent| sent.from == End::Client && sent.packet.sequence != SeqNo::new(1_000_000));
    pair.client.connect(pair.now);
    pair.run_for(millis(60));
    let data = forge_data(&pair, End::Client, SeqNo::new(1_000_001), 1);
    pair.inject(End::Server, data);
    pair.drain();
    assert_eq!(pair.types().last(), Some(&(End::Server, Sync)));
    assert_eq!(pair.server().state(), State::Respond);
    assert_eq!(pair.received(End::Server), []);
}

#[test]
fn a_second_copy_is_neither_delivered_nor_acknowledged_again() {
    let mut pair = Pair::connected(free());
    pair.script = Box::new(|_| super::pair::Treatment::Duplicate(millis(7)));
    for tag in 0..10 {
        pair.send(End::Client, tag);
        pair.run_for(millis(3));
    }
    pair.run_for(millis(300));
    assert_eq!(pair.received(End::Server), (0..10).collect::<Vec<_>>());
    assert_eq!(pair.server().snapshot().receiver.lost, 10, "the congestion control counts each once");
    assert_eq!(pair.sent_by(End::Server, Sync).len(), 0);
}

#[test]
fn a_reset_with_a_stale_number_does_no_harm() {
    let mut pair = Pair::connected(free());
    let (gss, server_gss) = numbers(&pair);
    let reset = whimbrel_wire::Reset::new(ResetCode::Aborted);
    for (sequence, ack) in [(gss, server_gss), (gss.next(), server_gss.next()), (gss.add(76), server_gss)] {
        let reset = pair.forge(End::Client, Kind::Reset { ack, reset }, sequence);
        pair.inject(End::Server, reset);
        assert_eq!(pair.server().state(), State::Open);
    }
    let reset = pair.forge(End::Client, Kind::Reset { ack: server_gss, reset }, gss.next());
    pair.inject(End::Server, reset);
    assert_eq!(pair.server().state(), State::TimeWait);
    pair.drain();
    assert_eq!(pair.sent_by(End::Server, Reset).len(), 0);
}

#[test]
fn packets_between_other_ports_are_ignored() {
    let mut pair = Pair::connected(free());
    let (gss, _) = numbers(&pair);
    let mut data = forge_data(&pair, End::Client, gss.next(), 1);
    data.source_port = 3333;
    pair.inject(End::Server, data);
    pair.drain();
    assert!(pair.sent.is_empty() && pair.received(End::Server).is_empty());
    assert_eq!(pair.server().snapshot().statistics.packets_ignored, 1);
}

/// RFC 4340, Section 7.4: a packet that is not allowed at this end is not acknowledgeable, and Section 11.5:
/// Ack Vectors go with every acknowledgement.
#[test]
fn a_packet_that_was_not_processed_is_not_acknowledged() {
    let control = super::fixed_rate::FixedRate {
        needs_ack_vector: true,
        ..super::fixed_rate::FixedRate::every(Duration::ZERO)
    };
    let ccids = crate::ccid::Registry::empty().with(control);
    let mut pair = Pair::connected(Config { ccids, ..config(Duration::ZERO) });
    pair.send(End::Client, 1);
    pair.run_for(Duration::from_millis(500));
    pair.send(End::Client, 2);
    pair.drain();
    let data = pair.last_sequence(End::Client);
    pair.run_for(Duration::from_millis(60));
    // A server takes no CloseReq: step 7 ends it, though its number is valid and newer.
    let ack = pair.last_sequence(End::Server);
    let forbidden = pair.forge(End::Client, Kind::CloseReq { ack }, data.next());
    pair.forget();
    pair.inject(End::Server, forbidden);
    pair.server_mut().fx.outbound.request_ack();
    pair.drain();
    let sent = pair.sent_by(End::Server, PacketType::Ack);
    let [sent] = sent[..] else { panic!("{:?}", pair.types()) };
    assert_eq!(sent.packet.ack(), Some(data));
    assert!(sent.packet.options.iter().any(|option| matches!(option, DccpOption::AckVector { .. })));
}

#[test]
fn the_window_grows_until_it_holds_the_packets_that_others_overtake() {
    let interval = Duration::from_micros(500);
    let mut config = config(interval);
    config.send_queue.max_datagrams = 1_000;
    let mut pair = Pair::new(config);
    pair.delay = millis(5);
    pair.client.connect(pair.now);
    pair.run_for(millis(50));
    pair.send(End::Server, 0);
    pair.run_for(millis(50));
    // One packet in 20 overtakes 120 others, and the round-trip time is the fast packets'.
    pair.script = Box::new(|sent| match sent.packet.packet_type() {
        Data if sent.packet.sequence.value() % 20 > 0 => Treatment::Delay(millis(60)),
        _ => Treatment::Deliver,
    });
    for tag in 0..4_000 {
        pair.send(End::Client, tag);
        pair.run_for(interval);
    }
    pair.run_for(millis(100));
    let window = pair.client.cx.sequence.numbers.local_window();
    assert!((480..=2_800).contains(&window), "{window}");
    let late = pair.received(End::Server).iter().filter(|tag| **tag >= 1_000).count();
    assert_eq!(late, 3_000, "with a window of {window}");
    let syncs = pair.sent_by(End::Server, Sync).len();
    assert!(syncs < 8, "{syncs}: all were refused before the window grew");
}
