use proptest::prelude::*;

use super::LossEventRate;

#[test]
fn all_ones_mean_no_loss_yet() {
    assert_eq!(LossEventRate::ZERO.to_inverse(), u32::MAX);
    assert!(LossEventRate::from_inverse(u32::MAX).is_zero());
}

#[test]
fn one_percent_is_transmitted_as_100_packets() {
    assert_eq!(LossEventRate::new(0.01).to_inverse(), 100);
    assert_eq!(LossEventRate::from_inverse(100), LossEventRate::new(0.01));
}

#[test]
fn a_fraction_of_a_packet_is_rounded_up() {
    assert_eq!(LossEventRate::from_average_interval(66.01).to_inverse(), 67);
}

#[test]
fn loss_is_never_transmitted_as_no_loss() {
    assert!(!LossEventRate::from_average_interval(f64::INFINITY).is_zero());
    assert!(!LossEventRate::from_average_interval(1e300).is_zero());
    assert_eq!(LossEventRate::LOWEST.to_inverse(), u32::MAX - 1);
}

#[test]
fn invalid_values_are_clamped_to_the_nearest_rate() {
    assert_eq!(LossEventRate::new(f64::NAN), LossEventRate::ONE);
    assert_eq!(LossEventRate::new(-0.1), LossEventRate::ZERO);
    assert_eq!(LossEventRate::new(7.0), LossEventRate::ONE);
    assert_eq!(LossEventRate::from_inverse(0), LossEventRate::ONE);
}

proptest! {
    #[test]
    fn the_option_value_round_trips(packets in 1u32..) {
        prop_assert_eq!(LossEventRate::from_inverse(packets).to_inverse(), packets);
    }

    #[test]
    fn the_option_value_is_rounded_up(p in 1e-6f64..=1.0) {
        let packets = f64::from(LossEventRate::new(p).to_inverse());
        prop_assert!(packets * p > 1.0 - 1e-9 && (packets - 1.0) * p < 1.0);
    }
}
