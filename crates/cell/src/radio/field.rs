//! Random fields over places: shadows that a terminal enters and leaves.

use core::f64::consts::TAU;

use whimbrel_units::random::{Random, SplitMix64};

use super::path_loss::Metres;
use super::turns::sines_cosines;
use crate::level::Decibels;

/// A place on the ground, in metres.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Place {
    /// Metres to the east.
    pub x: f64,
    /// Metres to the north.
    pub y: f64,
}

/// Waves of a field: enough for values that are normal within 1 %.
const WAVES: usize = 48;

/// A field of mean 0 and variance 1 over the plane, with correlation exp(-d / `correlation`) over a distance
/// d.
///
/// A sum of plane waves. The spectrum of that correlation in the plane, k (1 / c^2 + k^2)^(-3/2) / c, has a
/// distribution function in closed form, from which the wave numbers are drawn in equal shares. The value is
/// a function of the place alone: whoever returns finds the same shadow, and neighbours share it.
#[derive(Clone, PartialEq, Debug)]
pub struct Field {
    /// Wave vectors in turns per metre.
    x: [f64; WAVES],
    y: [f64; WAVES],
    /// Phases in turns.
    phase: [f64; WAVES],
}

impl Field {
    /// The field of a seed.
    pub fn new(correlation: Metres, seed: u64) -> Self {
        let mut random = SplitMix64::new(seed);
        let [mut x, mut y, mut phase] = [[0.0; WAVES]; 3];
        for number in 0..WAVES {
            let share = (number as f64 + random.uniform()) / WAVES as f64;
            let rest = 1.0 - share;
            let wave_number = libm::sqrt(1.0 / (rest * rest) - 1.0) / correlation.0;
            let direction = TAU * random.uniform();
            x[number] = wave_number * libm::cos(direction) / TAU;
            y[number] = wave_number * libm::sin(direction) / TAU;
            phase[number] = random.uniform();
        }
        Self { x, y, phase }
    }

    /// The value at a place, normal with mean 0 and variance 1.
    pub fn value(&self, place: Place) -> f64 {
        let Self { x, y, phase } = self;
        let turns = |number: usize| x[number] * place.x + y[number] * place.y + phase[number];
        let (_, cosines) = sines_cosines::<WAVES>(turns);
        cosines.iter().sum::<f64>() * libm::sqrt(2.0 / WAVES as f64)
    }
}

/// Log-normal shadowing between the sites of a network and places.
///
/// A part of the shadow is the place's own and common to all sites, since a house around a terminal is in the
/// way of all.
#[derive(Clone, PartialEq, Debug)]
pub struct Shadowing {
    deviation: Decibels,
    /// Share of the variance that the sites have in common.
    common_share: f64,
    common: Field,
    correlation: Metres,
    seed: u64,
}

impl Shadowing {
    /// Shadowing of this deviation and correlation distance, of which sites share `common_share` of the
    /// variance (0.5 in the studies of LTE).
    pub fn new(deviation: Decibels, correlation: Metres, common_share: f64, seed: u64) -> Self {
        let common = Field::new(correlation, SplitMix64::new(seed).next_u64());
        Self { deviation, common_share, common, correlation, seed }
    }

    /// The field of one site, to be kept by its owner. Sectors of a site have one field.
    pub fn site(&self, site: u32) -> Field {
        let mut random = SplitMix64::new(self.seed).stream(u64::from(site));
        Field::new(self.correlation, random.next_u64())
    }

    /// The part of a place's loss that all sites have in common.
    pub fn common(&self, place: Place) -> Decibels {
        Decibels(self.deviation.0 * libm::sqrt(self.common_share) * self.common.value(place))
    }

    /// The part of a place's loss that is the site's own.
    pub fn own(&self, site: &Field, place: Place) -> Decibels {
        Decibels(self.deviation.0 * libm::sqrt(1.0 - self.common_share) * site.value(place))
    }

    /// The loss that shadows add between a site and a place; negative where there are fewer than usual.
    pub fn loss(&self, site: &Field, place: Place) -> Decibels {
        self.common(place) + self.own(site, place)
    }
}

#[cfg(test)]
mod tests;
