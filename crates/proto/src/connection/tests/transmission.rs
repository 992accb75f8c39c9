//! Data and feedback in OPEN (RFC 4340, Section 8.2).

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::PacketType::{Ack, Data, DataAck};
use whimbrel_wire::{DccpOption, Ecn, Payload, SeqNo};

use super::fixed_rate::{FIXED_RATE, FixedRate};
use super::pair::{End, Pair, SentPacket, Treatment, config, datagram};
use crate::ccid::Registry;
use crate::{Config, Datagram, DropReason, Event, SendError};

fn free() -> Config {
    config(Duration::ZERO)
}
fn millis(n: u64) -> Duration {
    Duration::from_millis(n)
}
/// A configuration with congestion control that cannot work without Ack Vectors.
fn with_ack_vectors(interval: Duration) -> Config {
    let control = FixedRate { needs_ack_vector: true, ..FixedRate::every(interval) };
    Config { ccids: Registry::empty().with(control), ..config(interval) }
}
fn ndp_count(sent: &SentPacket) -> Option<u64> {
    sent.packet.options.iter().find_map(|option| match option {
        DccpOption::NdpCount(count) => Some(count.count()),
        _ => None,
    })
}

#[test]
fn data_leave_when_congestion_control_permits() {
    let mut pair = Pair::connected(config(millis(20)));
    let start = pair.now;
    for tag in 1..=4 {
        pair.send(End::Client, tag);
    }
    pair.drain();
    assert_eq!(pair.client.poll_timeout(), Some(start + millis(20)), "pacing is a reason to wake up");
    pair.run_for(millis(200));
    let times: Vec<_> =
        pair.sent_by(End::Client, Data).iter().map(|sent| (sent.at - start).as_millis()).collect();
    assert_eq!(times, [0, 20, 40, 60]);
    assert_eq!(pair.received(End::Server), [1, 2, 3, 4]);
    assert!(pair.sent.iter().all(|sent| sent.packet.ccval == 5), "what the HC-sender puts there");
    let statistics = pair.client.snapshot().statistics;
    assert_eq!((statistics.datagrams_sent, statistics.bytes_sent), (4, 400));
    let statistics = pair.server().snapshot().statistics;
    assert_eq!((statistics.datagrams_received, statistics.bytes_received), (4, 400));
}

#[test]
fn every_datagram_taken_is_reported_sent_with_its_sequence_number() {
    let mut pair = Pair::connected(free());
    let ids: Vec<_> = (1..=3).map(|tag| pair.send(End::Client, tag)).collect();
    pair.drain();
    let expected: Vec<_> = pair
        .sent
        .iter()
        .zip(ids)
        .map(|(sent, id)| Event::DatagramSent { id, sequence: sent.packet.sequence })
        .collect();
    assert_eq!(pair.client_events, expected);
}

#[test]
fn feedback_goes_out_when_it_is_due_and_names_the_greatest_received() {
    let mut pair = Pair::connected(free());
    pair.send(End::Client, 1);
    pair.send(End::Client, 2);
    pair.send(End::Client, 3);
    pair.run_for(millis(55));
    let acks = pair.sent_by(End::Server, Ack);
    assert_eq!(acks.len(), 1, "two packets have been received, the third waits for another");
    assert_eq!(acks[0].packet.ack(), Some(pair.sent[1].packet.sequence));
    pair.run_for(millis(200));
    let acks = pair.sent_by(End::Server, Ack);
    assert_eq!(acks.len(), 2);
    assert_eq!(acks[1].at - pair.sent[2].at, millis(150), "but no longer than 100 ms");
}

#[test]
fn feedback_rides_on_data_if_they_may_go() {
    let mut pair = Pair::connected(free());
    pair.send(End::Client, 1);
    pair.send(End::Client, 2);
    pair.drain();
    // The acknowledgements arrive just when the server's application has a datagram.
    for sent in pair.sent.clone() {
        pair.inject(End::Server, sent.packet);
    }
    pair.send(End::Server, 3);
    pair.drain();
    let sent = pair.sent.last().unwrap();
    assert_eq!(sent.packet.packet_type(), DataAck);
    assert_eq!(sent.packet.payload, datagram(3).payload);
    assert!(
        sent.packet.options.iter().any(|option| matches!(option, DccpOption::CcidSpecific { kind: 200, .. }))
    );
}

