use whimbrel_wire::Options;
use whimbrel_wire::option::data_dropped::DropCode;
use whimbrel_wire::option::tfrc::{self as wire, LossInterval};
use whimbrel_wire::option::{Elapsed, OptionBytes};

use super::*;
use crate::Ccid;
use crate::Config;
use crate::ccid::DroppedPacket;
use crate::ccid::ccid3;
use crate::config::{FreezeConfig, Silence};

const SIZE: usize = 1000;

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn seq(n: u64) -> SeqNo {
    SeqNo::new(n)
}

/// A sender whose next packet is number 1. With `rtt`, the handshake measured it.
fn sender(rtt: Option<Duration>) -> Sender {
    sender_with(&Config::default(), rtt)
}

fn sender_with(config: &Config, rtt: Option<Duration>) -> Sender {
    sender_of(config, rtt, ccid3::VARIANT)
}

fn sender_of(config: &Config, rtt: Option<Duration>, variant: Variant) -> Sender {
    let tfrc = config.ccids.tfrc().expect("CCID 3");
    Sender::new(&config.half_connection(ms(0), SIZE, rtt, seq(1)), variant, tfrc)
}

struct Outcome {
    ccval: u8,
    options: Options,
}

fn send_typed(sender: &mut Sender, now: u64, n: u64, packet_type: PacketType) -> Outcome {
    let (mut ccval, mut options) = (0, Options::new());
    let payload = if packet_type.carries_data() { SIZE } else { 0 };
    let packet = SentPacket { sequence: seq(n), packet_type, payload, more_queued: true };
    sender.on_sent(ms(now), packet, SenderMarks { ccval: &mut ccval, options: &mut options });
    Outcome { ccval, options }
}

fn send(sender: &mut Sender, now: u64, n: u64) -> Outcome {
    send_typed(sender, now, n, PacketType::Data)
}

fn acknowledge(sender: &mut Sender, now: u64, ack: u64, options: &[DccpOption]) {
    acknowledge_but(sender, now, ack, options, &[]);
}

/// The same of packets of which some were dropped.
fn acknowledge_but(
    sender: &mut Sender,
    now: u64,
    ack: u64,
    options: &[DccpOption],
    dropped: &[(u64, DropCode)],
) {
    let dropped: Vec<DroppedPacket> =
        dropped.iter().map(|&(n, code)| DroppedPacket { sequence: seq(n), code }).collect();
    let feedback = Feedback {
        ack: seq(ack),
        sequence: seq(1_000_000 + now),
        packet_type: PacketType::Ack,
        options,
        ack_vector: &[],
        data_dropped: &dropped,
        timestamp_rtt: None,
    };
    sender.on_feedback(ms(now), &feedback);
}

fn elapsed(ms: u64) -> DccpOption {
    DccpOption::ElapsedTime(Elapsed::from_nanos(ms * 1_000_000))
}

fn intervals(intervals: &[(u32, u32, u32)]) -> DccpOption {
    let intervals = intervals.iter().map(|&(lossless_length, loss_length, data_length)| LossInterval {
        lossless_length,
        loss_length,
        data_length,
        nonce: false,
    });
    wire::loss_intervals(0, intervals).next().unwrap()
}

/// A feedback on packet `ack` without loss: 10 ms held, `rate` bytes per second received.
fn clean(ack: u64, rate: u32) -> [DccpOption; 3] {
    [elapsed(10), wire::receive_rate(rate), intervals(&[(ack as u32, 0, 0)])]
}

fn rate(sender: &Sender) -> f64 {
    sender.snapshot().allowed_rate.unwrap().as_bytes_per_second()
}

#[test]
fn the_handshakes_round_trip_time_sets_the_initial_rate() {
    let mut sender = sender(Some(Duration::from_millis(100)));
    assert_eq!(sender.poll_send(ms(0), SIZE), SendVerdict::Now);
    send(&mut sender, 0, 1);
    // min(10 1000, max(2 1000, 14600)) = 10,000 bytes in 100 ms.
    assert_eq!(rate(&sender), 100_000.0);
    assert_eq!(sender.poll_send(ms(0), SIZE), SendVerdict::At(ms(10)));
    assert_eq!(sender.poll_timeout(), Some(ms(400)));
}

