use super::super::{LossDifferentiation, Parameters, Zbs};
use super::{packet, verdict};

/// Packets `interval` ms apart, after one pair 10 ms apart that sets T_min; trip times from `rott`.
fn run(zbs: &mut Zbs, packets: u64, interval: f64, rott: impl Fn(u64) -> f64) -> f64 {
    zbs.on_arrival(&packet(0, 0.0, rott(0)));
    zbs.on_arrival(&packet(1, 10.0, rott(1)));
    let mut now = 10.0;
    for sequence in 2..packets {
        now += interval;
        zbs.on_arrival(&packet(sequence, now, rott(sequence)));
    }
    now
}

/// The base scheme in use.
fn base(zbs: &mut Zbs) -> &'static str {
    verdict(zbs, 1, 5_000.0, 5_020.0);
    zbs.evidence().scheme()
}

/// Far from the minimum, and varying by more than T_min.
fn moving(sequence: u64) -> f64 {
    [0.0, 60.0, 30.0, 60.0][sequence as usize % 4]
}

#[test]
fn zbs_starts_with_zigzag_for_50_packets() {
    let mut zbs = Zbs::new();
    run(&mut zbs, 49, 10.0, moving);
    assert_eq!(base(&mut zbs), "zigzag");
    let mut zbs = Zbs::new();
    run(&mut zbs, 50, 10.0, moving);
    assert_eq!(base(&mut zbs), "biaz");
}

#[test]
fn zbs_starts_with_zigzag_for_3_seconds() {
    let mut zbs = Zbs::new();
    let now = run(&mut zbs, 5, 990.0, moving);
    assert_eq!((now, base(&mut zbs)), (2980.0, "zigzag"));
    zbs.on_arrival(&packet(5, 3000.0, 60.0));
    assert_eq!(base(&mut zbs), "spike");
}

#[test]
fn the_topology_decides_by_the_ratio_of_average_to_least() {
    // Long after the pair, T_avg equals the interval.
    for (interval, expected) in [
        (10.0, "biaz"),
        (10.99, "biaz"),
        (11.01, "zigzag"),
        (14.99, "zigzag"),
        (15.01, "spike"),
        (40.0, "spike"),
    ] {
        let mut zbs = Zbs::new();
        run(&mut zbs, 90, interval, moving);
        assert_eq!(base(&mut zbs), expected, "{interval} ms");
    }
}

#[test]
fn losses_lower_the_average_below_the_least() {
    // Every other packet is missing: 10 ms across two numbers.
    let mut zbs = Zbs::new();
    for i in 0..60 {
        zbs.on_arrival(&packet(2 * i, 10.0 * i as f64, moving(i)));
    }
    assert_eq!(base(&mut zbs), "zigzag");
    // Every eleventh: "(9 + 0.5) / 10 = 0.95" is the paper's limit; this stays above most of the time.
    let mut zbs = Zbs::new();
    for i in 0..=100 {
        zbs.on_arrival(&packet(i + i / 10, 10.0 * i as f64, moving(i)));
    }
    assert_eq!(base(&mut zbs), "zigzag", "right after a loss T_avg is 8.75 ms");
    for i in 1..=50 {
        assert_eq!(base(&mut zbs), "zigzag", "for 50 packets");
        zbs.on_arrival(&packet(110 + i, 1000.0 + 10.0 * i as f64, moving(i)));
    }
    // 10 - 1.25 x 0.75^50.
    assert_eq!(base(&mut zbs), "biaz");
}

#[test]
fn a_selected_scheme_is_used_for_50_packets() {
    let mut zbs = Zbs::new();
    // Modified Biaz is selected at the 50th packet; then the interval becomes 40 ms.
    let mut now = run(&mut zbs, 50, 10.0, moving);
    for i in 0..49 {
        now += 40.0;
        zbs.on_arrival(&packet(50 + i, now, moving(i)));
        assert_eq!(base(&mut zbs), "biaz", "{i}");
    }
    zbs.on_arrival(&packet(99, now + 40.0, 60.0));
    assert_eq!(base(&mut zbs), "spike");
}

#[test]
fn zbs2_uses_zigzag_if_trip_times_are_steady() {
    for (rott, plain, second) in [(moving as fn(u64) -> f64, "spike", "spike"), (|_| 20.0, "spike", "zigzag")]
    {
        let (mut zbs, mut zbs2) = (Zbs::new(), Zbs::zbs2());
        run(&mut zbs, 90, 40.0, rott);
        run(&mut zbs2, 90, 40.0, rott);
        assert_eq!((base(&mut zbs), base(&mut zbs2)), (plain, second));
    }
}

#[test]
fn zbs3_uses_spike_if_the_queues_are_empty() {
    let mut zbs = Zbs::zbs3();
    // The last packet's trip time is the minimum: within 0.05 T_min of it, for any topology.
    let now = run(&mut zbs, 89, 12.0, moving);
    zbs.on_arrival(&packet(89, now + 12.0, 0.49));
    assert_eq!(base(&mut zbs), "spike");
    zbs.on_arrival(&packet(90, now + 24.0, 0.5));
    assert_eq!(base(&mut zbs), "zigzag", "12 ms is between 1.1 and 1.5 T_min");
}

#[test]
fn zbs3_uses_zigzag_if_trip_times_are_steady_regardless_of_the_topology() {
    // 10 ms apart would select modified Biaz; trip times vary by 2 ms around 30, above a minimum of 20.
    let steady = |sequence: u64| if sequence == 0 { 28.0 } else { 29.0 + (sequence % 3) as f64 };
    let mut zbs = Zbs::zbs3();
    run(&mut zbs, 90, 10.0, steady);
    assert_eq!(base(&mut zbs), "zigzag");
    let mut zbs = Zbs::zbs3();
    run(&mut zbs, 90, 10.0, moving);
    assert_eq!(base(&mut zbs), "biaz");
}

/// An empty queue selects Spike at once; if locked, only after the minimum time of the first scheme.
#[test]
fn the_additional_conditions_of_zbs3_can_be_locked() {
    for (locked, expected) in [(false, "spike"), (true, "zigzag")] {
        let mut zbs = Zbs::zbs3().with(Parameters { zbs3_locked: locked, ..Parameters::PUBLISHED });
        run(&mut zbs, 30, 10.0, |_| 20.0);
        assert_eq!(base(&mut zbs), expected, "locked: {locked}");
        run(&mut zbs, 60, 10.0, |_| 20.0);
        assert_eq!(base(&mut zbs), "spike", "locked: {locked}");
    }
}

/// Jitter of up to 8 ms on packets 10 ms apart: T_narr is not meaningful, and the queue is empty.
#[test]
fn a_robust_zbs2_uses_trip_times_if_jitter_hides_t_min() {
    let mut state = 1u64;
    let mut jitter = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f64 / (1u64 << 21) as f64
    };
    let waits: std::vec::Vec<f64> =
        (0..1000).map(|number| if number < 900 { jitter() } else { 0.0 }).collect();
    // As published, trip times that vary little are assumed to show a last hop.
    for (parameters, expected) in [(Parameters::ROBUST, "spike"), (Parameters::PUBLISHED, "zigzag")] {
        let mut zbs = Zbs::zbs2().with(parameters);
        for (sequence, wait) in (0..).zip(&waits) {
            zbs.on_arrival(&packet(sequence, 10.0 * sequence as f64 + 20.0 + wait, 20.0 + wait));
        }
        assert_eq!(base(&mut zbs), expected);
    }
}
