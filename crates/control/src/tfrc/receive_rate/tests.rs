use proptest::prelude::*;

use super::*;

const RTT: Duration = Duration::from_millis(100);

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn whole_bytes(rate: ReceiveRate) -> u64 {
    rate.data.as_bytes_per_second().round() as u64
}

fn kilobytes(rate: f64) -> DataRate {
    DataRate::from_bytes_per_second(rate * 1000.0)
}

/// Ten packets of 500 bytes in each round-trip time of 100 ms: 50 kB/s, 100 packets per second.
#[test]
fn the_rate_covers_the_data_since_the_last_feedback() {
    let mut meter = ReceiveRateMeter::new(ms(0));
    for _ in 0..10 {
        meter.on_data(ByteCount::new(500));
    }
    let rate = meter.on_feedback(ms(100), RTT);
    assert_eq!(rate, ReceiveRate { data: kilobytes(50.0), packets_per_second: 100.0 });
    // Half of that in the next 100 ms.
    for _ in 0..5 {
        meter.on_data(ByteCount::new(500));
    }
    assert_eq!(meter.on_feedback(ms(200), RTT).data, kilobytes(25.0));
    assert_eq!(meter.peak_packets_per_second(ms(200), RTT), 100.0);
}

/// A feedback 20 ms after the last covers 120 ms, back to the previous feedback.
#[test]
fn an_early_feedback_covers_a_round_trip() {
    let mut meter = ReceiveRateMeter::new(ms(0));
    meter.on_feedback(ms(0), RTT);
    meter.on_data(ByteCount::new(9_000));
    meter.on_feedback(ms(100), RTT);
    meter.on_data(ByteCount::new(3_000));
    assert_eq!(whole_bytes(meter.on_feedback(ms(120), RTT)), 100_000);
    // The next regular feedback, a round-trip time later, starts at 120 ms again.
    meter.on_data(ByteCount::new(1_000));
    assert_eq!(whole_bytes(meter.on_feedback(ms(220), RTT)), 10_000);
}

#[test]
fn a_single_packet_is_measured_as_one_per_round_trip() {
    let mut meter = ReceiveRateMeter::new(ms(0));
    meter.on_data(ByteCount::new(1000));
    assert_eq!(meter.measure(ms(0), RTT).data, kilobytes(10.0));
    assert_eq!(meter.measure(ms(0), Duration::ZERO), ReceiveRate::default());
}

#[test]
fn the_rate_is_not_limited_for_two_round_trips() {
    let mut set = ReceiveRateSet::new(ms(0));
    set.update(ms(100), kilobytes(1.0), RTT);
    set.update(ms(200), kilobytes(2.0), RTT);
    assert_eq!(set.max(), DataRate::INFINITE);
    set.update(ms(300), kilobytes(1.5), RTT);
    assert_eq!(set.max(), kilobytes(2.0));
}

#[test]
fn reports_older_than_two_round_trips_are_removed() {
    let mut set = ReceiveRateSet::new(ms(0));
    set.replace(ms(0), kilobytes(9.0));
    set.update(ms(200), kilobytes(1.0), RTT);
    assert_eq!(set.max(), kilobytes(9.0));
    set.update(ms(201), kilobytes(2.0), RTT);
    assert_eq!(set.max(), kilobytes(2.0));
}

#[test]
fn only_the_last_three_are_kept() {
    let mut set = ReceiveRateSet::new(ms(0));
    for (i, rate) in [9.0, 1.0, 2.0, 3.0].into_iter().enumerate() {
        set.update(ms(i as u64), kilobytes(rate), RTT);
    }
    assert_eq!(set.max(), kilobytes(3.0));
}

#[test]
fn maximizing_keeps_the_greatest_report_but_not_infinity() {
    let mut set = ReceiveRateSet::new(ms(0));
    set.maximize(ms(10), kilobytes(5.0));
    assert_eq!(set.max(), kilobytes(5.0));
    set.maximize(ms(1000), kilobytes(1.0));
    assert_eq!(set.max(), kilobytes(5.0));
    // Its time is the last call of maximize.
    set.update(ms(1200), kilobytes(1.0), RTT);
    assert_eq!(set.max(), kilobytes(5.0));
    set.update(ms(1201), kilobytes(1.0), RTT);
    assert_eq!(set.max(), kilobytes(1.0));
}