#[test]
fn without_a_round_trip_time_one_packet_is_sent_per_second() {
    let mut sender = sender(None);
    send(&mut sender, 0, 1);
    assert_eq!(sender.poll_send(ms(0), SIZE), SendVerdict::At(ms(1000)));
    assert_eq!(sender.poll_timeout(), Some(ms(2000)));
    sender.handle_timeout(ms(2000));
    assert_eq!(rate(&sender), 500.0);
}

#[test]
fn the_round_trip_time_excludes_the_elapsed_time() {
    let mut sender = sender(None);
    send(&mut sender, 0, 1);
    acknowledge(&mut sender, 120, 1, &clean(1, 0));
    assert_eq!(sender.snapshot().rtt, Some(Duration::from_millis(110)));
}

/// The longest Elapsed Time stands for all that are longer (RFC 4340, Section 13.2): the remainder of a day
/// is no round-trip time.
#[test]
fn a_saturated_elapsed_time_gives_no_round_trip_time_sample() {
    const DAY: u64 = 86_400_000;
    for known in [None, Some(Duration::from_millis(100))] {
        let mut sender = sender(known);
        send(&mut sender, 0, 1);
        let before = sender.snapshot();
        acknowledge(
            &mut sender,
            DAY,
            1,
            &[elapsed(DAY - 50), wire::receive_rate(500), intervals(&[(1, 0, 0)])],
        );
        assert_eq!(sender.snapshot().rtt, before.rtt);
        // The longest representable time is one.
        send(&mut sender, DAY, 2);
        let longest = 42_949_672;
        let options = [elapsed(longest), wire::receive_rate(500), intervals(&[(2, 0, 0)])];
        acknowledge(&mut sender, DAY + longest + 100, 2, &options);
        assert_eq!(sender.snapshot().rtt, Some(Duration::from_millis(100)));
    }
}

#[test]
fn acknowledgements_without_the_options_are_no_feedback() {
    let mut sender = sender(None);
    send(&mut sender, 0, 1);
    acknowledge(&mut sender, 100, 1, &[elapsed(10)]);
    acknowledge(&mut sender, 100, 1, &[elapsed(10), wire::receive_rate(0)]);
    acknowledge(&mut sender, 100, 1, &[elapsed(10), intervals(&[(1, 0, 0)])]);
    assert_eq!(sender.snapshot().rtt, None);
}

#[test]
fn nor_are_those_with_invalid_loss_intervals() {
    let mut sender = sender(None);
    send(&mut sender, 0, 1);
    let absurd = [elapsed(10), wire::receive_rate(0), intervals(&[(1 << 20, 0, 0)])];
    acknowledge(&mut sender, 100, 1, &absurd);
    assert_eq!(sender.snapshot().rtt, None);
}

/// Linux sends Receive Rate and Loss Event Rate, and nothing else.
#[test]
fn a_loss_event_rate_can_stand_for_loss_intervals() {
    let mut sender = sender(None);
    send(&mut sender, 0, 1);
    acknowledge(&mut sender, 100, 1, &[wire::receive_rate(0), wire::loss_event_rate(wire::NO_LOSS_EVENT)]);
    assert_eq!(sender.snapshot().rtt, Some(Duration::from_millis(100)));
    send(&mut sender, 100, 2);
    acknowledge(&mut sender, 200, 2, &[wire::receive_rate(1_000_000), wire::loss_event_rate(100)]);
    assert_eq!(sender.snapshot().loss_event_rate, Some(0.01));
    // s = 1000, R = 100 ms, p = 0.01.
    assert!((rate(&sender) - 112_332.4).abs() < 1.0);
}

/// Sends packets `from..=to` 10 ms apart, number n at 10 n ms.
fn send_many(sender: &mut Sender, from: u64, to: u64) {
    for n in from..=to {
        send(sender, 10 * n, n);
    }
}

