use std::vec::Vec;

use super::super::SequenceBits;
use super::packet;

/// The unwrapped sequence numbers; those before the assumed first wrap are negative.
fn unwrapped(bits: u32, numbers: &[u64]) -> Result<Vec<i64>, usize> {
    let mut arrivals: Vec<_> = numbers.iter().map(|number| packet(*number, 0.0, 0.0)).collect();
    SequenceBits::new(bits).unwrap().unwrap(&mut arrivals)?;
    Ok(arrivals.iter().map(|arrival| arrival.sequence as i64 - (1 << bits)).collect())
}

#[test]
fn unwrapped_numbers_continue_to_rise() {
    assert_eq!(
        unwrapped(16, &[65_534, 65_535, 0, 2, 1, 3]).unwrap(),
        [65_534, 65_535, 65_536, 65_538, 65_537, 65_539]
    );
    let top = (1i64 << 48) - 1;
    assert_eq!(unwrapped(48, &[top as u64, 1]).unwrap(), [top, top + 2]);
    // A late packet from before the wrap, and more than one wrap.
    let numbers: Vec<u64> = (65_000..200_000u64).map(|number| number % 65_536).collect();
    assert!(unwrapped(16, &numbers).unwrap().iter().copied().eq(65_000..200_000));
    assert_eq!(unwrapped(16, &[0, 1, 65_535, 2]), Ok([0, 1, -1, 2].to_vec()));
    assert_eq!(unwrapped(16, &[3, 65_536]), Err(1));
}

#[test]
fn the_width_is_detected_by_a_large_decrease() {
    let detect = |numbers: &[u64]| SequenceBits::detect(numbers.iter().copied()).map(SequenceBits::get);
    assert_eq!(detect(&[65_534, 65_535, 0, 1]), Some(16));
    assert_eq!(detect(&[(1 << 24) - 2, 1]), Some(24));
    assert_eq!(detect(&[(1 << 32) - 2, 1]), Some(32));
    assert_eq!(detect(&[(1 << 48) - 2, 1]), Some(48));
    // Rising numbers, mild reordering, and a list too short: nothing to unwrap.
    for numbers in [&[0u64, 1, 2, 70_000][..], &[5, 4, 6], &[65_535], &[]] {
        assert_eq!(detect(numbers), None);
    }
}
