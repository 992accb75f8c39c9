use super::super::{ClockSkew, PacketArrival, Rott};
use std::vec::Vec;
use whimbrel_units::ByteCount;

/// Knuth's MMIX linear congruential generator.
struct Lcg(u64);

impl Lcg {
    fn fraction(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

/// Corrected trip times, in milliseconds above the first, of packets that arrive every 20 ms by the
/// receiver's clock. Trip times grow by `skew` per second, and a queue adds `queue_ms`.
fn corrected(seconds: u32, skew: f64, mut queue_ms: impl FnMut(f64) -> f64) -> (Vec<f64>, f64) {
    let mut clocks = ClockSkew::default();
    let mut first = None;
    let mut left = Vec::new();
    for number in 0..u64::from(seconds) * 50 {
        let now_ns = 20_000_000 * number as i64;
        let now_s = now_ns as f64 * 1e-9;
        let rott_ns = ((30.0 + queue_ms(now_s)) * 1e6 + skew * now_s * 1e9) as i64;
        // The timestamp on the wire has a resolution of 10 microseconds.
        let sent_ns = (now_ns - rott_ns) / 10_000 * 10_000;
        let arrival = PacketArrival::recorded(number, ByteCount::new(1000), now_ns, Some(sent_ns));
        let rott = Rott::of(&clocks.correct(arrival)).unwrap();
        left.push((rott - *first.get_or_insert(rott)) * 1e-6);
    }
    (left, clocks.skew())
}

/// A queue that is empty for one packet in twenty, and of up to 80 ms for the others.
fn busy(random: &mut Lcg) -> f64 {
    (random.fraction() * 1.05 - 0.05).max(0.0) * 80.0
}

#[test]
fn a_fast_or_slow_clock_is_detected_below_a_busy_queue() {
    for skew in [100e-6, -100e-6, 20e-6, -300e-6] {
        let mut random = Lcg(7);
        let (left, found) = corrected(300, skew, |_| busy(&mut random));
        assert!((found - skew).abs() < 0.02 * skew.abs() + 0.5e-6, "{found} instead of {skew}");
        // From the eleventh window on, the minimum trip time is constant; it had moved by the drift of two
        // minutes.
        let least = |from: usize, to: usize| left[from..to].iter().copied().fold(f64::MAX, f64::min);
        let moved = least(14_000, 15_000) - least(6_000, 7_000);
        assert!(moved.abs() < 0.6, "skew {skew}: the least trip time moved by {moved} ms in 160 s");
    }
}

#[test]
fn clocks_without_skew_are_not_corrected() {
    let mut random = Lcg(3);
    let (_, found) = corrected(300, 0.0, |_| busy(&mut random));
    assert!(found.abs() < 0.3e-6, "{found}");
    // A queue that is never empty and varies: its minima do not lie on a line.
    let mut random = Lcg(4);
    let (mut level, mut next) = (40.0, 0.0);
    let (left, found) = corrected(600, 0.0, |now| {
        if now >= next {
            (level, next) = (20.0 + 60.0 * random.fraction(), now + 10.0);
        }
        level
    });
    assert_eq!(found, 0.0);
    assert!(left.iter().all(|ms| ms.abs() <= 60.01), "trip times are as they were");
}

#[test]
fn a_queue_that_is_never_empty_yields_no_skew_estimate() {
    // Its minimum over ten seconds lies anywhere within three packet times of 10 ms, as on a shared backbone.
    for seed in 0..60 {
        let mut random = Lcg(seed);
        let (mut level, mut next) = (0.0, 0.0);
        let (_, found) = corrected(300, 0.0, |now| {
            if now >= next {
                (level, next) = (40.0 + 30.0 * random.fraction(), now + 10.0);
            }
            level
        });
        assert_eq!(found, 0.0, "seed {seed}");
    }
}

#[test]
fn a_drift_beyond_that_of_clocks_is_not_corrected() {
    // A queue that grows by 1 ms a second for two minutes.
    let (_, found) = corrected(120, 0.0, |now| now);
    assert_eq!(found, 0.0);
}

#[test]
fn a_path_change_is_not_mistaken_for_a_clock_step() {
    let mut clocks = ClockSkew::default();
    let mut arrive = |number: u64, base_ms: f64, changed: bool| {
        let now_ns = 100_000_000 * number as i64;
        let rott_ns = (base_ms * 1e6) as i64 + now_ns / 10_000;
        if changed {
            clocks.on_path_change();
        }
        let _ = clocks.correct(PacketArrival::recorded(
            number,
            ByteCount::new(1),
            now_ns,
            Some(now_ns - rott_ns),
        ));
        clocks.skew()
    };
    for number in 0..1000 {
        arrive(number, 30.0, false);
    }
    let before = arrive(1000, 30.0, false);
    assert!((before - 100e-6).abs() < 1e-6, "{before}");
    let mut skews = (1001..2500).map(|number| arrive(number, 32.0, number == 1001));
    assert!(skews.all(|skew| (skew - 100e-6).abs() < 1e-6));
}

/// A receiver's clock that shows `now`, a sender's clock with a skew of `ppm` and a data path with a queue
/// that is never empty. A timestamp is echoed every 200 ms. Returns the skew found after `seconds`.
fn with_return_path(seconds: u32, ppm: f64, mut back_ms: impl FnMut(&mut Lcg) -> f64) -> f64 {
    let (mut clocks, mut random) = (ClockSkew::default(), Lcg(11));
    let (mut level, mut next) = (40.0, 0.0);
    let sender = |ns: f64| (ns * (1.0 + ppm * 1e-6)) as i64 / 10_000 * 10_000;
    for number in 0..u64::from(seconds) * 50 {
        let now_ns = 20_000_000.0 * number as f64;
        if now_ns * 1e-9 >= next {
            (level, next) = (40.0 + 30.0 * random.fraction(), now_ns * 1e-9 + 10.0);
        }
        let sent = sender(now_ns - level * 1e6);
        let arrival = PacketArrival::recorded(number, ByteCount::new(1000), now_ns as i64, Some(sent));
        let _ = clocks.correct(arrival);
        if number % 10 == 0 {
            let left_ns = now_ns as i64 - 100_000_000;
            let came = sender(left_ns as f64 + (20.0 + back_ms(&mut random)) * 1e6);
            let [left, came] =
                [left_ns, came].map(|ns| PacketArrival::recorded(0, ByteCount::ZERO, ns, None).at);
            clocks.on_return_trip(arrival.at, left, came);
        }
    }
    clocks.skew()
}

#[test]
fn the_return_path_shows_the_skew_if_the_data_queue_is_never_empty() {
    for ppm in [-50.0, -200.0, 200.0, 20.0] {
        // Trip times gain the time that the sender's clock loses.
        let found = with_return_path(60, ppm, |_| 0.0);
        assert!((found + ppm * 1e-6).abs() < 1.5e-6, "{found} for {ppm} ppm");
        // Some acknowledgements wait for others.
        let found = with_return_path(120, ppm, |random| (4.0 * random.fraction() - 2.0).max(0.0));
        assert!((found + ppm * 1e-6).abs() < 3e-6, "{found} for {ppm} ppm");
    }
}

#[test]
fn clocks_without_skew_are_not_corrected_by_the_return_path() {
    let found = with_return_path(120, 0.0, |_| 0.0);
    assert!(found.abs() < 1.5e-6, "{found}");
    // If the return path is as busy as the data path, no skew is found.
    let found = with_return_path(120, -200.0, |random| 10.0 + 60.0 * random.fraction());
    assert_eq!(found, 0.0);
}

/// Algorithms keep the minimum trip time forever, including that from before the skew was known.
#[test]
fn the_minimum_trip_time_is_unchanged_once_the_skew_is_known() {
    for skew in [200e-6, -200e-6] {
        let (left, _) = corrected(300, skew, |now| if now % 10.0 < 0.02 { 0.0 } else { 40.0 });
        let least = |from: usize, to: usize| left[from..to].iter().copied().fold(f64::MAX, f64::min);
        let (ever, late) = (least(0, 15_000), least(14_000, 15_000));
        assert!((late - ever).abs() < 0.5, "skew {skew}: {late} ms now, {ever} ms at least");
    }
}
