use super::*;

const RTT: Duration = Duration::from_millis(100);

/// Delivers `rate` segments per second for that time, by an acknowledgement per millisecond.
fn deliver(law: &mut Westwood, start: Instant, rate: f64, time: Duration) -> Instant {
    let (mut now, step) = (start, Duration::from_millis(1));
    while now < start + time {
        now += step;
        law.on_delivery(&Delivery { now, delivered: rate * step.as_secs_f64(), marked: 0.0, rtt: Some(RTT) });
    }
    now
}

#[test]
fn after_a_loss_the_window_is_what_the_path_carries() {
    for filter in [BandwidthFilter::Tustin, BandwidthFilter::Cascade] {
        let mut law = Westwood::plus(filter);
        deliver(&mut law, Instant::ZERO, 500.0, Duration::from_secs(5));
        let mut window = Window { cwnd: 80.0, ssthresh: 60.0 };
        law.on_congestion(&mut window, &CongestionSignal::loss(80.0));
        assert!((window.ssthresh - 50.0).abs() < 0.01 && window.cwnd == window.ssthresh, "{window:?}");
        // A smaller window stays as it is.
        let mut window = Window { cwnd: 20.0, ssthresh: 60.0 };
        law.on_congestion(&mut window, &CongestionSignal::loss(20.0));
        assert_eq!(window.cwnd, 20.0);
        assert!((window.ssthresh - 50.0).abs() < 0.01);
    }
}

#[test]
fn a_timeout_leaves_one_segment_and_the_same_threshold() {
    let mut law = Westwood::plus(BandwidthFilter::Cascade);
    deliver(&mut law, Instant::ZERO, 500.0, Duration::from_secs(5));
    let mut window = Window { cwnd: 80.0, ssthresh: 60.0 };
    law.on_timeout(&mut window, &CongestionSignal::loss(80.0), false);
    assert!(window.cwnd == 1.0 && (window.ssthresh - 50.0).abs() < 0.01, "{window:?}");
    window.ssthresh = 7.0;
    law.on_timeout(&mut window, &CongestionSignal::loss(1.0), true);
    assert_eq!(window.ssthresh, 7.0);
}

/// Step responses: 0.9 b + 0.05 (s + s') after n samples of the new rate, and two filters of 7/8 in series.
#[test]
fn the_filters_follow_a_change_of_the_rate() {
    for filter in [BandwidthFilter::Tustin, BandwidthFilter::Cascade] {
        let mut law = Westwood::plus(filter);
        let now = deliver(&mut law, Instant::ZERO, 100.0, Duration::from_secs(3));
        let before = law.bandwidth.expect("an estimate");
        assert!((before - 100.0).abs() < 1e-6);
        deliver(&mut law, now, 200.0, Duration::from_millis(1050));
        // Ten samples, the first of which may contain some milliseconds of the old rate.
        let n = 10i32;
        let expected = match filter {
            BandwidthFilter::Tustin => 200.0 - 100.0 * 0.95 * 0.9f64.powi(n - 1),
            BandwidthFilter::Cascade => 200.0 - 100.0 * 0.875f64.powi(n) * (1.0 + f64::from(n) / 8.0),
        };
        let actual = law.bandwidth.expect("an estimate");
        assert!((actual - expected).abs() < 1.0, "{filter:?}: {actual} instead of {expected}");
    }
}

#[test]
fn a_short_round_trip_time_is_sampled_every_50_ms() {
    let mut law = Westwood::plus(BandwidthFilter::Tustin);
    let mut now = Instant::ZERO;
    for _ in 0..50 {
        law.on_delivery(&Delivery { now, delivered: 1.0, marked: 0.0, rtt: Some(Duration::from_millis(2)) });
        now += Duration::from_millis(1);
    }
    assert_eq!(law.bandwidth, None);
    law.on_delivery(&Delivery { now, delivered: 1.0, marked: 0.0, rtt: None });
    assert_eq!(law.bandwidth, Some(1000.0));
}

#[test]
fn without_an_estimate_a_loss_halves_the_window() {
    let mut window = Window { cwnd: 10.0, ssthresh: 100.0 };
    Westwood::plus(BandwidthFilter::Cascade).on_congestion(&mut window, &CongestionSignal::loss(10.0));
    assert_eq!((window.cwnd, window.ssthresh), (5.0, 5.0));
}

/// All acknowledgements of a window may arrive at once, as over a path without a bottleneck.
#[test]
fn a_burst_of_acknowledgements_counts_as_a_whole() {
    let mut law = Westwood::plus(BandwidthFilter::Tustin);
    for round in 0..100 {
        for _ in 0..20 {
            let now = Instant::ZERO + RTT * round;
            law.on_delivery(&Delivery { now, delivered: 1.0, marked: 0.0, rtt: Some(RTT) });
        }
    }
    let mut window = Window { cwnd: 20.0, ssthresh: 2.0 };
    law.on_congestion(&mut window, &CongestionSignal::loss(20.0));
    assert!((19.5..20.5).contains(&window.ssthresh), "{}", window.ssthresh);
}

#[test]
fn linux_halves_and_sets_the_window_at_the_end_of_the_recovery() {
    let mut law = Westwood::linux(NewReno::rfc5681());
    deliver(&mut law, Instant::ZERO, 500.0, Duration::from_secs(5));
    let mut window = Window { cwnd: 80.0, ssthresh: 60.0 };
    law.on_congestion(&mut window, &CongestionSignal::loss(80.0));
    assert_eq!((window.cwnd, window.ssthresh), (40.0, 40.0));
    law.on_recovery_end(&mut window);
    assert!((window.ssthresh - 50.0).abs() < 0.01 && window.cwnd == window.ssthresh, "{window:?}");
    // A mark is not followed by a recovery.
    let mut window = Window { cwnd: 80.0, ssthresh: 60.0 };
    let mark = CongestionSignal { cause: CongestionCause::Mark, ..CongestionSignal::loss(80.0) };
    law.on_congestion(&mut window, &mark);
    assert!((window.cwnd - 50.0).abs() < 0.01, "{window:?}");
}