#[test]
fn an_acknowledgement_too_long_for_the_packet_goes_alone() {
    let mut pair = Pair::connected(with_ack_vectors(Duration::ZERO));
    // Every other packet is lost, so the vectors grow.
    let mut count = 0;
    pair.lose(move |sent| {
        count += u32::from(sent.from == End::Client);
        sent.from == End::Client && count % 2 == 0
    });
    for tag in 0..60 {
        pair.send(End::Client, tag);
        pair.run_for(millis(1));
    }
    pair.run_for(millis(60));
    pair.forget();
    // The server has a datagram of the greatest size, and feedback due.
    pair.deliver_all();
    let now = pair.now;
    let large = Payload::Opaque { length: 1400, tag: 7 };
    pair.send(End::Client, 100);
    pair.send(End::Client, 101);
    pair.drain();
    for sent in pair.sent.clone() {
        pair.inject(End::Server, sent.packet);
    }
    pair.forget();
    pair.server_mut().send(now, Datagram::new(large.clone())).unwrap();
    pair.drain();
    // The control wants its acknowledgements acknowledged, which the first packet has done: no
    // acknowledgement goes without its vectors (RFC 4340, Section 11.5).
    assert_eq!(pair.types(), [(End::Server, Ack), (End::Server, Data)]);
    let has_vector = |sent: &SentPacket| {
        sent.packet.options.iter().any(|option| matches!(option, DccpOption::AckVector { .. }))
    };
    assert_eq!((has_vector(&pair.sent[0]), has_vector(&pair.sent[1])), (true, false));
    assert_eq!(pair.sent[1].packet.payload, large);
}

#[test]
fn data_are_ect0_and_nothing_else_is() {
    let mut pair = Pair::connected(free());
    pair.send(End::Client, 1);
    pair.send(End::Client, 2);
    pair.run_for(millis(300));
    pair.client.close(pair.now);
    pair.run_for(millis(300));
    for sent in &pair.sent {
        let is_data = matches!(sent.packet.packet_type(), Data | DataAck);
        assert_eq!(
            sent.ecn,
            if is_data { Ecn::Ect0 } else { Ecn::NotEct },
            "{:?}",
            sent.packet.packet_type()
        );
    }
    assert_eq!(pair.sent_by(End::Client, Data).len(), 2);
}

#[test]
fn marks_reach_the_congestion_control_and_the_application() {
    let mut pair = Pair::connected(free());
    pair.script = Box::new(|_| Treatment::Mark);
    pair.send(End::Client, 1);
    pair.run_for(millis(100));
    assert_eq!(pair.server().snapshot().receiver.marked, 1);
    assert!(matches!(pair.server_events[0], Event::Datagram { ecn: Ecn::Ce, .. }));
}

#[test]
fn a_peer_that_cannot_read_marks_gets_packets_that_cannot_be_marked() {
    let incapable = Config { ecn: false, ..free() };
    let mut pair = Pair::connected_with(free(), incapable);
    pair.send(End::Client, 1);
    pair.send(End::Server, 2);
    pair.run_for(millis(300));
    assert!(pair.sent.iter().all(|sent| sent.ecn == Ecn::NotEct), "nor does it send such itself");
    assert_eq!((pair.received(End::Server), pair.received(End::Client)), (vec![1], vec![2]));
}

#[test]
fn an_end_without_ecn_takes_no_data_before_the_other_end_knows() {
    // RFC 4340, Section 12.1. The client's confirmation is lost, the data behind it are not.
    let incapable = Config { ecn: false, ..free() };
    let mut pair = Pair::with(free(), incapable);
    pair.client.connect(pair.now);
    pair.run_for(millis(90));
    pair.lose(|sent| sent.from == End::Client);
    pair.run_for(millis(15));
    pair.deliver_all();
    pair.forget();
    let sequence = pair.client.cx.sequence.numbers.gss().next();
    let ack = pair.client.cx.sequence.numbers.gsr();
    let mut data = pair.forge(End::Client, whimbrel_wire::Kind::DataAck { ack }, sequence);
    data.payload = Payload::Opaque { length: 5, tag: 5 };
    pair.inject(End::Server, data);
    pair.drain();
    assert_eq!(pair.received(End::Server), [], "the Confirm is missing");
}

#[test]
fn an_empty_datagram_is_a_datagram() {
    let mut pair = Pair::connected(free());
    pair.client.send(pair.now, Datagram::new(Payload::EMPTY)).unwrap();
    pair.run_for(millis(60));
    assert!(matches!(&pair.server_events[..], [Event::Datagram { payload, .. }] if payload.is_empty()));
}

