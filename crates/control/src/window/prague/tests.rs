use super::*;

const RTT: Duration = Duration::from_millis(20);

/// A flow that never stops sending, of which each packet is marked at equal distances.
struct Flow {
    law: Prague,
    window: Window,
    now: Instant,
    rtt: Duration,
}

impl Flow {
    fn new(law: Prague, window: Window, rtt: Duration) -> Self {
        Self { law, window, now: Instant::ZERO, rtt }
    }

    /// An acknowledgement of a packet, `RTT / cwnd` after the one before.
    fn ack(&mut self, is_marked: bool) {
        self.now += self.rtt.mul_f64(1.0 / self.window.cwnd);
        let marked = f64::from(u8::from(is_marked));
        self.law.on_delivery(&Delivery { now: self.now, delivered: 1.0, marked, rtt: Some(self.rtt) });
        if is_marked {
            let signal = CongestionSignal {
                now: self.now,
                cause: CongestionCause::Mark,
                ..CongestionSignal::loss(self.window.cwnd)
            };
            self.law.on_congestion(&mut self.window, &signal);
        } else {
            self.law.on_ack(&mut self.window, &Acknowledgement::of(1.0));
        }
    }

    fn lose(&mut self) {
        let signal = CongestionSignal { now: self.now, ..CongestionSignal::loss(self.window.cwnd) };
        self.law.on_congestion(&mut self.window, &signal);
    }

    /// Mean window over that many packets, with one in `spacing` marked.
    fn mean(&mut self, packets: u32, spacing: u32) -> f64 {
        let mut sum = 0.0;
        for packet in 1..=packets {
            self.ack(packet % spacing == 0);
            sum += self.window.cwnd;
        }
        sum / f64::from(packets)
    }
}

fn in_avoidance(cwnd: f64) -> Window {
    Window { cwnd, ssthresh: 2.0 }
}

/// With m marks in a round-trip time at equal distances, a reduction by m/2 segments follows each `ceil(m)/m`
/// round-trip times, in which the window grows by as many segments: m = 2 or sqrt(6), and nothing beyond.
#[test]
fn the_steady_state_has_two_marks_in_a_round_trip_time() {
    for spacing in [10, 20, 50, 100] {
        let mut flow = Flow::new(Prague::new(), in_avoidance(f64::from(spacing)), RTT);
        flow.mean(500 * spacing, spacing);
        let marks = flow.mean(1000 * spacing, spacing) / f64::from(spacing);
        let least = 2.0 * (1.0 - 1.0 / f64::from(spacing));
        assert!((0.95 * least..1.02 * 6f64.sqrt()).contains(&marks), "1 in {spacing}: {marks}");
    }
}

/// RFC 8257, Section 3.3: alpha = (1 - g) alpha + g M, here for M = 1/5 after the first mark.
#[test]
fn alpha_is_an_average_with_gain_one_sixteenth() {
    let mut flow = Flow::new(Prague::new(), in_avoidance(1e6), RTT);
    let mut deliver = |milliseconds: u64, delivered, marked| {
        let now = Instant::from_millis(milliseconds);
        flow.law.on_delivery(&Delivery { now, delivered, marked, rtt: Some(RTT) });
        flow.law.alpha()
    };
    assert_eq!(deliver(0, 1.0, 0.0), 1.0);
    assert_eq!(deliver(20, 10.0, 0.0), 1.0, "no mark so far");
    assert_eq!(deliver(30, 5.0, 2.0), 1.0, "within a round");
    assert_eq!(deliver(40, 5.0, 0.0), 1.0 - 0.8 / 16.0);
    assert_eq!(deliver(60, 10.0, 0.0), (1.0 - 0.8 / 16.0) * 15.0 / 16.0);
}

#[test]
fn the_first_mark_ends_slow_start_and_halves_the_window() {
    let mut flow = Flow::new(Prague::new(), Window::new(10.0), RTT);
    (0..30).for_each(|_| flow.ack(false));
    assert_eq!(flow.window.cwnd, 40.0);
    flow.ack(true);
    assert_eq!((flow.window.cwnd, flow.window.ssthresh), (20.0, 20.0));
}

