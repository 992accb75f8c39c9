use super::{Decibels, Milliwatts, PowerLevel};

#[test]
fn two_equal_powers_are_three_decibels_more() {
    let sum = PowerLevel(-90.0).power() + PowerLevel(-90.0).power();
    assert!((sum.level().0 - -86.9897).abs() < 1e-4, "{sum:?}");
    assert!((Decibels::from_ratio(2.0).0 - 3.0103).abs() < 1e-4);
}

#[test]
fn a_level_returns_from_its_power() {
    for level in [-170.0, -3.0, 0.0, 46.0] {
        assert!((PowerLevel(level).power().level().0 - level).abs() < 1e-9);
    }
    assert_eq!(Milliwatts::ZERO.level().0, f64::NEG_INFINITY);
}

#[test]
fn the_difference_of_powers_is_a_ratio() {
    assert_eq!(PowerLevel(-60.0) - PowerLevel(-95.0), Decibels(35.0));
    assert_eq!(PowerLevel(46.0) + Decibels(14.0) - Decibels(120.0), PowerLevel(-60.0));
}
