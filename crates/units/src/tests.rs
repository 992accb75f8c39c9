use proptest::prelude::*;

use crate::{ByteCount, DataRate, Duration, Instant};

#[test]
fn a_packet_takes_its_bits_divided_by_the_rate() {
    let time = ByteCount::new(762) / DataRate::from_kilobits_per_second(150.0);
    assert_eq!(time, Duration::from_micros(40_640));
}

#[test]
fn a_rate_of_zero_takes_forever() {
    assert_eq!(ByteCount::new(1) / DataRate::ZERO, Duration::MAX);
}

#[test]
fn invalid_rates_are_zero() {
    assert_eq!(DataRate::from_bits_per_second(f64::NAN), DataRate::ZERO);
    assert_eq!(DataRate::from_bits_per_second(-3.0), DataRate::ZERO);
    assert_eq!(DataRate::from_bits_per_second(5.0) - DataRate::from_bits_per_second(7.0), DataRate::ZERO);
}

#[test]
fn time_saturates_at_both_ends() {
    assert_eq!(Instant::from_secs(1) - Instant::from_secs(2), Duration::ZERO);
    assert_eq!(Instant::FAR_FUTURE + Duration::from_secs(1), Instant::FAR_FUTURE);
    assert_eq!(Duration::from_secs(1) - Duration::from_secs(2), Duration::ZERO);
    assert_eq!(Duration::from_secs_f64(-1.0), Duration::ZERO);
    assert_eq!(Duration::from_secs_f64(f64::INFINITY), Duration::MAX);
    assert_eq!(Duration::from_secs_f64(f64::NAN), Duration::ZERO);
}

#[test]
fn values_are_displayed_with_units() {
    assert_eq!(std::format!("{}", DataRate::from_megabits_per_second(1.5)), "1.500 Mbit/s");
    assert_eq!(std::format!("{}", Duration::from_millis(20)), "20ms");
    assert_eq!(std::format!("{}", Instant::from_millis(1_500)), "1.500000000s");
}

extern crate std;

proptest! {
    #[test]
    fn seconds_round_trip_to_the_nanosecond(nanos in 0u64..1 << 50) {
        let duration = Duration::from_nanos(nanos);
        prop_assert_eq!(Duration::from_secs_f64(duration.as_secs_f64()), duration);
    }

    #[test]
    fn the_standard_duration_round_trips(nanos: u64) {
        let duration = Duration::from_nanos(nanos);
        prop_assert_eq!(Duration::from(core::time::Duration::from(duration)), duration);
    }

    #[test]
    fn size_over_rate_over_time_is_the_size(bytes in 1u64..1 << 32, kbit in 1.0f64..1e6) {
        let rate = DataRate::from_kilobits_per_second(kbit);
        let moved = rate * (ByteCount::new(bytes) / rate);
        let slack = 1 + (rate.as_bytes_per_second() * 1e-9) as u64 + bytes / (1 << 40);
        prop_assert!(moved.as_u64().abs_diff(bytes) <= slack, "{moved} of {bytes}");
    }
}
