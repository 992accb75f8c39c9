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
    paths: usize,
    samples_per_block: u64,
    /// Of the first sample of block 0.
    start: Vec<u64>,
    /// How far each wave turns from sample to sample.
    turn: Vec<u64>,
    turn_cos: Vec<f64>,
    turn_sin: Vec<f64>,
    cos: Vec<f64>,
    sin: Vec<f64>,
    /// The block whose first sample comes next, if the samples so far were taken in order.
    next_block: Option<u64>,
}

impl Fading {
    /// Paths that fade independently, `doppler` turns of the fastest wave per sample.
    pub(super) fn new(
        paths: usize,
        doppler: f64,
        samples_per_block: usize,
        random: &mut RandomStream,
    ) -> Self {
        let waves = paths * WAVES;
        let (mut start, mut turn) = (Vec::with_capacity(waves), Vec::with_capacity(waves));
        for wave in 0..waves {
            let angle = TAU * ((wave % WAVES) as f64 + random.uniform()) / WAVES as f64;
            turn.push(phase(doppler * libm::cos(angle)));
            start.push(random.next_u64());
        }
        let (turn_sin, turn_cos) = turn.iter().map(|&turn| sine_and_cosine(turn)).unzip();
        Self {
            paths,
            samples_per_block: samples_per_block as u64,
            start,
            turn,
            turn_cos,
            turn_sin,
            cos: vec![0.0; waves],
            sin: vec![0.0; waves],
            next_block: None,
        }
    }

    /// The summed power of all paths at each sample of a block, 1 on average. Any block may follow any other.
    pub(super) fn block(&mut self, block: u64, power: &mut [f64]) {
        if self.next_block != Some(block) || block.is_multiple_of(ANCHOR_BLOCKS) {
            self.anchor(block);
        }
        self.next_block = block.checked_add(1);
        let scale = 1.0 / (self.paths * WAVES) as f64;
        for sample in power {
            *sample = scale * self.sample();
        }
    }

    fn anchor(&mut self, block: u64) {
        let samples = block.wrapping_mul(self.samples_per_block);
        for wave in 0..self.start.len() {
            let phase = self.start[wave].wrapping_add(self.turn[wave].wrapping_mul(samples));
            (self.sin[wave], self.cos[wave]) = sine_and_cosine(phase);
        }
    }

    /// The summed power now, times the number of waves; then everything turns.
    fn sample(&mut self) -> f64 {
        let mut power = 0.0;
        for path in 0..self.paths {
            let waves = path * WAVES..(path + 1) * WAVES;
            let (cos, sin) = (&mut self.cos[waves.clone()], &mut self.sin[waves.clone()]);
            let (turn_cos, turn_sin) = (&self.turn_cos[waves.clone()], &self.turn_sin[waves]);
            let (mut in_phase, mut quadrature) = ([0.0; LANES], [0.0; LANES]);
            for first in (0..WAVES).step_by(LANES) {
                for lane in 0..LANES {
                    let wave = first + lane;
                    let (c, s) = (cos[wave], sin[wave]);
                    in_phase[lane] += c;
                    quadrature[lane] += s;
                    cos[wave] = c * turn_cos[wave] - s * turn_sin[wave];
                    sin[wave] = s * turn_cos[wave] + c * turn_sin[wave];
                }
            }
            let in_phase = (in_phase[0] + in_phase[1]) + (in_phase[2] + in_phase[3]);
            let quadrature = (quadrature[0] + quadrature[1]) + (quadrature[2] + quadrature[3]);
            power += in_phase * in_phase + quadrature * quadrature;
        }
        power
    }
}

fn sine_and_cosine(phase: u64) -> (f64, f64) {
    libm::sincos(TAU * (phase as f64 / TURN))
}

#[cfg(test)]
mod tests;
