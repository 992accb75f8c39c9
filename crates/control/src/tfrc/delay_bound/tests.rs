use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

use super::*;
use crate::tfrc::{Feedback, LossEventRate, SenderConfig};

const BASE: u64 = 50;
/// Receive rate in byte/s: 500 packets in a round-trip time.
const RATE: f64 = 10e6;

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

/// A sender that has used its rate for a second on a path of 50 ms.
struct Bench {
    sender: TfrcSender,
    bound: DelayBound,
    now: u64,
}

impl Bench {
    fn new() -> Self {
        let sender =
            TfrcSender::new(ms(0), SenderConfig { oscillation_damping: false, ..SenderConfig::default() });
        let mut bench = Self { sender, bound: DelayBound::new(DelayAwareConfig::DEFAULT), now: 0 };
        bench.sender.on_sent(ms(0), ByteCount::new(1000));
        for _ in 0..20 {
            bench.report(0, 0.0, 0.0);
        }
        bench
    }

    /// Fifty packets, and a report with that queueing delay in milliseconds, share of marks, and p.
    fn report(&mut self, queueing: u64, marked: f64, p: f64) {
        for _ in 0..50 {
            self.sender.on_sent(ms(self.now), ByteCount::new(1000));
        }
        let sent = self.now;
        self.now += BASE + queueing;
        let feedback = Feedback {
            last_data_sent: ms(sent),
            delay: Duration::ZERO,
            receive_rate: DataRate::from_bytes_per_second(RATE),
            loss_event_rate: LossEventRate::new(p),
            new_loss_event: false,
        };
        self.sender.on_feedback(ms(self.now), &feedback);
        let report = BoundReport {
            now: ms(self.now),
            last_data_sent: ms(sent),
            sample: Some(Duration::from_millis(BASE + queueing)),
            receive_rate: feedback.receive_rate,
            marked,
            restorations: 0,
            is_restoring: false,
        };
        self.bound.on_report(&mut self.sender, &report);
    }

    fn rate(&self) -> f64 {
        self.sender.allowed_rate().as_bytes_per_second()
    }
}

#[test]
fn without_a_queue_the_rate_is_that_of_tfrc() {
    let bench = Bench::new();
    assert!(bench.bound.is_in_slow_start());
    // recv_limit.
    assert_eq!(bench.rate(), 2.0 * RATE);
    assert_eq!(bench.sender.unbounded_rate(), bench.sender.allowed_rate());
}

#[test]
fn a_queue_ends_slow_start_at_the_receive_rate() {
    let mut bench = Bench::new();
    bench.report(6, 0.0, 0.0);
    assert!(bench.bound.is_in_slow_start());
    bench.report(8, 0.0, 0.0);
    assert!(!bench.bound.is_in_slow_start());
    let queueing = bench.bound.queueing_delay().as_secs_f64();
    assert!((0.0065..0.0085).contains(&queueing), "{queueing} s");
    assert!((0.9..1.05).contains(&(bench.rate() / RATE)), "{}", bench.rate());
    assert_eq!(bench.sender.unbounded_rate().as_bytes_per_second(), 2.0 * RATE);
}

#[test]
fn the_rate_follows_the_queueing_delay_below_the_rate_of_tfrc() {
    let mut bench = Bench::new();
    bench.report(10, 0.0, 0.0);
    let start = bench.rate();
    (0..100).for_each(|_| bench.report(45, 0.0, 0.0));
    assert!(bench.rate() < 0.8 * start, "{} of {start}", bench.rate());
    // Far below the target, the rate returns; TFRC's is the ceiling.
    (0..300).for_each(|_| bench.report(1, 0.0, 0.0));
    assert_eq!(bench.rate(), 2.0 * RATE);
    bench.report(1, 0.0, 0.1);
    assert!(bench.rate() < 60e3, "the equation's rate, not {}", bench.rate());
    assert_eq!(bench.sender.unbounded_rate(), bench.sender.allowed_rate());
}

#[test]
fn marks_are_answered_in_proportion() {
    let falls = [0.1, 0.5, 1.0].map(|marked| {
        let mut bench = Bench::new();
        bench.report(7, 0.0, 0.0);
        bench.report(1, 0.0, 0.0);
        let before = bench.rate();
        bench.report(1, marked, 0.0);
        1.0 - bench.rate() / before
    });
    // Half of the share; the interval between reports and the smoothed round-trip time differ a little.
    for (fall, expected) in falls.into_iter().zip([0.05, 0.25, 0.5]) {
        assert!((fall / expected - 1.0).abs() < 0.2, "{fall}, not {expected}");
    }
}

#[test]
fn without_reports_the_rate_is_halved_and_then_grows_as_that_of_tfrc() {
    let mut bench = Bench::new();
    bench.report(10, 0.0, 0.0);
    let before = bench.rate();
    let deadline = bench.sender.nofeedback_deadline().expect("a timer");
    bench.sender.on_sent(ms(bench.now), ByteCount::new(1000));
    bench.sender.on_nofeedback_timeout(deadline);
    bench.bound.on_nofeedback(&mut bench.sender);
    assert!((bench.rate() / before - 0.5).abs() < 1e-9, "{} of {before}", bench.rate());
    bench.now = deadline.as_nanos() / 1_000_000;
    bench.report(30, 0.0, 0.0);
    assert!(bench.bound.is_in_slow_start(), "the delay over the silence is no queue");
    bench.report(0, 0.0, 0.0);
    assert!(bench.bound.is_in_slow_start());
    assert_eq!(bench.sender.unbounded_rate(), bench.sender.allowed_rate());
}

#[test]
fn another_path_has_another_least_delay() {
    let mut bench = Bench::new();
    bench.report(10, 0.0, 0.0);
    bench.bound.on_path_change(&mut bench.sender);
    (0..5).for_each(|_| bench.report(100, 0.0, 0.0));
    assert_eq!(bench.bound.queueing_delay(), Duration::ZERO);
    assert!(bench.bound.is_in_slow_start());
    assert_eq!(bench.rate(), 2.0 * RATE);
}
