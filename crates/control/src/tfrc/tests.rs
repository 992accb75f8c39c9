//! Sender and receiver in a closed loop over a pipe with random losses.

use alloc::collections::BTreeMap;

use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

use super::loss_history::HistoryConfig;
use super::*;
use crate::loss_detection::ArrivedPacket;

const SEGMENT: ByteCount = ByteCount::new(1000);

/// Knuth's MMIX linear congruential generator.
struct Lcg(u64);

impl Lcg {
    fn fraction(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

enum Event {
    Data(TfrcPacket),
    Feedback(Feedback),
}

/// Measurements of a run after its first fifth.
struct Measured {
    rate: DataRate,
    loss_event_rate: LossEventRate,
    /// Average of the equation over each reported p.
    equation_average: DataRate,
    rtt: Duration,
}

/// A greedy sender over a pipe with a fixed round-trip time that loses each data packet with
/// probability `loss`.
fn run(loss: f64, rtt: Duration, time: Duration, seed: u64) -> Measured {
    run_with(None, SEGMENT, loss, rtt, time, seed)
}

/// A greedy sender with packets of `size`.
fn run_with(
    small_packets: Option<SmallPackets>,
    size: ByteCount,
    loss: f64,
    rtt: Duration,
    time: Duration,
    seed: u64,
) -> Measured {
    let mut lcg = Lcg(seed);
    let mut now = Instant::ZERO;
    let mut sender = TfrcSender::new(now, SenderConfig { small_packets, ..SenderConfig::default() });
    let history = HistoryConfig { first: Some(0), ..HistoryConfig::default() };
    let mut receiver =
        TfrcReceiver::new(now, ReceiverConfig { history, small_packets, ..ReceiverConfig::default() }, None);
    let limit = small_packets.map_or(DataRate::INFINITE, |small| size / small.min_interval);
    let (segment, share) =
        small_packets.map_or((size, 1.0), |small| (small.segment_size, small.data_share(size)));
    let mut pipe: BTreeMap<(Instant, u64), Event> = BTreeMap::new();
    let (mut order, mut sequence) = (0, 0);
    let end = now + time;
    let warm = now + time / 5;
    let timeout = RetransmitTimeout::default();
    let (mut sent, mut reports, mut p_sum, mut by_the_equation) = (0u64, 0.0, 0.0, DataRate::ZERO);
    while now < end {
        let wakes = [
            Some(sender.next_send_time()),
            sender.nofeedback_deadline(),
            receiver.poll_timeout(),
            pipe.first_key_value().map(|(key, _)| key.0),
        ];
        now = now.max(wakes.into_iter().flatten().min().expect("the sender always has more"));
        sender.on_nofeedback_timeout(now);
        receiver.handle_timeout(now);
        while let Some(entry) = pipe.first_entry().filter(|entry| entry.key().0 <= now) {
            match entry.remove() {
                Event::Data(mut packet) => {
                    packet.arrival.at = now;
                    receiver.on_packet(now, &packet, None);
                }
                Event::Feedback(feedback) => sender.on_feedback(now, &feedback),
            }
        }
        if let Some(report) = receiver.poll_feedback(now) {
            let feedback = Feedback {
                last_data_sent: report.last_data_sent.expect("packets are stamped"),
                delay: report.delay,
                receive_rate: report.receive_rate,
                loss_event_rate: report.loss_event_rate,
                new_loss_event: report.new_loss_event,
            };
            pipe.insert((now + rtt / 2, order), Event::Feedback(feedback));
            order += 1;
            if now > warm {
                p_sum += report.loss_event_rate.as_f64();
                let rate = throughput(segment, rtt, report.loss_event_rate, timeout) * share;
                by_the_equation = by_the_equation + rate.min(limit);
                reports += 1.0;
            }
        }
        while sender.next_send_time() <= now {
            let arrival = ArrivedPacket::new(now, sequence);
            let packet = TfrcPacket { arrival, size, sent: Some(now), sender_rtt: sender.rtt() };
            if lcg.fraction() >= loss {
                pipe.insert((now + rtt / 2, order), Event::Data(packet));
                order += 1;
            }
            sender.on_sent(now, size);
            sequence += 1;
            sent += u64::from(now > warm);
        }
    }
    Measured {
        rate: size * sent / (end - warm),
        loss_event_rate: LossEventRate::new(p_sum / reports),
        equation_average: by_the_equation / reports,
        rtt: sender.rtt().expect("there was feedback"),
    }
}

#[test]
fn a_closed_loop_converges_to_the_throughput_equation() {
    for (loss, seed) in [(0.01, 1), (0.02, 2), (0.05, 3), (0.01, 4), (0.02, 5), (0.05, 6)] {
        let measured = run(loss, Duration::from_millis(100), Duration::from_secs(1000), seed);
        // The average rate over a changing p exceeds the rate at the average p, because the equation
        // is convex...
        let at_average =
            throughput(SEGMENT, measured.rtt, measured.loss_event_rate, RetransmitTimeout::default());
        let ratio = measured.rate / at_average;
        assert!((0.9..1.1).contains(&ratio), "{loss}: {} against {at_average}", measured.rate);
        // ... and equals the average of the equation over each.
        let ratio = measured.rate / measured.equation_average;
        assert!(
            (0.98..1.02).contains(&ratio),
            "{loss}: {} against {}",
            measured.rate,
            measured.equation_average
        );
    }
}

#[test]
fn twice_the_round_trip_is_half_the_rate() {
    let [short, long] =
        [50, 100].map(|ms| run(0.02, Duration::from_millis(ms), Duration::from_secs(1000), 7).rate);
    let ratio = short / long;
    assert!((1.85..2.15).contains(&ratio), "{short} against {long}");
}

/// The rate of packets of 200 bytes on a path with a round-trip time of 240 ms, 32 bytes of headers counted,
/// in kbit/s.
fn small_packet_rate(loss: f64, seed: u64) -> f64 {
    let small = SmallPackets { header_size: ByteCount::new(32), ..SmallPackets::default() };
    let (rtt, time) = (Duration::from_millis(240), Duration::from_secs(3000));
    let measured = run_with(Some(small), ByteCount::new(200), loss, rtt, time, seed);
    measured.rate.as_bytes_per_second() * 8e-3 * 232.0 / 200.0
}

/// RFC 4828, Table 9, by its authors' simulator. Up to 5 % the Min Interval is the limit.
#[test]
fn small_packets_match_the_simulations_of_rfc_4828() {
    let table = [(0.01, 185.33), (0.02, 185.57), (0.04, 185.14), (0.1, 127.33), (0.2, 54.66)];
    for (loss, printed) in table {
        let kbps = small_packet_rate(loss, 1);
        assert!((0.85..1.15).contains(&(kbps / printed)), "{loss}: {kbps} kbit/s, printed {printed}");
    }
}

/// The row of 30 % does not match: 24.50 kbit/s are printed. Ours is 18 % above, and 12 % where X_recv does
/// not begin anew after a silence (`ReceiveRateMeter::on_silence`); the rest has no known cause.
#[test]
fn at_thirty_percent_loss_small_packets_exceed_the_simulations_of_rfc_4828() {
    let mean = (1..=10).map(|seed| small_packet_rate(0.3, seed)).sum::<f64>() / 10.0;
    assert!((1.14..1.21).contains(&(mean / 24.50)), "{mean} kbit/s");
}

const VOICE: ByteCount = ByteCount::new(160);

/// At most 100 packets per second, and the rate of the equation for a nominal segment, minus the headers'
/// share. A round-trip time of a second is required to stay below the Min Interval at 1 %.
#[test]
fn small_packets_follow_the_equation_of_large_ones() {
    for (loss, seed) in [(0.01, 1), (0.02, 2), (0.05, 3)] {
        let rtt = Duration::from_secs(1);
        let measured =
            run_with(Some(SmallPackets::default()), VOICE, loss, rtt, Duration::from_secs(5000), seed);
        let ratio = measured.rate / measured.equation_average;
        assert!((0.95..1.05).contains(&ratio), "{loss}: {} of the equation", ratio);
        // Several losses within a round-trip time count, unless the interval is longer than two of them: with
        // n losses per round-trip time on average, a fraction e^-n is, and then counts in full. For n = 2
        // that makes p = 0.63 of the loss rate; TFRC, with one event in 1.5 round-trip times, would measure
        // 0.33.
        let p = measured.loss_event_rate.as_f64() / loss;
        assert!((0.55..0.75).contains(&p), "{loss}: {}", measured.loss_event_rate);
    }
}
