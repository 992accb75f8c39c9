//! Random gains.

use whimbrel_units::{Duration, Instant};

use super::from_decibels;
use crate::StationIndex;
use crate::{Random, SplitMix64};

/// A distribution of the gain that a channel adds to the path loss.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Fading {
    /// Constant gain 1.
    None,
    /// Log-normal shadowing: the gain in decibels is normal with mean 0 (Rappaport, section 4.9).
    Shadowing {
        /// Standard deviation in decibels: 4 to 12 outdoors, 3 to 7 indoors.
        deviation: f64,
    },
    /// Rayleigh fading, many paths and none dominant: the gain is exponential with mean 1.
    Rayleigh,
    /// Rician fading, a dominant path and many weaker ones: mean gain 1. A ratio of 0 is Rayleigh fading.
    Rician {
        /// The factor K: power of the dominant path over the total power of the others.
        ratio: f64,
    },
}

impl Fading {
    /// Draws a gain, a power ratio. The number of draws depends on the distribution only (0, 2, 1 or 2).
    pub fn gain(&self, random: &mut (impl Random + ?Sized)) -> f64 {
        match *self {
            Self::None => 1.0,
            Self::Shadowing { deviation } => from_decibels(deviation * normal_pair(random).0),
            Self::Rayleigh => -libm::log(1.0 - random.uniform()),
            Self::Rician { ratio } => {
                // The dominant path has power K / (K + 1), each quadrature of the rest variance 1 / 2 (K +
                // 1).
                let (in_phase, quadrature) = normal_pair(random);
                let amplitude = libm::sqrt(2.0 * ratio) + in_phase;
                (amplitude * amplitude + quadrature * quadrature) / (2.0 * (ratio + 1.0))
            }
        }
    }
}

/// Two independent standard normal values (Box and Muller's method, two draws).
fn normal_pair(random: &mut (impl Random + ?Sized)) -> (f64, f64) {
    // 1 - u lies in (0, 1], so the logarithm is finite.
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - random.uniform()));
    let angle = core::f64::consts::TAU * random.uniform();
    (radius * libm::cos(angle), radius * libm::sin(angle))
}

/// Fading that is constant for a coherence time, the same in both directions of a link, and independent
/// between links and between coherence times.
///
/// The gain is a function of (seed, link, time): it costs no state, and neither the order nor the number of
/// the queries changes it.
#[derive(Clone, PartialEq, Debug)]
pub struct BlockFading {
    fading: Fading,
    coherence: Duration,
    streams: SplitMix64,
}

impl BlockFading {
    /// Fading of this distribution. A coherence time of [`Duration::MAX`] (or zero) keeps each link's gain
    /// for ever, as shadowing by walls does.
    pub const fn new(fading: Fading, coherence: Duration, seed: u64) -> Self {
        Self { fading, coherence, streams: SplitMix64::new(seed) }
    }

    /// `true` if the gain is always 1.
    pub fn is_none(&self) -> bool {
        self.fading == Fading::None
    }

    /// The gain between two stations at `now`, a power ratio.
    #[inline]
    pub fn gain(&self, now: Instant, first: StationIndex, second: StationIndex) -> f64 {
        if self.fading == Fading::None {
            return 1.0;
        }
        let block = if self.coherence.is_zero() { 0 } else { now.as_nanos() / self.coherence.as_nanos() };
        let (low, high) = (u64::from(first.min(second).0), u64::from(first.max(second).0));
        // A stream of a stream of a stream: no arithmetic on the names that could make two of them equal.
        self.fading.gain(&mut self.streams.stream(low).stream(high).stream(block))
    }
}

#[cfg(test)]
mod tests;
