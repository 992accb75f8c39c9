use whimbrel_wire::Options;
use whimbrel_wire::option::OptionBytes;
use whimbrel_wire::option::tfrc::{self as wire, LossInterval};

use super::*;
use crate::Config;

const SIZE: usize = 1000;

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}
fn seq(n: u64) -> SeqNo {
    SeqNo::new(n)
}

/// A sender whose next packet is number 1. With `rtt`, the handshake measured it.
fn sender(rtt: Option<Duration>) -> Sender {
    let config = Config::default();
    Sender::new(&HalfConnection {
        config: &config,
        now: ms(0),
        packet_size: SIZE,
        rtt,
        next_sequence: seq(1),
    })
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
    let feedback = Feedback {
        ack: seq(ack),
        sequence: seq(1_000_000 + now),
        packet_type: PacketType::Ack,
        options,
        ack_vector: &[],
        data_dropped: &[],
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
    // min(4 1000, max(2 1000, 4380)) = 4000 bytes in 100 ms.
    assert_eq!(rate(&sender), 40_000.0);
    assert_eq!(sender.poll_send(ms(0), SIZE), SendVerdict::At(ms(25)));
    assert_eq!(sender.poll_timeout(), Some(ms(400)));
}

#[test]
fn without_one_a_packet_goes_per_second() {
    let mut sender = sender(None);
    send(&mut sender, 0, 1);
    assert_eq!(sender.poll_send(ms(0), SIZE), SendVerdict::At(ms(1000)));
    assert_eq!(sender.poll_timeout(), Some(ms(2000)));
    sender.handle_timeout(ms(2000));
    assert_eq!(rate(&sender), 500.0);
}

#[test]
fn the_round_trip_time_is_the_time_away_less_the_time_held() {
    let mut sender = sender(None);
    send(&mut sender, 0, 1);
    acknowledge(&mut sender, 120, 1, &clean(1, 0));
    assert_eq!(sender.snapshot().rtt, Some(Duration::from_millis(110)));
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
fn a_told_rate_that_discounts_the_history_is_taken() {
    for (told, expected) in [
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
            [elapsed(0), wire::receive_rate(1_000_000), intervals(lengths), wire::loss_event_rate(told)];
        acknowledge(&mut sender, 2100, 200, &options);
        let p = sender.snapshot().loss_event_rate.unwrap();
        assert!((p - expected).abs() < 1e-12, "told {told}: {p}, not {expected}");
    }
}

#[test]
fn an_older_acknowledgement_is_not_heeded() {
    let mut sender = sender(None);
    send(&mut sender, 0, 1);
    send(&mut sender, 1000, 2);
    acknowledge(&mut sender, 1100, 2, &clean(2, 0));
    let before = sender.snapshot();
    acknowledge(&mut sender, 1200, 1, &clean(1, 5));
    assert_eq!(sender.snapshot(), before);
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
fn the_round_trip_time_is_told_only_with_the_feature_on() {
    let mut sender = sender(Some(Duration::from_micros(70_000)));
    assert!(send(&mut sender, 0, 1).options.is_empty());
    sender.on_feature(ms(0), 128, 1);
    for (n, packet_type) in
        [PacketType::Data, PacketType::DataAck, PacketType::Sync, PacketType::SyncAck].into_iter().enumerate()
    {
        let options = send_typed(&mut sender, 10, 2 + n as u64, packet_type).options;
        assert_eq!(options[..], [RttEstimate::Micros(70_000).to_option()], "{packet_type:?}");
    }
    assert!(send_typed(&mut sender, 10, 6, PacketType::Ack).options.is_empty());
}

#[test]
fn without_a_sample_none_is_told() {
    let mut sender = sender(None);
    sender.on_feature(ms(0), 128, 1);
    assert_eq!(send(&mut sender, 0, 1).options[..], [RttEstimate::None.to_option()]);
}

/// RFC 4342, Section 5.2: at most what was received, so X_recv = X_inrecv/2.
#[test]
fn slow_receiver_keeps_the_rate_from_growing() {
    let mut sender = sender(Some(Duration::from_millis(100)));
    send_many(&mut sender, 1, 100);
    for n in (10..=100).step_by(10) {
        let mut options = clean(n, 50_000).to_vec();
        options.push(DccpOption::SlowReceiver);
        acknowledge(&mut sender, 10 * n + 100, n, &options);
    }
    assert!((rate(&sender) - 50_000.0).abs() < 1e-6, "{}", rate(&sender));
}

/// Three packets dropped at R = 100 ms, s = 1000: X_drop = 100 - 3 10 = 70 kB/s.
#[test]
fn each_packet_dropped_in_a_receive_buffer_costs_a_packet_per_round_trip() {
    let mut sender = sender(Some(Duration::from_millis(100)));
    send_many(&mut sender, 1, 120);
    for n in (10..=100).step_by(10) {
        acknowledge(&mut sender, 10 * n + 110, n, &clean(n, 100_000));
    }
    let dropped = |blocks: &[u8]| DccpOption::DataDropped(OptionBytes::from_slice(blocks));
    // Of 110 down: a normal block of two, then three dropped.
    let mut options = clean(110, 100_000).to_vec();
    options.push(dropped(&[1, 0x80 | 2 << 4 | 2]));
    let before = sender.snapshot().receive_rate.unwrap();
    assert_eq!(before, DataRate::from_bytes_per_second(100_000.0));
    acknowledge(&mut sender, 1210, 110, &options);
    let after = sender.snapshot().receive_rate.unwrap().as_bytes_per_second();
    assert!((after - 35_000.0).abs() < 1.0, "{after}");
    // The same packets again are nothing new.
    let mut options = clean(111, 100_000).to_vec();
    options.push(dropped(&[2, 0x80 | 2 << 4 | 2]));
    acknowledge(&mut sender, 1220, 111, &options);
    assert_eq!(sender.snapshot().receive_rate, Some(before));
}

#[test]
fn corrupt_packets_count_as_marked() {
    let mut sender = sender(Some(Duration::from_millis(100)));
    send_many(&mut sender, 1, 60);
    let mut options = clean(60, 1_000_000).to_vec();
    // Packet 51, of 60 packets.
    options.push(DccpOption::DataDropped(OptionBytes::from_slice(&[8, 0x80 | 3 << 4])));
    acknowledge(&mut sender, 700, 60, &options);
    // Intervals of 10 and 50.
    assert_eq!(sender.snapshot().loss_event_rate, Some(0.02));
}

#[test]
fn ack_vectors_are_acknowledged_about_once_per_round_trip() {
    let mut sender = sender(Some(Duration::from_millis(100)));
    send_many(&mut sender, 1, 10);
    let mut options = clean(10, 1000).to_vec();
    options.push(DccpOption::AckVector { nonce: false, cells: OptionBytes::from_slice(&[9]) });
    assert!(!sender.wants_ack_of_ack(ms(200)));
    acknowledge(&mut sender, 200, 10, &options);
    assert!(!sender.wants_ack_of_ack(ms(250)));
    assert!(sender.wants_ack_of_ack(ms(300)));
    send_typed(&mut sender, 300, 11, PacketType::DataAck);
    assert!(!sender.wants_ack_of_ack(ms(500)));
}
