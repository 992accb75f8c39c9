//! Distributions as tables of quantiles, which iproute2 computes (`netem/normal.c`, `pareto.c`,
//! `paretonormal.c`) and the kernel picks from.
//!
//! An entry is a multiple of 1/8192 of a standard deviation, in 16 bits. They are computed here as they are
//! there, rounding and all, and a test holds them to the files that `tc` reads.

use super::JitterDistribution;

/// `NETEM_DIST_SCALE`: one standard deviation.
pub(super) const SCALE: i64 = 8192;

const ENTRIES: usize = 4096;
/// The finest division of the normal distribution: every fourth of these becomes an entry.
const FINE: f64 = 16384.0;
/// Start and step of the search along the normal distribution.
const LEAST: f64 = -10.0;
const STEP: f64 = 0.00005;
const STEPS: u32 = 401_000;

/// A table of quantiles.
#[derive(Clone, Debug)]
pub(super) struct Table(Box<[i16]>);

impl Table {
    /// A distribution's table; the uniform one has none.
    pub(super) fn of(distribution: JitterDistribution) -> Option<Self> {
        let entry: fn(usize) -> i32 = match distribution {
            JitterDistribution::Uniform => return None,
            JitterDistribution::Normal => normal,
            JitterDistribution::Pareto => pareto,
            JitterDistribution::ParetoNormal => {
                |index| (0.25 * f64::from(normal(index)) + 0.75 * f64::from(pareto(index))) as i32
            }
        };
        let limited = |index| entry(index).clamp(i16::MIN.into(), i16::MAX.into()) as i16;
        Some(Self((0..ENTRIES).map(limited).collect()))
    }

    /// The entry that a random number stands for.
    pub(super) fn pick(&self, random: u32) -> i64 {
        i64::from(self.0[random as usize % ENTRIES])
    }

    #[cfg(test)]
    pub(super) fn entries(&self) -> &[i16] {
        &self.0
    }
}

/// The last x on the way up at which 16384 Phi(x), rounded, is four times the index.
fn normal(index: usize) -> i32 {
    let limit = 4.0 * index as f64 + 0.5;
    let x = |step: u32| LEAST + f64::from(step) * STEP;
    let is_below = |step: u32| FINE * 0.5 * libm::erfc(-x(step) / core::f64::consts::SQRT_2) < limit;
    let (mut below, mut above) = (0, STEPS);
    while above - below > 1 {
        let middle = below.midpoint(above);
        if is_below(middle) { below = middle } else { above = middle }
    }
    libm::rint(x(below) * SCALE as f64) as i32
}

/// Pareto's distribution with exponent 3, whose mean is 3/2, moved and stretched.
fn pareto(index: usize) -> i32 {
    let share = 1.0 - index as f64 / ENTRIES as f64;
    let value = (1.0 / libm::cbrt(share) - 1.5) * (4.0 / 3.0) * SCALE as f64;
    libm::rint(value.min(f64::from(i16::MAX))) as i32
}
