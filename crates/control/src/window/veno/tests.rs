use super::*;
use whimbrel_units::Instant;

const BASE: Duration = Duration::from_millis(100);

/// A flow in congestion avoidance with that window, whose least round-trip time is 100 ms.
fn veno(cwnd: f64) -> (Veno, Window) {
    let mut law = Veno::new();
    for _ in 0..3 {
        law.on_delivery(&Delivery { now: Instant::ZERO, delivered: 1.0, marked: 0.0, rtt: Some(BASE) });
    }
    (law, Window { cwnd, ssthresh: 2.0 })
}

fn ack(rtt: Duration) -> Acknowledgement {
    Acknowledgement { smoothed_rtt: Some(rtt), ..Acknowledgement::of(1.0) }
}

/// N = 40 (1 - 100 / RTT): 3 at 108.1 ms.
#[test]
fn the_backlog_is_the_own_share_of_the_queue() {
    for (rtt_us, backlog) in [(100_000, 0.0), (108_108, 3.0), (125_000, 8.0), (200_000, 20.0)] {
        let (mut law, mut window) = veno(40.0);
        law.on_ack(&mut window, &ack(Duration::from_micros(rtt_us)));
        assert!((law.backlog - backlog).abs() < 1e-3, "{rtt_us} us: {}", law.backlog);
    }
}

#[test]
fn a_loss_with_a_small_backlog_is_random() {
    for (rtt_us, cwnd) in [(108_000, 32.0), (108_200, 20.0)] {
        let (mut law, mut window) = veno(40.0);
        law.on_ack(&mut window, &ack(Duration::from_micros(rtt_us)));
        law.on_congestion(&mut window, &CongestionSignal::loss(40.0));
        assert_eq!((window.cwnd, window.ssthresh), (cwnd, cwnd), "{rtt_us} us");
    }
}

#[test]
fn a_mark_is_congestion_whatever_the_backlog() {
    let (mut law, mut window) = veno(40.0);
    law.on_ack(&mut window, &ack(BASE));
    let signal = CongestionSignal { cause: CongestionCause::Mark, ..CongestionSignal::loss(40.0) };
    law.on_congestion(&mut window, &signal);
    assert_eq!(window.cwnd, 20.0);
}

#[test]
fn with_a_large_backlog_every_other_ack_increases_the_window() {
    let grown = |rtt| {
        let (mut law, mut window) = veno(40.0);
        (0..40).for_each(|_| law.on_ack(&mut window, &ack(rtt)));
        window.cwnd - 40.0
    };
    let (small, large) = (grown(BASE), grown(BASE * 2));
    assert!((0.98..1.0).contains(&small), "{small}");
    assert!((0.49..0.5).contains(&large), "{large}");
}

#[test]
fn slow_start_is_not_slowed_down() {
    let (mut law, mut window) = veno(40.0);
    window.ssthresh = 1000.0;
    (0..10).for_each(|_| law.on_ack(&mut window, &ack(BASE * 2)));
    assert_eq!(window.cwnd, 50.0);
}

#[test]
fn without_samples_veno_is_reno() {
    let (mut law, mut window) = (Veno::new(), Window { cwnd: 10.0, ssthresh: 2.0 });
    for _ in 0..4 {
        law.on_ack(&mut window, &ack(BASE));
    }
    let (mut reno, mut expected) = (NewReno::rfc5681(), Window { cwnd: 10.0, ssthresh: 2.0 });
    for _ in 0..4 {
        reno.on_ack(&mut expected, &ack(BASE));
    }
    assert_eq!(window, expected);
    law.on_congestion(&mut window, &CongestionSignal::loss(10.0));
    assert_eq!(window.cwnd, 5.0);
}

#[test]
fn a_timeout_is_that_of_reno() {
    let (mut law, mut window) = veno(40.0);
    law.on_ack(&mut window, &ack(BASE));
    law.on_timeout(&mut window, &CongestionSignal::loss(40.0), false);
    assert_eq!((window.cwnd, window.ssthresh), (1.0, 20.0));
}