#[test]
fn the_rate_follows_from_the_loss_intervals() {
    let mut sender = sender(Some(Duration::from_millis(100)));
    send_many(&mut sender, 1, 60);
    // An interval of 25 data packets after a first one worth 50: p = 1/50.
    let lossy = [elapsed(0), wire::receive_rate(1_000_000), intervals(&[(24, 1, 25), (35, 0, 50)])];
    acknowledge(&mut sender, 700, 60, &lossy);
    assert_eq!(sender.snapshot().loss_event_rate, Some(0.02));
}

#[test]
fn a_reported_rate_that_discounts_the_history_is_used() {
    for (reported, expected) in [
        // 1/50 rounded: the computed one is exact.
        (50, 0.02),
        (40, 0.025),
        (60, 1.0 / 60.0),
        // No average can exceed the longest interval.
        (101, 1.0 / 62.5),
        (wire::NO_LOSS_EVENT, 1.0 / 62.5),
    ] {
        let mut sender = sender(Some(Duration::from_millis(100)));
        send_many(&mut sender, 1, 200);
        let lengths: &[(u32, u32, u32)] = if expected == 1.0 / 62.5 {
            &[(24, 1, 25), (99, 1, 100), (35, 0, 25)]
        } else {
            &[(24, 1, 25), (39, 1, 40), (60, 0, 60)]
        };
        let options =
            [elapsed(0), wire::receive_rate(1_000_000), intervals(lengths), wire::loss_event_rate(reported)];
        acknowledge(&mut sender, 2100, 200, &options);
        let p = sender.snapshot().loss_event_rate.unwrap();
        assert!((p - expected).abs() < 1e-12, "reported {reported}: {p}, not {expected}");
    }
}

/// The receiver discounts its history, and then no more: 1/p is 63, as reported, and then 62.5, as computed,
/// which is also reported as 63. Nothing was lost. A loss would limit a sender with little data to 0.85
/// X_recv.
#[test]
fn rounding_of_the_loss_event_rate_is_no_loss() {
    let mut sender = sender(Some(Duration::from_millis(100)));
    let lengths = |newest| intervals(&[(newest - 1, 1, newest), (19, 1, 20), (100, 0, 100)]);
    let mut rates = Vec::new();
    // 50 packets per second, each acknowledged after five more.
    for n in 1..=230 {
        send(&mut sender, 20 * n, n);
        let newest = match n.saturating_sub(5) {
            150 => 30,
            155 => 35,
            225 => 105,
            _ => continue,
        };
        let options = [elapsed(0), wire::receive_rate(50_000), lengths(newest), wire::loss_event_rate(63)];
        acknowledge(&mut sender, 20 * n, n - 5, &options);
        rates.push(rate(&sender));
    }
    // The loss, its end, and no other.
    assert_eq!(rates[0], 42_500.0);
    assert!(rates[1] > 80_000.0, "{rates:?}");
    assert_eq!(rates[2], rates[1]);
    assert_eq!(sender.snapshot().loss_event_rate, Some(1.0 / 63.0));
}

#[test]
fn an_older_acknowledgement_is_ignored() {
    let mut sender = sender(None);
    send(&mut sender, 0, 1);
    send(&mut sender, 1000, 2);
    acknowledge(&mut sender, 1100, 2, &clean(2, 0));
    let before = sender.snapshot();
    acknowledge(&mut sender, 1200, 1, &clean(1, 5));
    assert_eq!(sender.snapshot(), before);
}

