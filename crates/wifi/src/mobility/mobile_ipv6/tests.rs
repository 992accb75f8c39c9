use super::*;
use crate::SplitMix64;

const RTT: Duration = Duration::from_millis(170);

fn mean(timing: Timing, part: impl Fn(&Handover) -> Duration) -> f64 {
    let mut random = SplitMix64::new(1);
    let samples = 20_000;
    (0..samples)
        .map(|_| part(&timing.handover(Instant::from_secs(5), RTT, 0, &mut random)).as_secs_f64())
        .sum::<f64>()
        / f64::from(samples)
}

#[test]
fn the_papers_formula() {
    // Table 3: R = 0.96 s on UMTS.
    assert_eq!(handover_time(Duration::from_millis(960)), Duration::from_millis(3_460));
}

#[test]
fn the_times_are_in_order_and_bounded_by_the_constants() {
    let mut random = SplitMix64::new(2);
    for timing in [Timing::RFC6275, Timing::RFC4861] {
        for _ in 0..1_000 {
            let handover = timing.handover(Instant::from_secs(5), RTT, 0, &mut random);
            assert!(handover.attached <= handover.router_found);
            let discovery = handover.router_found - handover.attached;
            let bound = if timing.solicits { 1_500 } else { 70 };
            assert!(discovery <= Duration::from_millis(bound), "{discovery}");
            let detection = handover.address_usable - handover.router_found;
            assert!(detection >= Duration::from_secs(1) && detection < Duration::from_secs(2), "{detection}");
            assert_eq!(handover.bound - handover.address_usable, RTT);
        }
    }
}

#[test]
fn the_wait_for_an_advertisement_has_the_mean_of_renewal_theory() {
    // E[interval^2] / 2 E[interval] = (70^3 - 30^3) / (3 * 40) / (2 * 50) ms = 26.33 ms.
    let measured = mean(Timing::RFC6275, |handover| handover.router_found - handover.attached);
    assert!((measured - 0.026_333).abs() < 0.0005, "{measured}");
}

#[test]
fn a_solicited_advertisement_takes_three_quarters_of_a_second_on_average() {
    let measured = mean(Timing::RFC4861, |handover| handover.router_found - handover.attached);
    assert!((measured - 0.75).abs() < 0.012, "{measured}");
}

#[test]
fn without_duplicate_address_detection_the_address_is_usable_at_once() {
    let timing = Timing { detection_transmissions: 0, ..Timing::RFC6275 };
    let handover = timing.handover(Instant::ZERO, RTT, 0, &mut SplitMix64::new(3));
    assert_eq!(handover.address_usable, handover.router_found);
}

#[test]
fn lost_binding_updates_are_repeated_with_a_doubled_timeout_up_to_the_limit() {
    let handover = Timing::RFC6275.handover(Instant::ZERO, RTT, 8, &mut SplitMix64::new(4));
    let gaps: std::vec::Vec<u64> =
        handover.binding_updates.windows(2).map(|pair| (pair[1] - pair[0]).as_millis() / 1_000).collect();
    assert_eq!(gaps, [1, 2, 4, 8, 16, 32, 32, 32]);
    assert_eq!(handover.bound, *handover.binding_updates.last().unwrap() + RTT);
}