#[test]
fn a_datagram_may_be_as_large_as_the_limit_and_no_larger() {
    let mut pair = Pair::connected(Config { max_datagram: 500, ..free() });
    let sized = |length| Datagram::new(Payload::Opaque { length, tag: 1 });
    assert!(pair.client.send(pair.now, sized(500)).is_ok());
    assert_eq!(pair.client.send(pair.now, sized(501)), Err(SendError::TooLarge { size: 501, limit: 500 }));
    pair.client.set_max_datagram(pair.now, 300);
    pair.drain();
    assert!(matches!(pair.client_events[..], [Event::DatagramDropped { reason: DropReason::TooLarge, .. }]));
    assert_eq!(pair.client.snapshot().max_datagram, 300);
    assert_eq!(pair.client.send(pair.now, sized(301)), Err(SendError::TooLarge { size: 301, limit: 300 }));
    pair.client.set_max_datagram(pair.now, 9000);
    assert_eq!(pair.client.snapshot().max_datagram, 500, "the configuration is the upper limit");
}

#[test]
fn a_datagram_whose_time_has_passed_is_dropped_when_it_passes() {
    let mut pair = Pair::connected(config(millis(100)));
    let start = pair.now;
    pair.send(End::Client, 1);
    let id = pair.client.send(start, datagram(2).with_deadline(start + millis(60))).unwrap();
    pair.send(End::Client, 3);
    pair.drain();
    assert_eq!(pair.client.poll_timeout(), Some(start + millis(60)));
    pair.run_for(millis(60));
    assert!(pair.client_events.contains(&Event::DatagramDropped { id, reason: DropReason::Expired }));
    pair.run_for(millis(200));
    assert_eq!(pair.received(End::Server), [1, 3]);
    assert_eq!(pair.client.snapshot().statistics.datagrams_dropped, 1);
}

#[test]
fn packets_after_packets_without_data_count_those() {
    // The congestion control finds losses at the receiver, so each end asks the other to count.
    let mut pair = Pair::connected(free());
    for tag in 0..4 {
        pair.send(End::Client, tag);
        pair.send(End::Server, tag);
        pair.run_for(millis(150));
    }
    let mut run = [0, 0];
    for sent in &pair.sent {
        let run = &mut run[usize::from(sent.from == End::Server)];
        if *run > 0 {
            assert_eq!(ndp_count(sent), Some(*run), "{:?}", sent.packet);
        } else if sent.at > pair.sent[0].at {
            assert_eq!(ndp_count(sent), None, "{:?}", sent.packet);
        }
        *run = if matches!(sent.packet.packet_type(), Data | DataAck) { 0 } else { *run + 1 };
    }
    assert!(pair.sent.iter().any(|sent| ndp_count(sent).is_some()));
}

#[test]
fn ack_vectors_report_each_packet_once() {
    let mut pair = Pair::connected(with_ack_vectors(Duration::ZERO));
    let mut count = 0;
    pair.lose(move |sent| {
        count += u32::from(sent.from == End::Client);
        sent.from == End::Client && count == 3
    });
    for tag in 0..8 {
        pair.send(End::Client, tag);
        pair.run_for(millis(10));
    }
    pair.run_for(millis(300));
    // The sender of the test's congestion control counts the packets reported to it: all but the lost one.
    let sent = pair.client.snapshot().statistics.packets_sent;
    assert_eq!(pair.client.snapshot().sender.lost, sent - 1);
}

#[test]
fn ack_vectors_stay_short_because_acknowledgements_are_acknowledged() {
    let mut pair = Pair::connected(with_ack_vectors(Duration::ZERO));
    let mut count = 0;
    // Every fourth data packet is lost: each loss takes cells until its report is known to have arrived.
    pair.lose(move |sent| {
        count += u32::from(sent.from == End::Client);
        sent.from == End::Client && count % 4 == 0
    });
    for tag in 0..400 {
        pair.send(End::Client, tag);
        pair.run_for(millis(10));
    }
    let longest = pair
        .sent_by(End::Server, Ack)
        .iter()
        .flat_map(|sent| &sent.packet.options)
        .filter_map(|option| match option {
            DccpOption::AckVector { cells, .. } => Some(cells.len()),
            _ => None,
        })
        .max();
    assert!(longest.is_some_and(|longest| longest < 60), "{longest:?} cells after 400 packets");
    assert!(pair.sent_by(End::Client, DataAck).len() > 300, "its sender asks for them");
}

