//! A Rayleigh-fading channel with the Doppler spectrum of Clarke and Jakes.
//!
//! Each resolved path is a sum of sixteen waves of equal strength that come from all around a moving
//! receiver: wave `m` from the angle `(m + u) / 16` of a turn, shifted by `f_D` times the angle's cosine,
//! with a random phase. Over the random angles and phases the autocorrelation is exactly `J0(2 pi f_D t)`
//! and the mean power exactly 1; the power's second moment is `2 - 1/16` instead of an exponential's 2.
//! (W. C. Jakes, "Microwave Mobile Communications", 1974, Section 1.7; the random angles as in Zheng and
//! Xiao, "Improved models for the generation of multiple uncorrelated Rayleigh fading waveforms", 2002.)
//!
//! A phase is a whole number of 2^-64 turns, so that any time is reached in one step and the turns before
//! it cost no accuracy. Between samples the waves are rotated, which needs no transcendental function.

use core::f64::consts::TAU;

use crate::random::RandomStream;

/// Waves per path.
pub(super) const WAVES: usize = 16;
/// Sums run in this many lanes, always in the same order.
const LANES: usize = 4;
/// Blocks after which the rotated waves are set anew from their phases, against the drift of rounding.
const ANCHOR_BLOCKS: u64 = 64;

/// 2^64.
const TURN: f64 = 18_446_744_073_709_551_616.0;

/// A number of turns as a phase; whole turns do not count.
fn phase(turns: f64) -> u64 {
    ((turns - turns.floor()) * TURN) as u64
}

/// The waves of all paths, sampled in blocks.
#[derive(Clone, Debug)]
pub(super) struct Fading {
    paths: Vec<Path>,
    samples_per_block: u64,
    /// The block whose first sample comes next, if the samples so far were taken in order.
    next_block: Option<u64>,
}

/// The waves of one path.
#[derive(Clone, Debug)]
struct Path {
    /// Of the first sample of block 0.
    start: [u64; WAVES],
    /// Phase advance of each wave from sample to sample.
    turn: [u64; WAVES],
    turn_cos: [f64; WAVES],
    turn_sin: [f64; WAVES],
    cos: [f64; WAVES],
    sin: [f64; WAVES],
}

impl Path {
    fn new(doppler: f64, random: &mut RandomStream) -> Self {
        let zero = [0.0; WAVES];
        let (start, turn) = ([0; WAVES], [0; WAVES]);
        let mut path = Self { start, turn, turn_cos: zero, turn_sin: zero, cos: zero, sin: zero };
        for wave in 0..WAVES {
            let angle = TAU * (wave as f64 + random.uniform()) / WAVES as f64;
            path.turn[wave] = phase(doppler * libm::cos(angle));
            (path.turn_sin[wave], path.turn_cos[wave]) = sine_and_cosine(path.turn[wave]);
            path.start[wave] = random.next_u64();
        }
        path
    }

    /// Goes to a sample.
    fn anchor(&mut self, sample: u64) {
        for wave in 0..WAVES {
            let phase = self.start[wave].wrapping_add(self.turn[wave].wrapping_mul(sample));
            (self.sin[wave], self.cos[wave]) = sine_and_cosine(phase);
        }
    }

    /// The power now, times the number of waves; then everything turns.
    fn sample(&mut self) -> f64 {
        let (mut in_phase, mut quadrature) = ([0.0; LANES], [0.0; LANES]);
        for first in (0..WAVES).step_by(LANES) {
            for lane in 0..LANES {
                let wave = first + lane;
                let (c, s) = (self.cos[wave], self.sin[wave]);
                in_phase[lane] += c;
                quadrature[lane] += s;
                self.cos[wave] = c * self.turn_cos[wave] - s * self.turn_sin[wave];
                self.sin[wave] = s * self.turn_cos[wave] + c * self.turn_sin[wave];
            }
        }
        let in_phase = (in_phase[0] + in_phase[1]) + (in_phase[2] + in_phase[3]);
        let quadrature = (quadrature[0] + quadrature[1]) + (quadrature[2] + quadrature[3]);
        in_phase * in_phase + quadrature * quadrature
    }
}

impl Fading {
    /// Paths that fade independently, `doppler` turns of the fastest wave per sample.
    pub(super) fn new(
        paths: usize,
        doppler: f64,
        samples_per_block: usize,
        random: &mut RandomStream,
    ) -> Self {
        Self {
            paths: (0..paths).map(|_| Path::new(doppler, random)).collect(),
            samples_per_block: samples_per_block as u64,
            next_block: None,
        }
    }

    /// The summed power of all paths at each sample of a block, 1 on average. Any block may follow any other.
    pub(super) fn block(&mut self, block: u64, power: &mut [f64]) {
        if self.next_block != Some(block) || block.is_multiple_of(ANCHOR_BLOCKS) {
            let sample = block.wrapping_mul(self.samples_per_block);
            self.paths.iter_mut().for_each(|path| path.anchor(sample));
        }
        self.next_block = block.checked_add(1);
        power.fill(0.0);
        let scale = 1.0 / (self.paths.len() * WAVES) as f64;
        for path in &mut self.paths {
            for sample in &mut *power {
                *sample += scale * path.sample();
            }
        }
    }
}

fn sine_and_cosine(phase: u64) -> (f64, f64) {
    libm::sincos(TAU * (phase as f64 / TURN))
}

#[cfg(test)]
mod tests;
