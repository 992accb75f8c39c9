use super::*;

/// A path of constant round-trip time on which every segment is acknowledged by itself, at equal distances.
struct Path {
    now: Instant,
    rtt: Duration,
    window: Window,
    law: Cubic,
    acknowledged: u64,
}

impl Path {
    /// A flow in congestion avoidance with that window.
    fn new(law: Cubic, cwnd: f64, rtt: Duration) -> Self {
        let window = Window { cwnd, ssthresh: cwnd };
        Self { now: Instant::ZERO, rtt, window, law, acknowledged: 0 }
    }

    fn acknowledge(&mut self) {
        self.now += Duration::from_secs_f64(self.rtt.as_secs_f64() / self.window.cwnd);
        self.acknowledged += 1;
        let delivery = Delivery { now: self.now, delivered: 1.0, marked: 0.0, rtt: Some(self.rtt) };
        self.law.on_delivery(&delivery);
        let (now, in_flight) = (self.now, self.window.cwnd);
        let ack = Acknowledgement { now, acked: 1.0, in_flight, smoothed_rtt: Some(self.rtt) };
        self.law.on_ack(&mut self.window, &ack);
    }

    fn run(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.acknowledge();
        }
    }

    fn lose(&mut self) {
        let signal = CongestionSignal::loss(self.window.cwnd);
        self.law.on_congestion(&mut self.window, &signal);
    }
}

fn close(actual: f64, expected: f64, within: f64) {
    assert!((actual / expected - 1.0).abs() < within, "{actual} instead of {expected}");
}

/// Equation 1: with W_max = 1000 and C = 0.4, K is (1000 · 0.3 / 0.4)^(1/3) = 9.086 s; the function is flat
/// around it.
#[test]
fn the_window_follows_the_cubic_function() {
    let mut path = Path::new(Cubic::rfc9438(), 1000.0, Duration::from_millis(50));
    path.lose();
    assert_eq!((path.window.cwnd, path.window.ssthresh), (700.0, 700.0));
    let k = libm::cbrt(750.0);
    let start = path.now;
    for seconds in [2, 5, 9, 12, 15] {
        path.run(start + Duration::from_secs(seconds) - path.now);
        let expected = 0.4 * (seconds as f64 - k).powi(3) + 1000.0;
        // Each acknowledgement aims at the window one round-trip time ahead.
        close(path.window.cwnd, expected, 0.01);
    }
}

/// Section 5.2, equation 6: a loss every 1/p packets gives a mean window of 1.054 (RTT / p)^(3/4) segments,
/// above the Reno-friendly region. The largest one is 4 / (3 + 0.7) of it. As the function is flat there, all
/// windows around it decay slowly: the flow begins at the largest window and has to keep it.
#[test]
fn the_mean_window_under_periodic_losses_is_that_of_the_rfc() {
    for (rtt, p) in [(0.1, 1e-5), (0.2, 5e-6), (0.05, 2e-6)] {
        let mean = 1.0538 * libm::pow(rtt / p, 0.75);
        let law = Cubic::rfc9438().without_fast_convergence();
        let mut path = Path::new(law, mean * 4.0 / 3.7, Duration::from_secs_f64(rtt));
        path.lose();
        for _ in 0..3 {
            let start = path.now;
            for _ in 0..(1.0 / p) as u64 {
                path.acknowledge();
            }
            close(path.window.cwnd, mean * 4.0 / 3.7, 0.002);
            close(rtt / p / (path.now - start).as_secs_f64(), mean, 0.005);
            path.lose();
        }
    }
}

/// Section 4.3: alpha is 3 (1 - 0.7) / (1 + 0.7) segments per round-trip time, and 1 from the window before
/// the reduction on.
#[test]
fn on_a_short_path_the_window_grows_as_reno_would() {
    let mut path = Path::new(Cubic::rfc9438(), 20.0, Duration::from_millis(10));
    path.lose();
    assert_eq!(path.window.cwnd, 14.0);
    path.run(Duration::from_millis(100));
    close(path.window.cwnd - 14.0, 10.0 * 9.0 / 17.0, 0.01);
    path.run(Duration::from_millis(14));
    while path.window.cwnd < 20.0 {
        path.acknowledge();
    }
    path.run(Duration::from_millis(100));
    close(path.window.cwnd - 20.0, 10.0, 0.02);
}