#[test]
fn short_sequence_numbers_are_used_where_both_ends_agree() {
    let short = Config { short_sequence_numbers: true, ..free() };
    let mut pair = Pair::connected(short);
    for tag in 0..6 {
        pair.send(End::Client, tag);
        pair.run_for(millis(10));
    }
    pair.run_for(millis(200));
    assert_eq!(pair.received(End::Server), [0, 1, 2, 3, 4, 5]);
    pair.client.close(pair.now);
    pair.run_for(millis(200));
    for sent in &pair.sent {
        let may_be_short = matches!(sent.packet.packet_type(), Data | DataAck | Ack);
        assert_eq!(sent.packet.extended, !may_be_short);
        assert!(sent.packet.extended || sent.packet.sequence.value() < 1 << 24);
    }
}

#[test]
fn short_sequence_numbers_survive_their_wrapping() {
    let short = Config { short_sequence_numbers: true, ..free() };
    let mut pair = Pair::with(short.clone(), short.clone());
    pair.client = crate::Connection::client(pair.now, short, 1111, 2222, (77 << 24) - 20).unwrap();
    pair.client.connect(pair.now);
    for tag in 0..50 {
        pair.run_for(millis(20));
        pair.send(End::Client, tag);
    }
    pair.run_for(millis(200));
    assert_eq!(pair.received(End::Server), (0..50).collect::<Vec<_>>());
    assert_eq!(pair.client.cx.sequence.numbers.gss().value() >> 24, 77);
    assert_eq!(pair.sent_by(End::Server, whimbrel_wire::PacketType::Sync).len(), 0);
}

#[test]
fn packets_with_short_numbers_are_ignored_where_they_were_not_agreed_on() {
    let mut pair = Pair::connected(free());
    let sequence = SeqNo::new(pair.client.cx.sequence.numbers.gss().next().low24().into());
    let mut data = pair.forge(End::Client, whimbrel_wire::Kind::Data, sequence);
    data.extended = false;
    pair.inject(End::Server, data);
    pair.drain();
    assert!(pair.sent.is_empty() && pair.received(End::Server).is_empty());
}

#[test]
fn the_other_types_never_have_short_numbers() {
    let mut pair = Pair::connected(Config { short_sequence_numbers: true, ..free() });
    let (sequence, ack) =
        (pair.client.cx.sequence.numbers.gss().next(), pair.client.cx.sequence.numbers.gsr());
    for kind in [whimbrel_wire::Kind::Close { ack }, whimbrel_wire::Kind::Sync { ack }] {
        let mut packet = pair.forge(End::Client, kind, sequence);
        packet.extended = false;
        pair.inject(End::Server, packet);
    }
    pair.drain();
    assert!(pair.sent.is_empty());
    assert_eq!(pair.server().state(), crate::State::Open);
}

#[test]
fn an_end_that_only_receives_keeps_measuring_the_round_trip_time() {
    let mut pair = Pair::connected(config(millis(10)));
    let before = pair.server().snapshot().rtt.unwrap();
    assert_eq!(before, millis(100));
    pair.delay = millis(150);
    for tag in 0..2000 {
        pair.send(End::Client, tag);
        pair.run_for(millis(20));
    }
    let after = pair.server().snapshot().rtt.unwrap();
    // The data that carry the echoes leave up to 20 ms after the Timestamp came, and say so.
    assert!((millis(290)..millis(302)).contains(&after), "{after:?}");
    let has = |sent: &&SentPacket, find: fn(&DccpOption) -> bool| sent.packet.options.iter().any(find);
    let stamps =
        pair.sent.iter().filter(|sent| has(sent, |option| matches!(option, DccpOption::Timestamp(_))));
    let stamps: Vec<_> = stamps.map(|sent| (sent.from, sent.at)).collect();
    assert!(stamps.iter().all(|(from, _)| *from == End::Server), "the sender has its own ways");
    // The next one leaves four round-trip times after the echo of the last.
    assert!((25..30).contains(&stamps.len()), "{} in 40 s, one in five round-trip times", stamps.len());
}

#[test]
fn a_sender_that_speeds_up_asks_for_a_larger_sequence_window() {
    let mut config = config(Duration::from_micros(200));
    config.send_queue.max_datagrams = 1_000;
    let mut pair = Pair::connected(config);
    assert_eq!(
        pair.server().cx.sequence.numbers.swh().distance_from(pair.server().cx.sequence.numbers.gsr()),
        75
    );
    // 500 packets in a round-trip time.
    for tag in 0..5_000 {
        pair.send(End::Client, tag);
        pair.run_for(Duration::from_micros(200));
    }
    pair.run_for(millis(200));
    let window = pair.client.cx.sequence.numbers.local_window();
    assert!((2_500..=10_000).contains(&window), "{window}");
    let above =
        pair.server().cx.sequence.numbers.swh().distance_from(pair.server().cx.sequence.numbers.gsr());
    assert_eq!(above as u64, window - window / 4, "the other end knows");
    assert_eq!(pair.sent_by(End::Server, whimbrel_wire::PacketType::Sync).len(), 0);
    assert_eq!(pair.received(End::Server).len(), 5_000);
    let changes =
        pair.client_events.iter().filter(|event| matches!(event, Event::FeatureChanged { .. })).count();
    assert!(changes < 8, "{changes} changes");
}

