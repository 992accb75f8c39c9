use super::{block_error_rate, combined};
use crate::level::Decibels;

#[test]
fn blocks_fail_within_a_decibel() {
    for (above, expected) in
        [(-1.0, 0.936_234), (-0.5, 0.560_873), (0.0, 0.1), (0.5, 0.009_573), (1.0, 0.000_840)]
    {
        let found = block_error_rate(Decibels(above));
        assert!((found - expected).abs() < 1e-5, "{above} dB: {found}");
    }
    assert_eq!(block_error_rate(Decibels(1e6)), 0.0);
    assert_eq!(block_error_rate(Decibels(f64::NEG_INFINITY)), 1.0);
}

#[test]
fn repetitions_add_up() {
    for (attempts, expected) in
        [(&[0.0, 0.0][..], 3.0103), (&[-3.0, 2.0], 3.1933), (&[1.0, 1.0, 1.0], 5.7712)]
    {
        let found = combined(attempts.iter().copied().map(Decibels));
        assert!((found.0 - expected).abs() < 1e-4, "{attempts:?}: {found:?}");
    }
    let second = block_error_rate(combined([Decibels(-1.0), Decibels(-1.0)]));
    assert!((second - 6.05e-6).abs() < 1e-8, "{second}");
}
