//! The probability that bits are received without error at a signal-to-noise ratio.

use super::from_decibels;
use crate::phy::Rate;

/// The rate of the convolutional code of OFDM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum CodeRate {
    /// 1/2.
    Half,
    /// 2/3.
    TwoThirds,
    /// 3/4.
    ThreeQuarters,
}

/// Bandwidth of DSSS in hertz, over which the signal-to-noise ratio of its modulations is taken.
const DSSS_BANDWIDTH: f64 = 22.0e6;
/// CCK symbols per second.
const CCK_SYMBOL_RATE: f64 = 1.375e6;

/// Distance spectra (weights of information bits) of the code of OFDM (constraint length 7, generators 133
/// and 171 octal) and of its punctured forms: coefficient and exponent of each term.
///
/// Source: G. Pei, T. Henderson, "Validation of OFDM error rate model in ns-3", 2010, after D. Haccoun, G.
/// Begin, "High-rate punctured convolutional codes for Viterbi and sequential decoding", IEEE Trans. Commun.
/// 37(11), 1989.
const HALF: [(f64, i32); 9] = [
    (36.0, 10),
    (211.0, 12),
    (1_404.0, 14),
    (11_633.0, 16),
    (77_433.0, 18),
    (502_690.0, 20),
    (3_322_763.0, 22),
    (21_292_910.0, 24),
    (134_365_911.0, 26),
];
const TWO_THIRDS: [(f64, i32); 10] = [
    (3.0, 6),
    (70.0, 7),
    (285.0, 8),
    (1_276.0, 9),
    (6_160.0, 10),
    (27_128.0, 11),
    (117_019.0, 12),
    (498_860.0, 13),
    (2_103_891.0, 14),
    (8_784_123.0, 15),
];
const THREE_QUARTERS: [(f64, i32); 10] = [
    (42.0, 5),
    (201.0, 6),
    (1_492.0, 7),
    (10_469.0, 8),
    (62_935.0, 9),
    (379_644.0, 10),
    (2_253_373.0, 11),
    (13_073_811.0, 12),
    (75_152_755.0, 13),
    (428_005_675.0, 14),
];

impl CodeRate {
    /// The bit error rate after decoding, by the union bound over the distance spectrum with the Chernoff
    /// parameter D = sqrt(4 p (1 - p)); at most 1.
    fn decoded(self, channel_error_rate: f64) -> f64 {
        let d = libm::sqrt(4.0 * channel_error_rate * (1.0 - channel_error_rate));
        let sum = |terms: &[(f64, i32)]| -> f64 {
            terms.iter().map(|&(weight, exponent)| weight * power(d, exponent)).sum()
        };
        // The bound is divided by 2 b, b being the number of information bits per branch.
        let bound = match self {
            Self::Half => sum(&HALF) / 2.0,
            Self::TwoThirds => sum(&TWO_THIRDS) / 4.0,
            Self::ThreeQuarters => sum(&THREE_QUARTERS) / 6.0,
        };
        bound.min(1.0)
    }
}

/// `base` to a positive integer power by squaring.
fn power(mut base: f64, mut exponent: i32) -> f64 {
    let mut result = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    result
}

/// The probability that `bits` bits at this rate are received without error at a signal-to-noise ratio, a
/// power ratio over the channel's bandwidth (22 MHz for DSSS and CCK, 20 MHz for OFDM).
///
/// - DBPSK, 1 Mbit/s: bit error rate exp(-Eb/N0) / 2 (J. G. Proakis, "Digital Communications", 2001, equation
///   5.2-69).
/// - DQPSK, 2 Mbit/s: G. Ferrari, G. E. Corazza, "Tight bounds and accurate approximations for DQPSK
///   transmission bit error rate", Electronics Letters 40(20), 2004, equation 8.
/// - CCK, 5.5 and 11 Mbit/s: M. B. Pursley, T. C. Royster, "Properties and performance of the IEEE 802.11b
///   complementary-code-key signal sets", IEEE Trans. Commun. 57(2), 2009, equations 17 and 18, with the
///   energies that ns-3's `dsss-error-rate-model` inserts.
/// - OFDM: the "NIST" model (G. Pei, T. Henderson, "Validation of OFDM error rate model in ns-3", 2010).
pub fn success_probability(rate: Rate, signal_to_noise: f64, bits: f64) -> f64 {
    libm::exp(bits * log_success_per_bit(rate, signal_to_noise))
}

