//! A CDMA radio over a Rayleigh-fading channel: the one behind the recorded error patterns of `lda`,
//! Section 5.2, as far as that page describes it.
//!
//! The radio sends frames of equal length, one after the other, whether there are packets or not. The
//! symbols of a few frames are coded (`code.rs`) and interleaved together. Each symbol meets the channel
//! of its own moment (`fading.rs`); a RAKE receiver combines the resolved paths, and what other users
//! send is noise to it. From the signal-to-noise ratios of a block follows how many error events its
//! decoder makes of a frame, and with that number as the mean of a Poisson distribution how likely it
//! makes none. A frame with an error event is lost, and with it each packet that had a part in it.

mod code;
mod fading;

use whimbrel_units::{Duration, Instant};

use super::ImpairmentError;
use crate::random::RandomStream;
use code::ErrorEvents;
use fading::Fading;

/// Samples of the channel per turn of the fastest wave.
const SAMPLES_PER_TURN: f64 = 10.0;
/// The least samples per frame, for channels that hardly change.
const LEAST_SAMPLES: f64 = 4.0;
/// The most turns of the fastest wave in a frame.
const MOST_TURNS: f64 = 100.0;
const MOST_INTERLEAVED: u32 = 64;
const MOST_PATHS: u32 = 64;

/// A radio and its channel.
#[derive(Clone, PartialEq, Debug)]
pub struct Rayleigh {
    /// The Doppler shift `f_D` of a wave from straight ahead: speed over wavelength, in hertz.
    pub doppler_hz: f64,
    /// Structure of its frames.
    pub frames: Frames,
    /// Reception of its symbols.
    pub reception: Reception,
}

/// The frames of a radio.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Frames {
    /// Duration of a frame.
    pub duration: Duration,
    /// Bytes of packets that a frame carries. A longer packet takes several frames.
    pub bytes: u32,
    /// Number of symbols of the code of rate 1/2 in a frame, usually 16 per byte.
    pub symbols: u32,
    /// Memory of the code in bits, 2 to 8; the constraint length is one more.
    pub code_memory: u32,
    /// Number of frames that are interleaved together.
    pub interleaved: u32,
    /// The interleaver's columns: that many consecutive symbols are sent at times spread evenly over the
    /// interleaved frames. Even.
    pub columns: u32,
}

/// Reception of a symbol by a RAKE receiver.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Reception {
    /// Resolved paths of equal mean power, combined by maximum ratio.
    pub paths: u32,
    /// Mean energy per information bit over noise density `E_b/N_0`, of each path, in decibels.
    pub eb_n0_db: f64,
    /// Users that send at once and are received with the same mean power, this one included.
    pub users: u32,
    /// Chips per symbol.
    pub spreading_gain: u32,
}

impl Reception {
    /// Noise and interference of a symbol over the square of its mean amplitude.
    ///
    /// `N_0 / 2E_s + (K - 1) / 3N` for K users and N chips (M. B. Pursley, "Performance evaluation for
    /// phase-coded spread-spectrum multiple-access communication, part I", 1977); to each path the signal's
    /// other paths are interference as well.
    fn noise(&self) -> f64 {
        let paths = f64::from(self.paths);
        // Rate 1/2: a symbol has half of a bit's energy.
        let symbol_energy = paths * libm::pow(10.0, self.eb_n0_db / 10.0) / 2.0;
        let interferers = f64::from(self.users - 1) + (paths - 1.0) / paths;
        1.0 / (2.0 * symbol_energy) + interferers / (3.0 * f64::from(self.spreading_gain))
    }
}

impl Rayleigh {
    pub(super) fn check(&self) -> Result<(), ImpairmentError> {
        let (frames, reception) = (&self.frames, &self.reception);
        let demand = |holds: bool, name, value: f64, expected| {
            if holds { Ok(()) } else { Err(ImpairmentError::Radio { name, value, expected }) }
        };
        let duration = frames.duration.as_secs_f64();
        demand(duration > 0.0, "the frame's duration", duration, "above zero")?;
        let turns = self.doppler_hz * duration;
        demand((0.0..=MOST_TURNS).contains(&turns), "Doppler shift times frame", turns, "from 0 to 100")?;
        demand(frames.bytes > 0, "the frame's size", 0.0, "above zero")?;
        let number = f64::from;
        let memory = frames.code_memory;
        demand(code::MEMORY.contains(&memory), "the code's memory", number(memory), "from 2 to 8 bits")?;
        let interleaved = frames.interleaved;
        let fits = (1..=MOST_INTERLEAVED).contains(&interleaved);
        demand(fits, "the number of interleaved frames", number(interleaved), "from 1 to 64")?;
        let columns = frames.columns;
        let fits = columns >= 2 && columns % 2 == 0 && columns <= frames.symbols;
        demand(fits, "the number of columns", number(columns), "even and from 2 to a frame's symbols")?;
        let paths = reception.paths;
        demand((1..=MOST_PATHS).contains(&paths), "the number of paths", number(paths), "from 1 to 64")?;
        let decibels = reception.eb_n0_db;
        demand((-50.0..=100.0).contains(&decibels), "E_b/N_0", decibels, "from -50 to 100 dB")?;
        demand(reception.users > 0, "the number of users", 0.0, "1 or more")?;
        demand(reception.spreading_gain > 0, "the spreading gain", 0.0, "1 or more")
    }

