use super::*;

#[test]
fn a_unit_is_ten_microseconds() {
    assert_eq!(timestamp_from_nanos(1_000_000_000), 100_000);
    assert_eq!(timestamp_from_nanos(9_999), 0);
    assert_eq!(Elapsed::from_nanos(19_999), Elapsed::Short(1));
    assert_eq!(Elapsed::Long(100_000).nanos(), 1_000_000_000);
}

#[test]
fn timestamps_wrap_after_twelve_hours_and_still_have_a_difference() {
    let wrap = (1u64 << 32) * NANOS_PER_UNIT;
    // "approximately every 11.9 hours" (RFC 4340, Section 13.1)
    assert_eq!(wrap / 360_000_000_000, 119);
    let (earlier, later) = (timestamp_from_nanos(wrap - 50_000), timestamp_from_nanos(wrap + 20_000));
    assert_eq!((earlier, later), (u32::MAX - 4, 2));
    assert_eq!(nanos_between(earlier, later), 70_000);
}

#[test]
fn elapsed_times_have_the_minimum_width() {
    assert_eq!(Elapsed::from_nanos(0), Elapsed::Short(0));
    assert_eq!(Elapsed::from_nanos(655_350_000), Elapsed::Short(65_535));
    assert_eq!(Elapsed::from_nanos(655_360_000), Elapsed::Long(65_536));
    assert_eq!(Elapsed::echo_from_nanos(9_999), Elapsed::Absent);
    assert_eq!(Elapsed::echo_from_nanos(10_000), Elapsed::Short(1));
}

#[test]
fn very_long_elapsed_times_share_the_largest_value() {
    // RFC 4340, Section 13.2: 42949.67294 seconds is the longest time represented exactly.
    assert_eq!(Elapsed::from_nanos(42_949_672_940_000), Elapsed::Long(u32::MAX - 1));
    assert_eq!(Elapsed::from_nanos(42_949_672_950_000), Elapsed::Long(Elapsed::OVERFLOW));
    assert_eq!(Elapsed::from_nanos(u64::MAX), Elapsed::Long(Elapsed::OVERFLOW));
    assert!(Elapsed::from_nanos(42_949_672_940_000).is_exact() && !Elapsed::from_nanos(u64::MAX).is_exact());
    assert!(Elapsed::Absent.is_exact() && Elapsed::Short(u16::MAX).is_exact());
}

#[test]
fn a_clock_is_unwrapped_in_both_directions() {
    let mut clock = TimestampClock::default();
    let first = clock.read(u32::MAX - 4);
    assert_eq!(first, u64::from(u32::MAX - 4) * NANOS_PER_UNIT);
    // Four units to the greatest value, one to zero, five more.
    assert_eq!(clock.read(5), first + 100_000);
    assert_eq!(clock.read(u32::MAX - 4), first);
}
