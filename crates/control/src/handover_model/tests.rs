use proptest::prelude::*;

use super::disconnection::Disconnection;
use super::growth::{grow, rate};
use super::loss_events::*;
use super::networks::{by_name, table_3};
use super::round_trip::RoundTrips;
use super::slow_start::SlowStart;
use super::*;
use crate::tfrc::packets_per_round_trip;

/// 32 packets per second over 250 ms: X^i is 32, 16, 8, 4, 2, 1, 1/2, ... packets per second. Two packets
/// take longer than 4R = 1 s below two packets per second: i_t = log2(2 x 0.25 x 32) = 4, where the two are
/// equal. One packet in 64 s is 1/2048 of 32 per second: i_x = 11.
const GAP: Disconnection = Disconnection { x_d: 32.0, rtt: 0.25 };

fn p(p: f64) -> LossEventRate {
    LossEventRate::new(p)
}

fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-9 * b.abs().max(1.0), "{a} is not {b}");
}

#[test]
fn equation_5_halves_the_rate_down_to_a_packet_in_64_seconds() {
    assert_eq!(GAP.first_minimal_interval(), 11.0);
    for (i, rate) in [(0, 32.0), (1, 16.0), (5, 1.0), (10, 1.0 / 32.0), (11, 1.0 / 64.0), (12, 1.0 / 64.0)] {
        close(GAP.rate(i), rate);
    }
}

#[test]
fn equation_6_makes_intervals_as_long_as_two_packets_take() {
    assert_eq!(GAP.first_longer_interval(), 4.0);
    for (i, seconds) in
        [(0, 1.0), (3, 1.0), (4, 1.0), (5, 2.0), (6, 4.0), (10, 64.0), (11, 128.0), (20, 128.0)]
    {
        close(GAP.interval(i), seconds);
    }
}

#[test]
fn equation_7_counts_the_intervals_that_have_ended() {
    // Intervals end after 1, 2, 3, 4, 5, 7 and 11 s, and carry 32, 16, 8, 4, 2, 2 and 2 packets.
    for (t_d, n_d, lost) in
        [(0.5, 0, 16), (0.99, 0, 31), (1.0, 0, 32), (2.5, 2, 48), (3.5, 3, 56), (6.0, 5, 62), (8.0, 6, 64)]
    {
        assert_eq!((GAP.whole_intervals(t_d), GAP.lost_packets(t_d)), (n_d, lost), "{t_d} s");
    }
}

#[test]
fn equation_8_classifies_changes_of_the_loss_event_rate() {
    // Equation (9): fifty arrivals bring 1 % down to 6/(50 + 6/0.01) = 0.0092308.
    for (after, prediction) in [
        (0.01, Change::FirstLoss),
        (0.011, Change::MoreLosses),
        (0.009_24, Change::NoLoss),
        (0.009_22, Change::NewHistory),
    ] {
        assert_eq!(change(p(0.01), p(after), 50.0), prediction);
    }
}

#[test]
fn equation_10_moves_the_estimate_by_a_tenth_of_the_difference() {
    let rtts = RoundTrips { old: 1.0, new: 0.1 };
    for (i, estimate) in [(0, 1.0), (1, 0.91), (2, 0.829), (3, 0.7561)] {
        close(rtts.estimate(i), estimate);
    }
}

#[test]
fn equation_11_takes_almost_thirty_round_trips_to_five_percent() {
    // ln 0.05 / ln 0.9 = 28.4, the paper's "almost 30".
    let rtts = RoundTrips { old: 1.1, new: 0.1 };
    assert_eq!(rtts.samples_until_within(0.05), 29);
    assert!((rtts.estimate(29) - rtts.new) <= 0.05 && (rtts.estimate(28) - rtts.new) > 0.05);
    assert_eq!(rtts.samples_until_within(1.5), 0);
}

#[test]
fn equation_12_scales_the_rate_by_the_round_trip_times() {
    // R_r^1 = 0.1 x 0.1 + 0.9 x 1 = 0.91.
    close(RoundTrips { old: 1.0, new: 0.1 }.allowed_rate(91.0, 1), 100.0);
}

#[test]
fn equations_13_to_17_restore_an_eighth_of_the_rate_in_three_round_trips() {
    // Between equal networks (15) is 2^n > 8. The next packet is sent after half of 1/10 s; 80 - 10, 80 - 20
    // and 80 - 40 packets per second are missing for half a second each.
    let start = SlowStart { x_d: 80.0, x_c: 10.0, rtts: RoundTrips { old: 0.5, new: 0.5 } };
    close(start.rate(2), 40.0);
    close(start.f(3.0), 0.0);
    close(start.f_prime(3.0), 8.0 * core::f64::consts::LN_2);
    close(start.root(), 3.0);
    assert_eq!(start.round_trips(), 3);
    close(start.wasted(), 0.05 * 80.0 + 0.5 * (70.0 + 60.0 + 40.0));
    close(start.sent_packets(2), 0.5 * (10.0 + 20.0 + 40.0));
}

