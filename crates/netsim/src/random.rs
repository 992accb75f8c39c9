//! Random streams that belong to components.
//!
//! A stream is named by (seed, run, component, purpose) and by nothing else: adding a node, or drawing
//! more often somewhere, changes no other component's draws. The generator is PCG (a 128-bit
//! multiplicative congruential generator with an XSL-RR output); its state is a hash of the name. The
//! distributions are computed here, with `libm`, because other libraries' may change their
//! bits between versions and the platform's differ between machines.

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::Rng;
use whimbrel_units::Duration;

/// The root of all streams of one run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RandomStreams {
    seed: u64,
    run: u64,
}

impl RandomStreams {
    /// The streams of repetition `run` of the experiment with this seed.
    pub const fn new(seed: u64, run: u64) -> Self {
        Self { seed, run }
    }

    /// The stream of a component (a link's or an agent's name) for a purpose (`loss`, `start time`).
    /// The same name gives the same stream from its beginning.
    pub fn stream(&self, component: &str, purpose: &str) -> RandomStream {
        let mut hash = NameHash(0);
        hash.absorb(self.seed);
        hash.absorb(self.run);
        hash.absorb_text(component);
        hash.absorb_text(purpose);
        let high = hash.finish(1);
        let low = hash.finish(2);
        RandomStream { generator: Pcg64Mcg::new(u128::from(high) << 64 | u128::from(low)) }
    }
}

impl whimbrel_wifi::Random for RandomStream {
    fn next_u64(&mut self) -> u64 {
        Self::next_u64(self)
    }
}

/// A hash of words built on the finaliser of SplitMix64, a bijection that mixes every bit into every
/// other.
struct NameHash(u64);

impl NameHash {
    /// 2^64 divided by the golden ratio: SplitMix64's step.
    const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

    fn absorb(&mut self, word: u64) {
        self.0 = mix(self.0.wrapping_add(Self::STEP) ^ mix(word.wrapping_add(Self::STEP)));
    }

    /// The length goes in too, so that moving the border between two texts changes the hash.
    fn absorb_text(&mut self, text: &str) {
        self.absorb(text.len() as u64);
        for chunk in text.as_bytes().chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.absorb(u64::from_le_bytes(word));
        }
    }

    fn finish(&self, output: u64) -> u64 {
        mix(self.0.wrapping_add(Self::STEP.wrapping_mul(output)))
    }
}

pub(crate) fn mix(word: u64) -> u64 {
    let word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

/// A stream of random numbers with the distributions that networks need.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RandomStream {
    generator: Pcg64Mcg,
}

impl RandomStream {
    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// Uniform in [0, 1), a multiple of 2^-53.
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in [low, high).
    pub fn uniform_between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// A uniform length of time in [low, high).
    pub fn duration_between(&mut self, low: Duration, high: Duration) -> Duration {
        low + (high - low).mul_f64(self.uniform())
    }

    /// A uniform integer in [0, bound). One draw; the bias is below `bound` / 2^64.
    ///
    /// # Panics
    /// If `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "no integer lies below 0");
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// `true` with this probability.
    pub fn bernoulli(&mut self, probability: f64) -> bool {
        self.uniform() < probability
    }

    /// Exponentially distributed with this mean.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        // 1 - u lies in (0, 1], so the logarithm is finite.
        -mean * libm::log(1.0 - self.uniform())
    }

    /// An exponentially distributed length of time with this mean.
    pub fn exponential_duration(&mut self, mean: Duration) -> Duration {
        Duration::from_secs_f64(self.exponential(mean.as_secs_f64()))
    }

    /// The number of trials up to and including the first success, where each trial succeeds with
    /// this probability: at least 1, mean 1 / `success`.
    ///
    /// # Panics
    /// If `success` is not in (0, 1].
    pub fn geometric(&mut self, success: f64) -> u64 {
        assert!(success > 0.0 && success <= 1.0, "the probability of success is {success}, not in (0, 1]");
        // P(N > k) = (1 - success)^k, inverted. The cast saturates.
        let trials = libm::log(1.0 - self.uniform()) / libm::log1p(-success);
        (trials as u64).saturating_add(1)
    }

    /// Pareto distributed with this shape (above 1, else there is no mean) and mean.
    pub fn pareto(&mut self, shape: f64, mean: f64) -> f64 {
        let scale = mean * (shape - 1.0) / shape;
        scale * libm::pow(1.0 - self.uniform(), -1.0 / shape)
    }

    /// Normally distributed (Box and Muller's method, one of the two values; two draws).
    pub fn normal(&mut self, mean: f64, standard_deviation: f64) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(1.0 - self.uniform()));
        let angle = core::f64::consts::TAU * self.uniform();
        mean + standard_deviation * radius * libm::cos(angle)
    }
}

#[cfg(test)]
mod tests;