#[test]
fn no_more_than_a_sequence_window_is_under_way() {
    // Nothing comes back, so nothing says that the window may grow or that data may go on.
    let mut pair = Pair::connected(free());
    pair.lose(|_| true);
    for tag in 0..200 {
        pair.send(End::Client, tag);
        pair.drain();
    }
    assert_eq!(pair.sent.len(), 88, "an eighth of 100 is left for packets without data");
    let data = pair.client.snapshot().statistics.datagrams_sent;
    assert_eq!(data, 87, "one asks for a larger window");
    // The acknowledgements may have been lost, so a Sync asks for one, less and less often.
    let start = pair.now;
    pair.run_for(millis(2_900));
    let syncs = pair.sent_by(End::Client, whimbrel_wire::PacketType::Sync);
    let times: Vec<_> = syncs.iter().map(|sent| (sent.at - start).as_millis()).collect();
    assert_eq!(times, [200, 600, 1400]);
    pair.deliver_all();
    pair.run_for(Duration::from_secs(4));
    assert_eq!(pair.received(End::Server).len(), 64, "those in the queue");
    assert_eq!(pair.client.snapshot().queued_datagrams, 0);
}

#[test]
fn acknowledgements_alone_do_not_fill_the_window() {
    // The client's Data never acknowledge the server's Acks, so the server's numbers run away from
    // what it knows to have arrived. Its rare data must not suffer.
    let mut pair = Pair::connected(config(millis(5)));
    for tag in 0..600 {
        pair.send(End::Client, tag);
        pair.run_for(millis(5));
    }
    pair.forget();
    for tag in 0..3 {
        pair.send(End::Server, tag);
        pair.run_for(millis(6));
    }
    assert_eq!(pair.sent_by(End::Server, Data).len() + pair.sent_by(End::Server, DataAck).len(), 3);
}

#[test]
fn a_feature_requested_by_congestion_control_is_negotiated() {
    let control = FixedRate { ack_ratio: Some(7), ..FixedRate::every(Duration::ZERO) };
    let config = Config { ccids: Registry::empty().with(control), ..free() };
    let mut pair = Pair::connected_with(config, free());
    pair.send(End::Client, 1);
    pair.send(End::Client, 2);
    pair.run_for(Duration::from_secs(2));
    assert_eq!(
        pair.client.snapshot().sender.ack_ratio,
        Some(7),
        "the sender is notified when it is in force"
    );
    let ratio = whimbrel_wire::option::FeatureNumber::AckRatio;
    assert_eq!(pair.server().cx.features.negotiation.value(ratio, crate::feature::Location::Remote), 7);
}

#[test]
fn a_half_connection_can_change_its_congestion_control() {
    let other = FixedRate { ccid: crate::Ccid(250), ..FixedRate::every(millis(40)) };
    let both = Config {
        ccids: Registry::empty().with(FixedRate::every(Duration::ZERO)).with(other),
        sender_ccids: [FIXED_RATE, other.ccid].into(),
        receiver_ccids: [FIXED_RATE, other.ccid].into(),
        ..free()
    };
    let mut pair = Pair::connected(both);
    let feature = whimbrel_wire::option::FeatureNumber::Ccid;
    let location = crate::feature::Location::Local;
    pair.client.cx.features.negotiation.request_change(feature, location, &[250], true).unwrap();
    pair.run_for(Duration::from_secs(1));
    assert_eq!(pair.client.snapshot().sender_ccid, other.ccid);
    assert_eq!(pair.server().snapshot().receiver_ccid, other.ccid);
    assert_eq!(pair.server().snapshot().sender_ccid, FIXED_RATE);
    pair.forget();
    for tag in 0..3 {
        pair.send(End::Client, tag);
    }
    pair.run_for(millis(300));
    let times: Vec<Instant> = pair.sent_by(End::Client, Data).iter().map(|sent| sent.at).collect();
    assert_eq!(times[2] - times[1], millis(40), "the new control's pace");
    assert_eq!(pair.received(End::Server), [0, 1, 2]);
}