    fn samples_per_frame(&self) -> f64 {
        (SAMPLES_PER_TURN * self.doppler_hz * self.frames.duration.as_secs_f64()).ceil().max(LEAST_SAMPLES)
    }
}

/// The radio at work.
#[derive(Clone, Debug)]
pub(super) struct Radio {
    frames: Frames,
    fading: Fading,
    events: ErrorEvents,
    /// Of a sample of mean power, over -6.
    sixth_of_ratio: f64,
    /// The channel's power over the current block.
    power: Vec<f64>,
    /// `exp(-x / 6)` for the signal-to-noise ratio `x` of each column of the interleaver.
    sixth: Vec<f64>,
    /// The last block looked at, and how likely each of its frames is lost.
    block: Option<(u64, f64)>,
    /// The last frame judged, and whether it was lost.
    judged: Option<(u64, bool)>,
}

impl Radio {
    pub(super) fn new(model: &Rayleigh, random: &mut RandomStream) -> Self {
        let frames = model.frames;
        let samples = model.samples_per_frame();
        let turns_per_sample = model.doppler_hz * frames.duration.as_secs_f64() / samples;
        let block = samples as usize * frames.interleaved as usize;
        Self {
            frames,
            fading: Fading::new(model.reception.paths as usize, turns_per_sample, block, random),
            events: ErrorEvents::new(frames.code_memory),
            sixth_of_ratio: -1.0 / (6.0 * model.reception.noise()),
            power: vec![0.0; block],
            sixth: vec![0.0; frames.columns as usize],
            block: None,
            judged: None,
        }
    }

    /// Returns `true` if the packet with its last bit leaving at `departure` is lost; at the end of a frame
    /// that is still this frame.
    pub(super) fn loses(&mut self, departure: Instant, size: u32, random: &mut RandomStream) -> bool {
        let last = departure.as_nanos().saturating_sub(1) / self.frames.duration.as_nanos();
        let count = u64::from(size.div_ceil(self.frames.bytes)).max(1);
        let mut first = (last + 1).saturating_sub(count);
        let mut lost = false;
        if let Some((judged, was_lost)) = self.judged
            && judged >= first
        {
            // Frames before the last judged carried earlier packets.
            lost = was_lost;
            first = judged + 1;
        }
        for frame in first..=last {
            let frame_lost = random.bernoulli(self.loss_in_block(frame / u64::from(self.frames.interleaved)));
            self.judged = Some((frame, frame_lost));
            lost |= frame_lost;
        }
        lost
    }

    /// Loss probability of each frame of this block.
    fn loss_in_block(&mut self, block: u64) -> f64 {
        if let Some((known, loss)) = self.block
            && known == block
        {
            return loss;
        }
        self.fading.block(block, &mut self.power);
        let columns = self.sixth.len() as f64;
        for (column, sixth) in self.sixth.iter_mut().enumerate() {
            let place = (column as f64 + 0.5) / columns * self.power.len() as f64 - 0.5;
            *sixth = libm::exp(self.sixth_of_ratio * interpolate(&self.power, place));
        }
        let rows = f64::from(self.frames.symbols) / columns;
        let loss = -libm::expm1(-rows * self.events.per_row(&self.sixth));
        self.block = Some((block, loss));
        loss
    }
}

/// Between the samples linearly, at the ends the nearest.
fn interpolate(samples: &[f64], place: f64) -> f64 {
    let place = place.clamp(0.0, (samples.len() - 1) as f64);
    let left = place as usize;
    let right = (left + 1).min(samples.len() - 1);
    samples[left] + (place - left as f64) * (samples[right] - samples[left])
}

#[cfg(test)]
mod tests;