/// The answer to a probe of the packet size acknowledges a newer packet than the report that it overtakes,
/// and reports nothing.
#[test]
fn a_report_overtaken_by_an_acknowledgement_without_one_counts() {
    let mut sender = sender(Some(Duration::from_millis(100)));
    send_many(&mut sender, 1, 20);
    acknowledge(&mut sender, 1000, 15, &[elapsed(0)]);
    assert_eq!(sender.snapshot().receive_rate, Some(DataRate::ZERO));
    acknowledge(&mut sender, 1010, 10, &clean(10, 70_000));
    let after = sender.snapshot();
    assert_eq!(after.receive_rate, Some(DataRate::from_bytes_per_second(70_000.0)));
    // Reports older than the last do not.
    acknowledge(&mut sender, 1020, 9, &clean(9, 80_000));
    assert_eq!(sender.snapshot(), after);
}

#[test]
fn the_window_counter_counts_quarters_and_leaps_with_acknowledgements() {
    let mut sender = sender(Some(Duration::from_millis(100)));
    let stamps: Vec<u8> = (0..=5).map(|i| send(&mut sender, i * 25, i + 1).ccval).collect();
    assert_eq!(stamps, [0, 1, 2, 3, 4, 5]);
    // Packet 5, with counter 4, is acknowledged sooner than expected: what follows has 8.
    acknowledge(&mut sender, 126, 5, &[]);
    assert_eq!(send(&mut sender, 127, 7).ccval, 8);
    assert_eq!(send_typed(&mut sender, 128, 8, PacketType::Ack).ccval, 0, "not a data packet");
}

#[test]
fn the_round_trip_time_is_sent_only_with_the_feature_on() {
    let mut sender = sender(Some(Duration::from_micros(70_000)));
    assert!(send(&mut sender, 0, 1).options.is_empty());
    sender.on_feature(ms(0), FeatureNumber::SendRttEstimate, 1);
    for (n, packet_type) in
        [PacketType::Data, PacketType::DataAck, PacketType::Sync, PacketType::SyncAck].into_iter().enumerate()
    {
        let options = send_typed(&mut sender, 10, 2 + n as u64, packet_type).options;
        assert_eq!(options[..], [RttEstimate::Micros(70_000).to_option()], "{packet_type:?}");
    }
    assert!(send_typed(&mut sender, 10, 6, PacketType::Ack).options.is_empty());
}

/// RFC 6323, Section 3.3.
#[test]
fn the_window_counter_continues_while_the_round_trip_time_is_sent() {
    let mut sender = sender(Some(Duration::from_millis(100)));
    sender.on_feature(ms(0), FeatureNumber::SendRttEstimate, 1);
    let stamps: Vec<u8> = (0..=5).map(|i| send(&mut sender, i * 25, i + 1).ccval).collect();
    assert_eq!(stamps, [0, 1, 2, 3, 4, 5]);
}

#[test]
fn without_a_sample_no_round_trip_time_is_sent() {
    let mut sender = sender(None);
    sender.on_feature(ms(0), FeatureNumber::SendRttEstimate, 1);
    assert_eq!(send(&mut sender, 0, 1).options[..], [RttEstimate::None.to_option()]);
}

/// A sender whose X is 200 kB/s, twice the X_recv, at 1200 ms and packet 110.
fn at_100_kilobytes() -> Sender {
    let mut sender = sender(Some(Duration::from_millis(100)));
    send_many(&mut sender, 1, 140);
    for n in (10..=100).step_by(10) {
        acknowledge(&mut sender, 10 * n + 110, n, &clean(n, 100_000));
    }
    assert_eq!(rate(&sender), 200_000.0);
    sender
}

/// RFC 4340, Section 11.6, and RFC 4342, Section 5.2: X_drop = X_inrecv, for a round-trip time.
#[test]
fn slow_receiver_keeps_the_rate_from_growing() {
    let mut sender = at_100_kilobytes();
    sender.on_slow_receiver(ms(1210));
    assert_eq!(rate(&sender), 100_000.0);
    acknowledge(&mut sender, 1300, 119, &clean(119, 100_000));
    assert_eq!(rate(&sender), 100_000.0);
    // Then slow start goes on.
    acknowledge(&mut sender, 1410, 129, &clean(129, 100_000));
    assert_eq!(rate(&sender), 200_000.0);
}