proptest! {
    #[test]
    fn the_rate_covers_at_least_a_round_trip(
        steps in proptest::collection::vec((1u64..60, 0u64..3000, any::<bool>()), 1..80)
    ) {
        let (mut now, mut meter) = (ms(0), ReceiveRateMeter::new(ms(0)));
        let mut arrivals = alloc::vec![];
        for (gap, size, feedback) in steps {
            now += Duration::from_millis(gap);
            meter.on_data(ByteCount::new(size));
            arrivals.push((now, size));
            if feedback {
                let rate = meter.on_feedback(now, RTT).data.as_bytes_per_second();
                // At least the data of the last round-trip time, over the whole time covered.
                let recent: u64 = arrivals.iter().filter(|(at, _)| *at + RTT > now).map(|(_, size)| size).sum();
                let total: u64 = arrivals.iter().map(|(_, size)| size).sum();
                prop_assert!(rate <= total as f64 / RTT.as_secs_f64() + 1e-6);
                prop_assert!(rate * f64::max(now.as_secs_f64(), 0.1) >= recent as f64 - 1e-6);
            }
        }
    }

    #[test]
    fn the_set_is_never_empty_and_its_maximum_is_a_report(
        steps in proptest::collection::vec((0u64..500, 0.0f64..1e6, 0u8..4), 1..80)
    ) {
        let (mut now, mut set) = (ms(0), ReceiveRateSet::new(ms(0)));
        for (gap, rate, verb) in steps {
            now += Duration::from_millis(gap);
            let rate = DataRate::from_bytes_per_second(rate);
            match verb {
                0 | 1 => { set.update(now, rate, RTT); prop_assert!(set.max() >= rate); }
                2 => { set.maximize(now, rate); prop_assert!(set.max() >= rate && set.max() < DataRate::INFINITE); }
                _ => { let before = set.max(); set.halve(); prop_assert_eq!(set.max(), before / 2.0); }
            }
        }
    }
}

/// RFC 5348, Section 6.2: "a minimum value for the measured receive rate X_recv of one packet per round-trip
/// time".
#[test]
fn after_a_silence_the_rate_is_at_least_a_packet_per_round_trip() {
    let rtt = Duration::from_millis(100);
    let mut meter = ReceiveRateMeter::new(Instant::ZERO);
    meter.begin(Instant::ZERO);
    let mut now = Instant::ZERO;
    for _ in 0..10 {
        now += rtt;
        (0..10).for_each(|_| meter.on_data(ByteCount::new(1000)));
        meter.on_feedback(now, rtt);
    }
    now += Duration::from_secs(30);
    meter.on_silence(now, rtt);
    meter.on_data(ByteCount::new(1000));
    let rate = meter.on_feedback(now, rtt);
    assert_eq!((rate.data.as_bytes_per_second(), rate.packets_per_second), (10_000.0, 10.0));
    // The measurement continues from there.
    now += rtt;
    meter.on_data(ByteCount::new(500));
    assert_eq!(meter.on_feedback(now, rtt).data.as_bytes_per_second(), 5_000.0);
}

/// The round-trip time may have grown since the feedback timer was set, which then expires early.
#[test]
fn data_of_the_last_round_trip_time_are_measured_though_the_feedback_timer_has_expired() {
    let (old, new) = (Duration::from_millis(20), Duration::from_millis(50));
    let mut meter = ReceiveRateMeter::new(ms(0));
    meter.begin(ms(0));
    for at in [20, 40] {
        meter.on_data(ByteCount::new(1000));
        meter.on_data(ByteCount::new(1000));
        meter.on_feedback(ms(at), old);
    }
    meter.on_silence(ms(80), new);
    meter.on_data(ByteCount::new(1000));
    // Since the feedback at 20 ms: the two packets before that at 40 ms, and the one that arrives now.
    assert_eq!(meter.on_feedback(ms(80), new).data.as_bytes_per_second().round(), 50_000.0);
}
