//! The channel between the stations of a network: receivers, powers and delays of a transmission.

use alloc::vec::Vec;

use whimbrel_units::{Duration, Instant};

use super::measurement::{Measurement, Reach};
use super::{
    BlockFading, Fading, InvalidRadio, LinkBudget, PathLoss, Positions, Radio, SpatialIndex, from_decibels,
    success_probability,
};
use crate::medium::Link;
use crate::mobility::Area;
use crate::phy::Rate;
use crate::{Random, StationIndex};

/// Longest time in seconds for which neighbours are remembered.
const MAX_LIFETIME: f64 = 1e6;

/// Parameters of a [`Channel`].
#[derive(Clone, PartialEq, Debug)]
pub struct ChannelConfig {
    /// The radio of all stations.
    pub radio: Radio,
    /// Attenuation over distance.
    pub path_loss: PathLoss,
    /// Random gains.
    pub fading: BlockFading,
    /// The greatest gain by fading that is considered, in decibels: stations that would need a greater one to
    /// sense a transmission are left out. 0 without fading.
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

/// The channel between stations that move, all with the same radio. A transmission costs what is near its
/// sender.
#[derive(Clone, Debug)]
pub struct Channel {
    config: ChannelConfig,
    budget: LinkBudget,
    /// Range of the search for receivers in metres.
    range: f64,
    index: SpatialIndex,
    /// Distance in metres by which the search for neighbours exceeds the range.
    margin: f64,
    /// Time in which no two stations come closer to each other by more than the margin.
    lifetime: Duration,
    neighbours: Vec<Neighbours>,
    found: Vec<(StationIndex, f64)>,
    /// The neighbours of a sender, while it transmits.
    measured: Measurement,
}

/// The stations that may come into the range of a sender before `until`.
#[derive(Clone, Default, Debug)]
struct Neighbours {
    until: Instant,
    /// In the order of their delays at the sender's last transmission, which is nearly that at the next one.
    stations: Vec<StationIndex>,
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
        // A longer margin makes searches rarer, and the neighbours more that are examined in vain.
        let margin = range / 20.0;
        let max_speed =
            (0..stations).map(|station| positions.max_speed(StationIndex::new(station))).fold(0.0, f64::max);
        let lifetime = if max_speed > 0.0 {
            // Somewhat less than it takes two stations that approach each other, because of rounding.
            Duration::from_secs_f64((margin / max_speed * 0.499).min(MAX_LIFETIME))
        } else {
            Duration::MAX
        };
        let neighbours = alloc::vec![Neighbours::default(); stations];
        Ok(Self {
            config,
            budget,
            range,
            index,
            margin,
            lifetime,
            neighbours,
            found: Vec::new(),
            measured: Measurement::default(),
        })
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
    pub fn power(
        &self,
        now: Instant,
        from: StationIndex,
        to: StationIndex,
        positions: &impl Positions,
    ) -> f64 {
        let distance_squared = positions.position(from, now).distance_squared(positions.position(to, now));
        self.budget.power(distance_squared) * self.config.fading.gain(now, from, to)
    }

    /// Writes the stations that sense a transmission which begins at `now` to `links`, with power and delay,
    /// in the order of the delays and then of the stations. The sender is left out. Calls must not go back in
    /// time.
    pub fn links(
        &mut self,
        now: Instant,
        sender: StationIndex,
        positions: &impl Positions,
        links: &mut Vec<Link>,
    ) {
        let Self { config, budget, index, neighbours, measured, found, range, margin, lifetime } = self;
        let origin = index.position(now, sender, positions);
        let Neighbours { until, stations } = &mut neighbours[sender.index()];
        measured.squared.clear();
        if *until <= now {
            index.within(now, origin, *range + *margin, positions, found);
            found.retain(|&(station, _)| station != sender);
            *until = now + *lifetime;
            stations.clear();
            stations.extend(found.iter().map(|&(station, _)| station));
            measured.squared.extend(found.iter().map(|&(_, squared)| squared));
        } else {
            index.distances_squared(now, origin, stations, positions, &mut measured.squared);
        }
        measured.measure(budget);
        if !config.fading.is_none() {
            for (power, &station) in measured.powers.iter_mut().zip(stations.iter()) {
                *power *= config.fading.gain(now, sender, station);
            }
        }
        let threshold = config.radio.carrier_sense_threshold;
        measured.links(stations, Reach { range_squared: *range * *range, threshold }, links);
    }
}

/// Marks the links over which noise destroys a frame of `bits` bits at this rate: each with the error
/// probability of its signal-to-noise ratio, over a noise of `noise` watts. One draw per link.
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
