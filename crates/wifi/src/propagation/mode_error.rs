//! The probability that a frame with a mode of HT, VHT or HE is lost to noise.

use crate::phy::Mode;

/// Length of the frames of the curves, in bytes.
const CURVE_BYTES: f64 = 1_458.0;

/// A curve of loss over the ratio of signal to noise: 1 / (1 + exp(slope (dB - middle))).
type Curve = (f64, f64);

/// Fits (middle in decibels, slope per decibel) of the curves of link simulations in white noise, one stream,
/// one for each modulation and coding scheme: least squares of the log odds over the ratios at which 90, 50,
/// 10 and 1 % of frames of 1458 bytes are lost. Source of the curves: ns-3, `error-rate-tables.cc`. The
/// convolutional code.
const CONVOLUTIONAL: [Curve; 10] = [
    (0.3334, 3.7556),
    (3.3267, 3.6325),
    (5.8076, 3.5415),
    (8.9784, 3.0891),
    (12.1270, 3.2615),
    (16.2972, 2.8035),
    (17.6177, 2.7896),
    (18.8731, 2.8675),
    (22.8673, 2.4879),
    (24.3504, 2.6120),
];

/// The same of LDPC.
const LDPC: [Curve; 12] = [
    (-0.9174, 7.4263),
    (2.0886, 7.4045),
    (4.5775, 8.0502),
    (7.5828, 6.9004),
    (10.6232, 7.5198),
    (14.8066, 6.9667),
    (16.1571, 6.5791),
    (17.6645, 6.2112),
    (21.3217, 6.3540),
    (23.1259, 5.8800),
    (26.4128, 5.6399),
    (28.4609, 5.2781),
];

/// The probability that a frame (an MPDU) of `bytes` bytes is lost at a ratio of signal to noise, a power
/// ratio over the width of the channel. The streams share the power. Frames of other lengths than the curves'
/// are lost by PER(L) = 1 - (1 - PER(1458))^(L / 1458) (IEEE 802.11-14/0803r1).
pub fn loss_probability(mode: Mode, signal_to_noise: f64, bytes: u32) -> f64 {
    let curve = if mode.is_ldpc() { LDPC[mode.mcs() as usize] } else { CONVOLUTIONAL[mode.mcs() as usize] };
    let ratio = signal_to_noise / f64::from(mode.streams());
    // No signal, or a NaN, has no decibels.
    if ratio.is_nan() || ratio <= 0.0 {
        return 1.0;
    }
    lost(curve, 10.0 * libm::log10(ratio), f64::from(bytes))
}

fn lost((middle, slope): Curve, decibels: f64, bytes: f64) -> f64 {
    // The logarithm of 1 - PER(1458), which keeps its digits where few frames are lost.
    let log_received = -libm::log1p(libm::exp(-slope * (decibels - middle)));
    -libm::expm1(log_received * bytes / CURVE_BYTES)
}

#[cfg(test)]
mod tests;
