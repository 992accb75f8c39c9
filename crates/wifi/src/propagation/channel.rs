//! The channel between the stations of a network: receivers, powers and delays of a transmission.

use alloc::vec::Vec;

use whimbrel_units::Instant;

use super::{
    BlockFading, Fading, InvalidRadio, LinkBudget, PathLoss, Positions, Radio, SPEED_OF_LIGHT, SpatialIndex,
    from_decibels, success_probability,
};
use crate::Random;
use crate::medium::Link;
use crate::mobility::Area;
use crate::phy::Rate;

/// Parameters of a [`Channel`].
#[derive(Clone, PartialEq, Debug)]
pub struct ChannelConfig {
    /// The radio of all stations.
    pub radio: Radio,
    /// Attenuation over distance.
    pub path_loss: PathLoss,
    /// Random gains.
    pub fading: BlockFading,
    /// The greatest gain by fading that is considered, in decibels: stations that would need a greater one to sense a
    /// transmission are left out. 0 without fading.
    pub fading_margin: f64,
}

impl ChannelConfig {
    /// ns-2's default: the WaveLAN card over two-ray ground, without fading.
    pub fn ns2() -> Self {
        Self {
            radio: Radio::NS2,
            path_loss: PathLoss::TwoRayGround,
            fading: BlockFading::new(Fading::None, whimbrel_units::Duration::MAX, 0),
            fading_margin: 0.0,
        }
    }
}

/// The channel between stations that move, all with the same radio. A transmission costs what is near its sender.
#[derive(Clone, Debug)]
pub struct Channel {
    config: ChannelConfig,
    budget: LinkBudget,
    /// Range of the search for receivers in metres.
    range: f64,
    index: SpatialIndex,
    found: Vec<(u32, f64)>,
}

impl Channel {
    /// The channel between `stations` stations in `area`.
    ///
    /// # Errors
    /// If the radio has a field with an impossible value.
    pub fn new(
        config: ChannelConfig,
        area: Area,
        now: Instant,
        stations: usize,
        positions: &impl Positions,
    ) -> Result<Self, InvalidRadio> {
        config.radio.check()?;
        let budget = LinkBudget::new(&config.path_loss, &config.radio, &config.radio);
        let weakest = config.radio.carrier_sense_threshold / from_decibels(config.fading_margin);
        let range = budget.range(weakest);
        let index = SpatialIndex::new(area, range, now, stations, positions);
        Ok(Self { config, budget, range, index, found: Vec::new() })
    }

    /// The parameters.
    pub fn config(&self) -> &ChannelConfig {
        &self.config
    }

    /// Range of the search for receivers in metres: the carrier-sense range, extended by the fading margin.
    pub fn range(&self) -> f64 {
        self.range
    }

    /// Received power in watts between two stations at `now`.
    pub fn power(&self, now: Instant, from: usize, to: usize, positions: &impl Positions) -> f64 {
        let distance_squared = positions.position(from, now).distance_squared(positions.position(to, now));
        self.budget.power(distance_squared) * self.config.fading.gain(now, from, to)
    }

    /// Writes the stations that sense a transmission which begins at `now` to `links`, in ascending order, with power and
    /// delay. `is_on` is asked for each; the sender is left out. Calls must not go back in time.
    pub fn links(
        &mut self,
        now: Instant,
        sender: usize,
        positions: &impl Positions,
        is_on: impl Fn(usize) -> bool,
        links: &mut Vec<Link>,
    ) {
        links.clear();
        let origin = self.index.position(now, sender, positions);
        self.index.within(now, origin, self.range, positions, &mut self.found);
        for &(station, distance_squared) in &self.found {
            let to = station as usize;
            if to == sender || !is_on(to) {
                continue;
            }
            let power = self.budget.power(distance_squared) * self.config.fading.gain(now, sender, to);
            if power >= self.config.radio.carrier_sense_threshold {
                let nanos = libm::sqrt(distance_squared) / SPEED_OF_LIGHT * 1e9;
                // Rounded up without a call: the value is positive and small.
                let delay = nanos as u32;
                let delay = delay + u32::from(f64::from(delay) < nanos);
                links.push(Link { station, delay, power: power as f32, is_corrupted: false });
            }
        }
    }
}

/// Marks the links over which noise destroys a frame of `bits` bits at this rate: each with the error probability of its
/// signal-to-noise ratio, over a noise of `noise` watts. One draw per link.
pub fn corrupt_by_noise(
    links: &mut [Link],
    rate: Rate,
    bits: f64,
    noise: f64,
    random: &mut (impl Random + ?Sized),
) {
    for link in links {
        let success = success_probability(rate, f64::from(link.power) / noise, bits);
        link.is_corrupted |= random.uniform() >= success;
    }
}

#[cfg(test)]
mod tests;
