//! Link budgets: powers, noise and interference.

use super::path_loss::Hertz;
use crate::level::{Decibels, Milliwatts, PowerLevel};
use crate::numerology::ResourceBlocks;

/// Thermal noise of a receiver in this bandwidth: -174 dBm/Hz plus its noise figure.
pub fn noise(bandwidth: Hertz, noise_figure: Decibels) -> PowerLevel {
    PowerLevel(-174.0 + 10.0 * libm::log10(bandwidth.0)) + noise_figure
}

/// A neighbour's signal at a receiver, and how much of the time and band the neighbour uses.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Interferer {
    /// Power while the neighbour transmits.
    pub received: PowerLevel,
    /// Share of its resource blocks in use, from 0 to 1.
    pub load: f64,
}

/// The signal-to-noise ratio behind interference.
pub fn sinr(
    wanted: PowerLevel,
    noise: PowerLevel,
    interferers: impl IntoIterator<Item = Interferer>,
) -> Decibels {
    let others: Milliwatts =
        interferers.into_iter().map(|other| other.received.power().scaled(other.load)).sum();
    wanted - (noise.power() + others).level()
}

/// The signal-to-noise ratio of a block over its parts: the one at which Shannon's bound is their mean. A
/// mean in decibels would hide that bits in a fade are lost.
pub fn effective_sinr(parts: impl IntoIterator<Item = Decibels>) -> Decibels {
    let (sum, count) = parts
        .into_iter()
        .fold((0.0, 0_u32), |(sum, count), part| (sum + libm::log2(1.0 + part.ratio()), count + 1));
    Decibels::from_ratio(libm::exp2(sum / f64::from(count.max(1))) - 1.0)
}

/// Power control of the uplink by a part of the path loss (TS 36.213, Section 5.1.1; TS 38.213, Section
/// 7.1.1).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PowerControl {
    /// Power that the station wants to receive in a resource block, P0.
    pub target: PowerLevel,
    /// Share of the path loss that is compensated, alpha.
    pub compensation: f64,
    /// The terminal's greatest power.
    pub limit: PowerLevel,
}

impl PowerControl {
    /// The power of a transmission on so many resource blocks.
    pub fn power(&self, blocks: ResourceBlocks, loss: Decibels) -> PowerLevel {
        let wanted = self.target
            + Decibels(10.0 * libm::log10(f64::from(blocks.0)))
            + Decibels(self.compensation * loss.0);
        wanted.min(self.limit)
    }
}

#[cfg(test)]
mod tests;