/// Three packets dropped at R = 110 ms, s = 1000: X_drop = 100 - 3/0.11 = 72.7 kB/s.
#[test]
fn each_packet_dropped_in_a_receive_buffer_costs_a_packet_per_round_trip() {
    let mut sender = at_100_kilobytes();
    let per_round_trip = 1000.0 / sender.snapshot().rtt.unwrap().as_secs_f64();
    let dropped: Vec<_> = (106..109).map(|n| (n, DropCode::ReceiveBuffer)).collect();
    acknowledge_but(&mut sender, 1210, 110, &clean(110, 100_000), &dropped);
    assert!((rate(&sender) - (100_000.0 - 3.0 * per_round_trip)).abs() < 1.0, "{}", rate(&sender));
    // The drops say nothing about the network.
    assert_eq!(sender.snapshot().loss_event_rate, Some(0.0));
    // After a round-trip time, slow start goes on.
    acknowledge(&mut sender, 1340, 122, &clean(122, 100_000));
    assert!(rate(&sender) > 100_000.0, "{}", rate(&sender));
}

#[test]
fn a_packet_per_round_trip_is_always_left() {
    let mut sender = at_100_kilobytes();
    let per_round_trip = 1000.0 / sender.snapshot().rtt.unwrap().as_secs_f64();
    let dropped: Vec<_> = (81..110).map(|n| (n, DropCode::ReceiveBuffer)).collect();
    acknowledge_but(&mut sender, 1210, 110, &clean(110, 100_000), &dropped);
    assert!((rate(&sender) - per_round_trip).abs() < 1.0, "{}", rate(&sender));
}

/// RFC 4340, Section 11.7.2: as if received.
#[test]
fn forbidden_and_unread_data_have_no_effect() {
    let mut sender = at_100_kilobytes();
    let dropped = [(107, DropCode::ProtocolConstraints), (108, DropCode::ApplicationNotListening)];
    acknowledge_but(&mut sender, 1210, 110, &clean(110, 100_000), &dropped);
    assert_eq!((rate(&sender), sender.snapshot().loss_event_rate), (200_000.0, Some(0.0)));
}

#[test]
fn corrupt_packets_count_as_marked() {
    for code in [DropCode::Corrupt, DropCode::DeliveredCorrupt, DropCode::Reserved(5)] {
        let mut sender = sender(Some(Duration::from_millis(100)));
        send_many(&mut sender, 1, 60);
        acknowledge_but(&mut sender, 700, 60, &clean(60, 1_000_000), &[(51, code)]);
        // Intervals of 10 and 50.
        assert_eq!(sender.snapshot().loss_event_rate, Some(0.02));
    }
}

/// Nor does the receiver know of them when it reports its own p.
#[test]
fn corrupt_packets_count_beside_a_reported_rate() {
    let mut sender = sender(Some(Duration::from_millis(100)));
    send_many(&mut sender, 1, 60);
    let options = [
        elapsed(0),
        wire::receive_rate(1_000_000),
        intervals(&[(9, 1, 10), (50, 0, 200)]),
        wire::loss_event_rate(200),
    ];
    acknowledge_but(&mut sender, 700, 60, &options, &[(55, DropCode::Corrupt)]);
    // Of the interval of 10, cut in two, and the first one of 200: (6, 4, 200) make 102.
    assert!((sender.snapshot().loss_event_rate.unwrap() - 1.0 / 102.0).abs() < 1e-6);
}

/// An experiment may take corruption for what it is on a radio link (RFC 4340, Section 11.7).
#[test]
fn an_experimental_variant_can_react_otherwise() {
    fn lenient(code: DropCode) -> DropReaction {
        if code == DropCode::Corrupt {
            DropReaction::Ignore
        } else {
            crate::ccid::drop_reaction::standard(code)
        }
    }
    let variant = Variant { ccid: Ccid(249), drop_policy: lenient, ..ccid3::VARIANT };
    let mut sender = sender_of(&Config::default(), Some(Duration::from_millis(100)), variant);
    send_many(&mut sender, 1, 60);
    acknowledge_but(&mut sender, 700, 60, &clean(60, 1_000_000), &[(51, DropCode::Corrupt)]);
    assert_eq!(sender.snapshot().loss_event_rate, Some(0.0));
}

