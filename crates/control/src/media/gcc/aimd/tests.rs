use super::*;

fn kbps(rate: f64) -> DataRate {
    DataRate::from_kilobits_per_second(rate)
}

/// A rate of `rate` kbit/s, with a round-trip time of 200 ms.
fn aimd(rate: f64) -> Aimd {
    let mut aimd = Aimd::new(0.85, kbps(30_000.0), Duration::from_millis(200));
    aimd.set_start(kbps(rate));
    aimd.set_min(kbps(5.0));
    aimd
}

fn assert_rate(aimd: &Aimd, expected: f64) {
    let rate = aimd.rate().as_bits_per_second() / 1e3;
    assert!((rate - expected).abs() < 1e-9, "{rate} {expected}");
}

const fn at(milliseconds: u64) -> Instant {
    Instant::from_millis(milliseconds)
}

#[test]
fn the_additive_step_is_a_packet_in_a_response_time() {
    // 300 kbit/s at 30 frames per second are 1250 bytes, two packets of 5000 bits; the response time is
    // 2 (200 + 100) ms.
    assert!((aimd(300.0).increase_per_second() - 5000.0 / 0.6).abs() < 1e-6);
    // 8 packets of 8333.3 bits.
    assert!((aimd(2000.0).increase_per_second() - 2e6 / 30.0 / 7.0 / 0.6).abs() < 1e-6);
    // 60 kbit/s would give 2000 bits / 0.6 s.
    assert_eq!(aimd(60.0).increase_per_second(), 4000.0);
}

#[test]
fn the_rate_grows_by_8_percent_in_a_second_while_the_capacity_is_unknown() {
    let mut aimd = aimd(1000.0);
    aimd.update(Usage::Normal, Some(kbps(1000.0)), at(0));
    // At least 1 kbit/s.
    assert_rate(&aimd, 1001.0);
    aimd.update(Usage::Normal, Some(kbps(1000.0)), at(500));
    assert_rate(&aimd, 1001.0 * 1.08_f64.sqrt());
    let before = aimd.rate().as_bits_per_second() / 1e3;
    aimd.update(Usage::Normal, Some(kbps(1000.0)), at(5500));
    assert_rate(&aimd, before * 1.08);
}

#[test]
fn the_rate_grows_to_one_and_a_half_times_what_is_acknowledged() {
    let mut aimd = aimd(1000.0);
    for second in 0..10 {
        aimd.update(Usage::Normal, Some(kbps(700.0)), Instant::from_secs(second));
    }
    assert_rate(&aimd, 1060.0);
}

#[test]
fn overuse_reduces_the_rate_below_what_is_acknowledged_and_growth_becomes_additive() {
    let mut aimd = aimd(1000.0);
    aimd.update(Usage::Over, Some(kbps(800.0)), at(0));
    // 0.85 * 800 - 5.
    assert_rate(&aimd, 675.0);
    // The capacity is 800 with a deviation of sqrt(0.4 * 800) = 17.889.
    assert!((aimd.capacity.upper_bound().as_bits_per_second() / 1e3 - 853.666).abs() < 1e-3);
    aimd.update(Usage::Under, Some(kbps(800.0)), at(100));
    assert_rate(&aimd, 675.0);
    aimd.update(Usage::Normal, Some(kbps(675.0)), at(200));
    assert_rate(&aimd, 675.0);
    aimd.update(Usage::Normal, Some(kbps(675.0)), at(700));
    // 675 kbit/s are 3 packets of 7500 bits in a frame: 12.5 kbit/s in a second.
    assert_rate(&aimd, 675.0 + 6.25);
}

#[test]
fn a_throughput_above_the_capacity_makes_growth_multiplicative_again() {
    let mut aimd = aimd(1000.0);
    aimd.update(Usage::Over, Some(kbps(800.0)), at(0));
    aimd.update(Usage::Normal, Some(kbps(854.0)), at(100));
    assert_eq!(aimd.capacity.estimate(), None);
    aimd.update(Usage::Normal, Some(kbps(854.0)), at(1100));
    assert!(aimd.rate() > kbps(675.0 * 1.08));
}

#[test]
fn a_second_decrease_waits_a_round_trip_time_or_half_of_the_throughput() {
    let mut aimd = aimd(1000.0);
    aimd.update(Usage::Over, Some(kbps(800.0)), at(0));
    assert!(!aimd.may_decrease(at(199), kbps(400.0)));
    assert!(aimd.may_decrease(at(199), kbps(337.0)));
    assert!(aimd.may_decrease(at(200), kbps(400.0)));
}

#[test]
fn the_additive_step_has_the_values_of_the_references_tests() {
    // aimd_rate_control_unittest.cc: rate in kbit/s, round-trip time in ms and increase in bit/s in a second.
    for (rate, rtt, expected) in
        [(30.0, 200, 4000.0), (90.0, 200, 5000.0), (60.0, 100, 5000.0), (216.0, 200, 12_000.0)]
    {
        let mut aimd = aimd(rate);
        aimd.set_rtt(Duration::from_millis(rtt));
        assert!((aimd.increase_per_second() - expected).abs() < 1e-6, "{rate}");
    }
    // From 264 to 216 kbit/s, by what is acknowledged.
    let mut aimd = aimd(264.0);
    aimd.update(Usage::Over, Some(kbps(221.0 / 0.85)), at(100));
    assert_rate(&aimd, 216.0);
}

#[test]
fn a_falling_throughput_stops_the_growth_and_leaves_the_rate() {
    let mut aimd = aimd(10.0);
    for tenth in 0..200 {
        aimd.update(Usage::Normal, Some(kbps(10.0)), at(100 * tenth));
    }
    assert_rate(&aimd, 25.0);
    aimd.update(Usage::Normal, Some(kbps(5.0)), at(20_000));
    assert_rate(&aimd, 25.0);
}