/// Section 4.7.
#[test]
fn a_window_that_shrinks_leaves_capacity_to_others() {
    let mut path = Path::new(Cubic::rfc9438(), 100.0, Duration::from_millis(100));
    path.lose();
    path.acknowledge();
    let before = path.window.cwnd;
    path.lose();
    assert_eq!(path.law.w_max, before * 0.85);
    let mut path = Path::new(Cubic::rfc9438().without_fast_convergence(), 100.0, Duration::from_millis(100));
    path.lose();
    path.acknowledge();
    let before = path.window.cwnd;
    path.lose();
    assert_eq!(path.law.w_max, before);
}

/// Section 4.6: two segments after a loss, one after a mark.
#[test]
fn a_mark_may_reduce_the_window_to_one_segment() {
    let mut path = Path::new(Cubic::rfc9438(), 2.0, Duration::from_millis(100));
    path.lose();
    assert_eq!((path.window.cwnd, path.window.ssthresh), (2.0, 2.0));
    for _ in 0..3 {
        let in_flight = path.window.cwnd;
        let signal = CongestionSignal { cause: CongestionCause::Mark, ..CongestionSignal::loss(in_flight) };
        path.law.on_congestion(&mut path.window, &signal);
    }
    assert_eq!((path.window.cwnd, path.window.ssthresh), (1.0, 2.0));
}

/// Section 4.8: after a timeout slow start up to 0.7 of the data in flight, then a stage with K = 0.
#[test]
fn the_stage_after_a_timeout_begins_at_its_own_maximum() {
    let mut path = Path::new(Cubic::rfc9438(), 1000.0, Duration::from_millis(50));
    let signal = CongestionSignal::loss(1000.0);
    path.law.on_timeout(&mut path.window, &signal, false);
    assert_eq!((path.window.cwnd, path.window.ssthresh), (1.0, 700.0));
    path.law.on_timeout(&mut path.window, &CongestionSignal::loss(1.0), true);
    assert_eq!(path.window.ssthresh, 700.0);
    while path.window.in_slow_start() {
        path.acknowledge();
    }
    path.run(Duration::from_secs(10));
    close(path.window.cwnd, 0.4 * 1000.0 + 700.0, 0.01);
}

/// Section 4.2: the window grows by half in a round-trip time at most.
#[test]
fn the_growth_is_less_than_that_of_slow_start() {
    let mut path = Path::new(Cubic::rfc9438(), 10.0, Duration::from_secs(5));
    path.lose();
    path.run(Duration::from_secs(60));
    let before = path.window.cwnd;
    path.run(Duration::from_secs(5));
    let growth = path.window.cwnd / before;
    assert!((1.45..1.66).contains(&growth), "{growth}");
}

/// Section 4.2: t does not include periods in which the window was not updated.
#[test]
fn a_pause_is_no_time_for_growth() {
    let rtt = Duration::from_millis(50);
    let mut steady = Path::new(Cubic::rfc9438(), 1000.0, rtt);
    steady.lose();
    steady.run(Duration::from_secs(2));
    let mut pausing = Path::new(Cubic::rfc9438(), 1000.0, rtt);
    pausing.lose();
    pausing.run(Duration::from_secs(1));
    pausing.now += Duration::from_secs(100);
    pausing.run(Duration::from_secs(1));
    close(pausing.window.cwnd, steady.window.cwnd, 0.01);
}

/// RFC 9406: slow start ends where the round-trip time rises, and the first stage has K = 0 (RFC 9438,
/// Section 4.10).
#[test]
fn with_hystart_slow_start_ends_before_a_loss() {
    let mut path = Path::new(Cubic::rfc9438().with_hystart(), 10.0, Duration::from_millis(100));
    path.window.ssthresh = f64::INFINITY;
    while path.window.cwnd < 200.0 {
        path.acknowledge();
    }
    while path.window.in_slow_start() {
        // A queue builds up.
        path.rtt += Duration::from_micros(200);
        path.acknowledge();
        assert!(path.window.cwnd < 2000.0);
    }
    let at_exit = path.window.cwnd;
    assert_eq!(path.window.ssthresh, at_exit);
    path.acknowledge();
    assert_eq!((path.law.w_max, path.law.prior), (at_exit, Some(at_exit)));
    // Another slow start, after a timeout, has no such end.
    path.law.on_timeout(&mut path.window, &CongestionSignal::loss(400.0), false);
    while path.window.in_slow_start() {
        path.rtt += Duration::from_millis(1);
        path.acknowledge();
    }
    assert!(path.window.cwnd >= 280.0);
}
