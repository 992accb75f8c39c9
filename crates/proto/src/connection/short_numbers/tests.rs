use super::*;

const MSL: Duration = Duration::from_secs(120);

/// `true` if the last of three million packets, at that rate per second, may have short numbers.
fn may_at_last(short: &mut ShortNumbers, start: Instant, per_second: u64) -> bool {
    let mut last = false;
    for number in 0..3_000_000 {
        let now = start + Duration::from_nanos(number * 1_000_000_000 / per_second);
        last = short.may_shorten(now, SeqNo::new(number), [100, 100], MSL);
    }
    last
}

#[test]
fn the_rate_of_section_7_6_2_is_the_limit() {
    // 2^24 packets in two maximum segment lifetimes, 240 s, are 69,905 per second: 839 Mbit/s of 1500 bytes.
    assert!(may_at_last(&mut ShortNumbers::default(), Instant::ZERO, 69_000));
    assert!(!may_at_last(&mut ShortNumbers::default(), Instant::ZERO, 71_000));
}

#[test]
fn a_slower_sender_may_use_short_numbers_again() {
    let mut short = ShortNumbers::default();
    assert!(!may_at_last(&mut short, Instant::ZERO, 100_000));
    assert!(may_at_last(&mut short, Instant::from_secs(1000), 50_000));
}

#[test]
fn large_windows_at_either_end_forbid_it() {
    for windows in [[65_537, 100], [100, 65_537]] {
        assert!(!ShortNumbers::default().may_shorten(Instant::ZERO, SeqNo::ZERO, windows, MSL));
    }
    assert!(ShortNumbers::default().may_shorten(Instant::ZERO, SeqNo::ZERO, [65_536; 2], MSL));
}
