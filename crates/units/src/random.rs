//! The interface to random streams.
//!
//! A machine that draws owns a stream, so that its draws depend on nothing but the stream's seed and the
//! number of draws before. A driver with streams of its own implements [`Random`] for them; [`SplitMix64`]
//! serves tests, benchmarks and drivers without.

use crate::Duration;

/// A stream of random numbers.
pub trait Random {
    /// 64 random bits.
    fn next_u64(&mut self) -> u64;

    /// Uniform in [0, 1), a multiple of 2^-53.
    fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in [low, high).
    fn uniform_between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// A uniform integer in [0, bound), and 0 for a bound of 0. One draw; the bias is below `bound` / 2^64.
    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// A uniform duration in [0, bound), in whole nanoseconds.
    fn duration_below(&mut self, bound: Duration) -> Duration {
        Duration::from_nanos(self.below(bound.as_nanos()))
    }
}

impl<R: Random + ?Sized> Random for &mut R {
    fn next_u64(&mut self) -> u64 {
        (**self).next_u64()
    }
}

/// Steele, Lea and Flood's generator ("Fast splittable pseudorandom number generators", OOPSLA 2014): 64 bits
/// of state, period 2^64.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// The increment of the state: 2^64 divided by the golden ratio, made odd.
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

    /// The stream of this seed. Streams of different seeds are different sections of one sequence that start
    /// at scattered places.
    pub const fn new(seed: u64) -> Self {
        // Mixed, so that the streams of consecutive seeds do not overlap after a few draws.
        Self { state: mix(seed.wrapping_add(Self::STEP)) }
    }

    /// The stream number `index` derived from this one, whose own position is left unchanged.
    pub const fn stream(&self, index: u64) -> Self {
        Self { state: mix(self.state ^ mix(index.wrapping_add(Self::STEP))) }
    }
}

impl Random for SplitMix64 {
    fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(Self::STEP);
        mix(self.state)
    }
}

/// The generator's finaliser, a bijection that mixes every bit into every other.
const fn mix(word: u64) -> u64 {
    let word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

#[cfg(test)]
mod tests;
