//! The share of blocks that fail.

use crate::level::Decibels;

/// Width of the fall in dB: 5G-LENA's blocks of one code block fall from .757 to .023 within 1 dB.
const WIDTH: f64 = 0.204755977;

/// The share of blocks that fail at a signal-to-noise ratio so far above the point of 10 %
/// ([`ten_percent_point`](crate::amc::ten_percent_point)).
pub fn block_error_rate(above: Decibels) -> f64 {
    1.0 / (1.0 + 9.0 * libm::exp(above.0 / WIDTH))
}

/// Chase combining: repetitions of one block add up their ratios of power.
pub fn combined(attempts: impl IntoIterator<Item = Decibels>) -> Decibels {
    Decibels::from_ratio(attempts.into_iter().map(Decibels::ratio).sum())
}

#[cfg(test)]
mod tests;
