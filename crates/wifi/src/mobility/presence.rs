//! Nodes that are off for intervals.

use core::fmt;

use alloc::vec::Vec;

use whimbrel_units::Instant;

/// The times at which a node is on: always, except in the intervals of its outages. An outage contains its
/// beginning and not its end.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Presence {
    /// Disjoint, in the order of time, with gaps between them.
    outages: Vec<(Instant, Instant)>,
}

/// An outage that ends before it begins, or at its beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InvalidInterval {
    /// Beginning of the outage.
    pub from: Instant,
    /// End of the outage.
    pub until: Instant,
}

impl fmt::Display for InvalidInterval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an outage from {} until {}: expected an end after the beginning", self.from, self.until)
    }
}

impl core::error::Error for InvalidInterval {}

impl Presence {
    /// Always on.
    pub const ALWAYS: Self = Self { outages: Vec::new() };

    /// On except in these outages, which may overlap and come in any order.
    ///
    /// # Errors
    /// If an outage does not end after its beginning.
    pub fn except(outages: &[(Instant, Instant)]) -> Result<Self, InvalidInterval> {
        let mut sorted = outages.to_vec();
        if let Some(&(from, until)) = sorted.iter().find(|(from, until)| from >= until) {
            return Err(InvalidInterval { from, until });
        }
        sorted.sort_unstable();
        let mut merged = Self::ALWAYS;
        for (from, until) in sorted {
            match merged.outages.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(until),
                _ => merged.outages.push((from, until)),
            }
        }
        Ok(merged)
    }

    /// `true` if the node is on at `now`.
    #[inline]
    pub fn is_on(&self, now: Instant) -> bool {
        self.outages.is_empty() || self.is_between_outages(now)
    }

    fn is_between_outages(&self, now: Instant) -> bool {
        let begun = self.outages.partition_point(|&(from, _)| from <= now);
        begun == 0 || self.outages[begun - 1].1 <= now
    }

    /// The next time after `now` at which the node is switched on or off; `None` for never.
    pub fn next_change(&self, now: Instant) -> Option<Instant> {
        let ended = self.outages.partition_point(|&(_, until)| until <= now);
        let &(from, until) = self.outages.get(ended)?;
        Some(if from > now { from } else { until })
    }
}

#[cfg(test)]
mod tests;