#[test]
fn a_round_trip_time_has_one_reduction_and_grows_all_the_same() {
    let mut flow = Flow::new(Prague { alpha: 0.1, ..Prague::new() }, in_avoidance(100.0), RTT);
    flow.ack(false);
    flow.ack(true);
    let reduced = flow.window.cwnd;
    assert!((94.5..95.5).contains(&reduced), "{reduced}");
    for _ in 0..40 {
        flow.ack(true);
    }
    assert_eq!(flow.window.cwnd, reduced);
    for _ in 0..40 {
        flow.ack(false);
    }
    assert!((flow.window.cwnd - reduced - 40.0 / 95.0).abs() < 0.01, "{}", flow.window.cwnd);
}

#[test]
fn a_loss_halves_the_window_and_counts_a_reduction_of_the_same_round() {
    let mut alone = Flow::new(Prague::new(), in_avoidance(100.0), RTT);
    alone.ack(false);
    alone.lose();
    assert!((49.9..50.1).contains(&alone.window.cwnd), "{}", alone.window.cwnd);

    let mut marked = Flow::new(Prague { alpha: 0.2, ..Prague::new() }, in_avoidance(100.0), RTT);
    marked.ack(false);
    marked.ack(true);
    assert!((90.0..91.0).contains(&marked.window.cwnd), "{}", marked.window.cwnd);
    marked.lose();
    assert!((49.9..50.1).contains(&marked.window.cwnd), "{}", marked.window.cwnd);
    // Neither does a mark of the lossy round reduce it again.
    marked.ack(true);
    assert!((49.9..50.1).contains(&marked.window.cwnd), "{}", marked.window.cwnd);
}

#[test]
fn a_timeout_is_renos() {
    let mut flow = Flow::new(Prague::new(), in_avoidance(20.0), RTT);
    flow.law.on_timeout(&mut flow.window, &CongestionSignal::loss(20.0), false);
    assert_eq!((flow.window.cwnd, flow.window.ssthresh), (1.0, 10.0));
    flow.law.on_timeout(&mut flow.window, &CongestionSignal::loss(1.0), true);
    assert_eq!((flow.window.cwnd, flow.window.ssthresh), (1.0, 10.0));
}

#[test]
fn the_window_never_falls_below_two_segments() {
    let mut flow = Flow::new(Prague::new(), in_avoidance(4.0), RTT);
    flow.mean(100, 1);
    assert_eq!(flow.window.cwnd, Prague::MINIMUM);
}

/// At equal marking a flow of 5 ms has the rate of one of 25 ms, and without RTT independence five times
/// that.
#[test]
fn rtt_independence_gives_a_short_path_the_rate_of_the_reference() {
    let rate = |law: Prague, rtt: Duration| {
        let mut flow = Flow::new(law, in_avoidance(50.0), rtt);
        flow.mean(20_000, 50);
        flow.mean(100_000, 50) / rtt.as_secs_f64()
    };
    let independent = || Prague::new().with_rtt_independence(Prague::REFERENCE);
    let (short, reference) = (Duration::from_millis(5), Duration::from_millis(25));
    let ratio = rate(independent(), short) / rate(independent(), reference);
    assert!((0.85..1.2).contains(&ratio), "{ratio}");
    let ratio = rate(Prague::new(), short) / rate(Prague::new(), reference);
    assert!((4.7..5.3).contains(&ratio), "{ratio}");
}

/// After a timeout, the acknowledgement of a retransmission covers what was selectively acknowledged before.
#[test]
fn slow_start_ends_at_the_threshold_whatever_is_acknowledged() {
    let mut law = Prague::new();
    let mut window = Window { cwnd: 1.0, ssthresh: 12.0 };
    law.on_ack(&mut window, &Acknowledgement::of(4.0));
    assert_eq!(window.cwnd, 5.0);
    law.on_ack(&mut window, &Acknowledgement::of(550.0));
    assert_eq!(window.cwnd, 13.0);
}