/// Loss Intervals prove the first and the last packet of a lossy part lost; Ack Vectors report marks.
#[test]
fn losses_are_counted_as_far_as_they_are_proven() {
    let mut sender = sender(Some(Duration::from_millis(100)));
    send_many(&mut sender, 1, 60);
    let options =
        [elapsed(0), wire::receive_rate(1_000_000), intervals(&[(9, 1, 10), (16, 4, 20), (30, 0, 100)])];
    acknowledge(&mut sender, 700, 60, &options);
    let lost = |sender: &Sender| (sender.snapshot().lost, sender.snapshot().marked);
    assert_eq!(lost(&sender), (3, 0));
    // Ten more events, of which nine are reported: none is forgotten, none counted twice.
    for events in 1..=10 {
        let from = 60 + 10 * (events - 1) + 1;
        send_many(&mut sender, from, from + 9);
        let mut report = vec![(9, 1, 10); events as usize];
        report.extend([(9, 1, 10), (16, 4, 20), (30, 0, 100)]);
        report.truncate(9);
        let options = [elapsed(0), wire::receive_rate(1_000_000), intervals(&report)];
        acknowledge(&mut sender, 700 + 100 * events, 60 + 10 * events, &options);
        assert_eq!(lost(&sender), (3 + events, 0), "{events}");
    }
}

#[test]
fn ack_vectors_are_acknowledged_about_once_per_round_trip() {
    let mut sender = sender(Some(Duration::from_millis(100)));
    send_many(&mut sender, 1, 10);
    let mut options = clean(10, 1000).to_vec();
    options.push(DccpOption::AckVector { nonce: false, cells: OptionBytes::from_slice(&[9]) });
    assert!(!sender.needs_ack_of_ack(ms(200)));
    acknowledge(&mut sender, 200, 10, &options);
    assert!(!sender.needs_ack_of_ack(ms(250)));
    assert!(sender.needs_ack_of_ack(ms(300)));
    send_typed(&mut sender, 300, 11, PacketType::DataAck);
    assert!(!sender.needs_ack_of_ack(ms(500)));
}

/// All losses while reports are missing are one loss event for a sender that treats their absence as an
/// outage, for any number of events that the receiver counts; for others the receiver's count applies.
#[test]
fn losses_without_reports_are_one_event() {
    let loss_event_rate = |silence| {
        let defaults = Config::default();
        let config = Config { freeze: FreezeConfig { silence, ..defaults.freeze }, ..defaults };
        let mut sender = sender_with(&config, Some(Duration::from_millis(100)));
        (1..=40).for_each(|n| _ = send(&mut sender, n * 10, n));
        let report =
            |lengths: &[(u32, u32, u32)]| [elapsed(0), wire::receive_rate(100_000), intervals(lengths)];
        acknowledge(&mut sender, 500, 40, &report(&[(19, 1, 20), (19, 1, 20)]));
        (41..=60).for_each(|n| _ = send(&mut sender, 100 + n * 10, n));
        while let Some(due) = sender.poll_timeout().filter(|due| *due <= ms(4000)) {
            sender.handle_timeout(due);
        }
        send(&mut sender, 4000, 61);
        let lost = [(1, 4, 5), (0, 4, 4), (0, 4, 4), (0, 4, 4), (0, 4, 4), (19, 1, 20), (19, 1, 20)];
        acknowledge(&mut sender, 4100, 61, &report(&lost));
        sender.snapshot().loss_event_rate.unwrap()
    };
    // The average of 20 and 20, as the newest interval has just begun; without the rule, of 4, 4, 4, 4, 20
    // and 20 at most.
    assert!((loss_event_rate(Some(Silence::RoundTrips(4.0))) - 1.0 / 20.0).abs() < 1e-12);
    assert!(loss_event_rate(None) > 1.0 / 10.0);
}