#[test]
fn equation_15_requires_more_round_trips_if_the_round_trip_time_decreases() {
    // R halves: 2^n/2 + 1.8^n/2 > 8 is 8/2 + 5.832/2 = 6.9 for n = 3 and 16/2 + 10.5/2 = 13.2 for n = 4.
    let start = SlowStart { x_d: 80.0, x_c: 10.0, rtts: RoundTrips { old: 1.0, new: 0.5 } };
    assert_eq!(start.round_trips(), 4);
    close(start.f(4.0), 8.0 + 10.4976 / 2.0 - 8.0);
}

#[test]
fn equations_18_and_19_agree_on_when_the_loss_event_rate_falls() {
    // 0.2 (50 + 60 + 70 + 80 + 90) = 70.
    let mut history = [0.0, 10.0, 20.0, 30.0, 50.0, 60.0, 70.0, 80.0, 90.0];
    close(packets_until_recovery(&history), 70.0);
    for (current, advantage) in [(0.0, -70.0), (70.0, 0.0), (75.0, 5.0)] {
        history[0] = current;
        close(advantage_of_current_interval(&history), advantage);
    }
}

#[test]
fn equation_20_waits_for_the_rest_of_an_interval() {
    // 1/0.001 = 1000 packets, of which 400 have been sent; the rest takes 6 s at 100 per second.
    close(recovery_time(100.0, p(0.001), 400.0), 6.0);
    assert_eq!(recovery_time(100.0, p(0.001), 1400.0), 0.0);
}

#[test]
fn equation_24_doubles_at_most_and_follows_the_loss_event_rate() {
    // p = 6/(600 + 6/0.01) = 0.005: sqrt(0.01/3) + 12 sqrt(0.015/8) 0.005 (1 + 0.0008) = 0.0577350 +
    // 0.0026001, over 0.1 s.
    let per_second = 1.0 / 0.1 / (0.057_735_027 + 0.002_600_154);
    assert!((rate(1000.0, p(0.01), 600.0, 0.1) / per_second - 1.0).abs() < 1e-6);
    close(rate(50.0, p(0.01), 600.0, 0.1), 100.0);
}

#[test]
fn equation_23_sums_the_unused_capacity_until_the_new_rate_is_reached() {
    // The equation allows far more than 10 packets per second at this loss event rate, so that the rate
    // doubles: 10, 20, 40, 80 of 70 leave 60 + 50 + 30 - 10, for a tenth of a second each.
    let growth = grow(10.0, 70.0, p(1e-6), RoundTrips { old: 0.1, new: 0.1 });
    assert_eq!(growth.round_trips, 3);
    close(growth.wasted, 0.1 * 130.0);
}

/// The losses of Table 4. Table 3's values are rounded; these lie within half a unit of their last digits.
#[test]
fn the_losses_match_table_4_within_the_rounding_of_table_3() {
    let networks =
        [(44_300.0, 0.9602), (1_102_500.0, 0.1694), (1_270_000.0, 0.053_06), (4_820_000.0, 0.037_69)];
    for ((_, printed), (x, r)) in table_3().iter().zip(networks) {
        let [decimals_x, decimals_r] = [if x < 1e6 { 500.0 } else { 5_000.0 }, 0.005];
        assert!((printed.rate.as_bytes_per_second() - x).abs() <= decimals_x);
        assert!((printed.rtt.as_secs_f64() - r).abs() <= decimals_r);
    }
    // The first of 802.16 is printed as 2760, which no whole number of halved intervals yields.
    let printed =
        [[306, 236, 226, 224], [2894, 2614, 2614, 2614], [1080, 1078, 1078, 1078], [2909, 2907, 2907, 2907]];
    for ((x, rtt), row) in networks.into_iter().zip(printed) {
        let gap = Disconnection { x_d: x / 500.0, rtt };
        let lost = networks.map(|(_, new)| gap.lost_packets(2.5 + new));
        assert_eq!(lost, row);
    }
}

#[test]
fn a_handover_by_mobile_ipv6_takes_two_and_a_half_seconds_and_a_round_trip() {
    let [umts, wimax] = ["umts", "802.16"].map(|name| by_name(name).unwrap());
    let handover = Handover::mobile_ipv6(umts, wimax, ByteCount::new(500));
    assert_eq!(handover.disconnection, Duration::from_millis(2670));
    // 44 kB/s are 88 packets per second, and 4R = 3.84 s is longer: 2.67 x 88 = 234.96.
    let prediction = predict(&handover).unwrap();
    assert_eq!((prediction.lost_packets, prediction.timeouts, prediction.slow_start_rtts), (234, 0, 0));
    // The mean wait is half of a packet interval, and the rate has not changed.
    close(prediction.wasted.restart, 0.5);
    assert!(prediction.wasted.growth > 0.0 && prediction.growth_rtts > 0);
}

