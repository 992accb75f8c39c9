//! Sine and cosine of turns, for sums of hundreds of waves.
//!
//! A library's functions reduce arguments of any size and round the last bit, which waves do not need: these
//! are polynomials behind a quarter turn, with errors below 1e-11, and several times as fast. They have no
//! branches, so that a compiler can work on several angles at once.

use core::f64::consts::TAU;

/// The sum of this and a number below 2^51 has the number, rounded to an integer, in its last bits.
const ROUNDER: f64 = 6_755_399_441_055_744.0;
const SIGN: u32 = 63;

/// Sine and cosine of an angle in whole turns.
#[inline(always)]
pub(super) fn sine_cosine(turns: f64) -> (f64, f64) {
    let rounded = turns * 4.0 + ROUNDER;
    let (quarter, quarters) = (rounded.to_bits(), rounded - ROUNDER);
    let angle = (turns - quarters * 0.25) * TAU;
    let square = angle * angle;
    // Taylor's series up to the powers 11 and 12, over an eighth of a turn to both sides.
    let sine = angle
        * (1.0
            + square
                * (-1.0 / 6.0
                    + square
                        * (1.0 / 120.0
                            + square
                                * (-1.0 / 5_040.0 + square * (1.0 / 362_880.0 - square / 39_916_800.0)))));
    let cosine = 1.0
        + square
            * (-0.5
                + square
                    * (1.0 / 24.0
                        + square
                            * (-1.0 / 720.0
                                + square
                                    * (1.0 / 40_320.0
                                        + square * (-1.0 / 3_628_800.0 + square / 479_001_600.0)))));
    let (sine, cosine) = (sine.to_bits(), cosine.to_bits());
    // In odd quarters each is the other.
    let differences = (sine ^ cosine) & 0_u64.wrapping_sub(quarter & 1);
    let negative = |quarter: u64| (quarter >> 1 & 1) << SIGN;
    (
        f64::from_bits(sine ^ differences ^ negative(quarter)),
        f64::from_bits(cosine ^ differences ^ negative(quarter.wrapping_add(1))),
    )
}

/// Sines and cosines of angles in whole turns.
#[inline(always)]
pub(super) fn sines_cosines<const N: usize>(turns: impl Fn(usize) -> f64) -> ([f64; N], [f64; N]) {
    let (mut sines, mut cosines) = ([0.0; N], [0.0; N]);
    for number in 0..N {
        (sines[number], cosines[number]) = sine_cosine(turns(number));
    }
    (sines, cosines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_quarters_agree_with_the_library() {
        for step in -4_000..4_000 {
            let turns = f64::from(step) * 0.012_34;
            let (sine, cosine) = sine_cosine(turns);
            let (expected_sine, expected_cosine) = libm::sincos(turns * TAU);
            assert!((sine - expected_sine).abs() < 1e-10, "{turns}: {sine}");
            assert!((cosine - expected_cosine).abs() < 1e-10, "{turns}: {cosine}");
        }
    }
}