/// The logarithm of the probability that one bit at this rate is received without error: 0 or negative.
pub fn log_success_per_bit(rate: Rate, signal_to_noise: f64) -> f64 {
    use CodeRate::{Half, ThreeQuarters, TwoThirds};
    // A NaN (no signal over no noise) is treated as no signal.
    let snr = if signal_to_noise > 0.0 { signal_to_noise } else { 0.0 };
    let bpsk = |code: CodeRate| (code.decoded(0.5 * libm::erfc(libm::sqrt(snr))), 1.0);
    let qpsk = |code: CodeRate| (code.decoded(0.5 * libm::erfc(libm::sqrt(snr / 2.0))), 1.0);
    let qam16 = |code: CodeRate| (code.decoded(0.375 * libm::erfc(libm::sqrt(snr / 10.0))), 1.0);
    let qam64 = |code: CodeRate| (code.decoded(7.0 / 24.0 * libm::erfc(libm::sqrt(snr / 42.0))), 1.0);
    let (error, bits_per_symbol) = match rate {
        Rate::Dsss1 => (0.5 * libm::exp(-snr * DSSS_BANDWIDTH / 1.0e6), 1.0),
        Rate::Dsss2 => (dqpsk(snr * DSSS_BANDWIDTH / 2.0e6), 1.0),
        Rate::Hr5_5 => (biorthogonal_16(snr * DSSS_BANDWIDTH / CCK_SYMBOL_RATE / 2.0), 4.0),
        Rate::Hr11 => {
            // Two independent sets, each with half of the energy.
            let half = biorthogonal_16(snr * DSSS_BANDWIDTH / CCK_SYMBOL_RATE / 4.0);
            (half * (2.0 - half), 8.0)
        }
        Rate::Ofdm6 => bpsk(Half),
        Rate::Ofdm9 => bpsk(ThreeQuarters),
        Rate::Ofdm12 => qpsk(Half),
        Rate::Ofdm18 => qpsk(ThreeQuarters),
        Rate::Ofdm24 => qam16(Half),
        Rate::Ofdm36 => qam16(ThreeQuarters),
        Rate::Ofdm48 => qam64(TwoThirds),
        Rate::Ofdm54 => qam64(ThreeQuarters),
    };
    libm::log1p(-error) / bits_per_symbol
}

/// Bit error rate of differentially decoded QPSK; the approximation is capped at one half.
fn dqpsk(energy_per_bit: f64) -> f64 {
    let root = core::f64::consts::SQRT_2;
    let scale = (root + 1.0) / libm::sqrt(8.0 * core::f64::consts::PI * root * energy_per_bit);
    (scale * libm::exp(-(2.0 - root) * energy_per_bit)).min(0.5)
}

/// Symbol error rate of 16 biorthogonal signals with symbol energy `energy` over noise density:
/// 1 - integral over x > -b of (2 Phi(x + b) - 1)^7 phi(x), b = sqrt(2 energy).
fn biorthogonal_16(energy: f64) -> f64 {
    const INTERVALS: u32 = 128;
    let b = libm::sqrt(2.0 * energy);
    // The normal density is below 1e-21 beyond 9.6 on either side.
    let (low, high) = ((-b).max(-9.6), 9.6);
    let step = (high - low) / f64::from(INTERVALS);
    // The complement 1 - (2 Phi - 1)^7 = 1 - erf^7 keeps its digits where the error rate is small.
    let complement = |x: f64| {
        let tail = libm::erfc((x + b) * core::f64::consts::FRAC_1_SQRT_2);
        let density = libm::exp(-x * x / 2.0) / libm::sqrt(core::f64::consts::TAU);
        -libm::expm1(7.0 * libm::log1p(-tail.min(1.0))) * density
    };
    // Simpson's rule.
    let inner: f64 = (1..INTERVALS)
        .map(|i| complement(low + step * f64::from(i)) * if i % 2 == 1 { 4.0 } else { 2.0 })
        .sum();
    let integral = (complement(low) + inner + complement(high)) * step / 3.0;
    // Below -b the decision is wrong with certainty.
    let below = 0.5 * libm::erfc(b * core::f64::consts::FRAC_1_SQRT_2);
    (integral + below).clamp(0.0, 1.0)
}

/// The noise of a receiver.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct NoiseFloor {
    /// Bandwidth in hertz.
    pub bandwidth: f64,
    /// Noise figure of the receiver in decibels.
    pub figure: f64,
}

impl NoiseFloor {
    /// A DSSS receiver: 22 MHz, noise figure 7 dB.
    pub const DSSS: Self = Self { bandwidth: DSSS_BANDWIDTH, figure: 7.0 };
    /// An OFDM receiver: 20 MHz, noise figure 7 dB.
    pub const OFDM: Self = Self { bandwidth: 20.0e6, figure: 7.0 };

    /// The noise power in watts: k T B at 290 K times the noise figure.
    pub fn power(self) -> f64 {
        const BOLTZMANN: f64 = 1.380_649e-23;
        BOLTZMANN * 290.0 * self.bandwidth * from_decibels(self.figure)
    }
}

#[cfg(test)]
mod tests;