#[test]
fn a_smaller_network_wastes_no_capacity() {
    let [umts, wimax] = ["umts", "802.16"].map(|name| by_name(name).unwrap());
    let prediction = predict(&Handover::mobile_ipv6(wimax, umts, ByteCount::new(500))).unwrap();
    assert_eq!(prediction.wasted, Wasted::default());
    assert_eq!(prediction.recovery, Duration::ZERO);
    assert!(prediction.lost_packets > 0);
}

#[test]
fn networks_outside_the_range_of_the_equations_are_rejected() {
    let usual = by_name("umts").unwrap();
    let size = ByteCount::new(500);
    let error = |old, size| predict(&Handover::mobile_ipv6(old, usual, size)).unwrap_err();
    assert_eq!(error(usual, ByteCount::ZERO), ModelError::NoSegment);
    assert_eq!(error(Network { rtt: Duration::ZERO, ..usual }, size), ModelError::RoundTripTime);
    assert_eq!(error(Network { rtt: Duration::from_secs(32), ..usual }, size), ModelError::RoundTripTime);
    assert_eq!(
        error(Network { rate: DataRate::from_bytes_per_second(7.0), ..usual }, size),
        ModelError::Rate
    );
    assert_eq!(error(Network { rate: DataRate::INFINITE, ..usual }, size), ModelError::Rate);
}

fn networks() -> impl Strategy<Value = Network> {
    (1e3..1e7f64, 1u64..2000).prop_map(|(rate, rtt)| Network {
        rate: DataRate::from_bytes_per_second(rate),
        rtt: Duration::from_millis(rtt),
    })
}

proptest! {
    /// Newton's method and bisection find the same root for any networks, and n_ss is the least number that
    /// satisfies (15).
    #[test]
    fn newton_finds_the_root_that_bisection_finds(
        halvings in 0u32..25, old in 0.001..2.0f64, new in 0.001..2.0f64, part in 0.5..1.0f64,
    ) {
        let x_c = part / libm::exp2(f64::from(halvings));
        let start = SlowStart { x_d: 1.0, x_c, rtts: RoundTrips { old, new } };
        let (mut low, mut high) = (0.0, 60.0);
        for _ in 0..100 {
            let middle = (low + high) / 2.0;
            if start.f(middle) < 0.0 { low = middle } else { high = middle }
        }
        prop_assert!((start.root() - high).abs() < 1e-6, "{} against {high}", start.root());
        let n = start.round_trips();
        prop_assert!(start.rate(n) >= start.rtts.allowed_rate(start.x_d, n) * (1.0 - 1e-5));
        prop_assert!(n == 0 || start.rate(n - 1) < start.rtts.allowed_rate(start.x_d, n - 1));
    }

    /// Longer disconnections never lose fewer packets, apart from the rounding of (7) to whole intervals
    /// after the first.
    #[test]
    fn losses_rise_with_the_gap(network in networks(), t_d in 0.1..60.0f64, more in 0.0..60.0f64) {
        let gap = Disconnection {
            x_d: network.rate.as_bytes_per_second() / 500.0,
            rtt: network.rtt.as_secs_f64(),
        };
        prop_assert!(gap.lost_packets(t_d + more) >= gap.lost_packets(t_d));
        // At most the full rate, and at least the first interval's.
        prop_assert!(gap.lost_packets(t_d) as f64 <= t_d * gap.x_d);
    }

    /// The growth ends at the new capacity, and all predictions are finite.
    #[test]
    fn a_prediction_is_finite(old in networks(), new in networks()) {
        let prediction = predict(&Handover::mobile_ipv6(old, new, ByteCount::new(500))).unwrap();
        prop_assert!(prediction.wasted.total().is_finite());
        prop_assert!(prediction.rate_on_return <= old.rate * (1.0 + 1e-12));
        prop_assert_eq!(prediction.growth_rtts > 0, new.rate > old.rate);
        // The remaining loss event rate is the one at which the equation gives the old rate.
        let per_round_trip = old.rate.as_bytes_per_second() / 500.0 * old.rtt.as_secs_f64();
        if prediction.loss_event_rate < LossEventRate::ONE {
            let given = packets_per_round_trip(prediction.loss_event_rate, 4.0);
            prop_assert!((given / per_round_trip - 1.0).abs() < 1e-6 || prediction.loss_event_rate == LossEventRate::LOWEST);
        }
    }
}
