//! Event A3: a neighbour is better than the serving cell (TS 36.331, Section 5.5.4.4; TS 38.331, Section
//! 5.5.4.4).

use alloc::vec::Vec;

use whimbrel_units::{Duration, Instant};

use super::CellIndex;
use crate::level::{Decibels, PowerLevel};

/// Parameters of the report.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct A3Config {
    /// Margin of a neighbour over the serving cell: hysteresis and offset.
    pub margin: Decibels,
    /// For how long.
    pub time_to_trigger: Duration,
    /// Time between measurements, from the driver's epoch on.
    pub period: Duration,
    /// The coefficient k of the filter of layer 3: a new level counts 2^(-k/4). 0 for none, 4 is usual.
    pub filter: u8,
}

/// A cell as the terminal measures it.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Measured {
    cell: CellIndex,
    /// The level behind the filter.
    level: PowerLevel,
    measured_at: Instant,
    /// Since when the neighbour is above the margin.
    above_since: Option<Instant>,
}

/// The measurements of a terminal.
#[derive(Clone, PartialEq, Debug)]
pub struct A3 {
    config: A3Config,
    cells: Vec<Measured>,
}

impl A3 {
    /// A terminal that has measured nothing.
    pub const fn new(config: A3Config) -> Self {
        Self { config, cells: Vec::new() }
    }

    /// The first measurement at `now` or later.
    pub fn next_measurement(&self, now: Instant) -> Instant {
        let period = self.config.period.as_nanos().max(1);
        Instant::from_nanos(now.as_nanos().div_ceil(period) * period)
    }

    /// Levels of the serving cell and its neighbours; a cell that is left out is no longer heard.
    pub fn handle_levels(&mut self, now: Instant, serving: CellIndex, levels: &[(CellIndex, PowerLevel)]) {
        let weight = libm::exp2(-f64::from(self.config.filter) / 4.0);
        for &(cell, level) in levels {
            match self.cells.iter_mut().find(|known| known.cell == cell) {
                Some(known) => {
                    known.level = PowerLevel(known.level.0 + (level.0 - known.level.0) * weight);
                    known.measured_at = now;
                }
                None => self.cells.push(Measured { cell, level, measured_at: now, above_since: None }),
            }
        }
        self.cells.retain(|known| known.measured_at == now);
        let own = self.cells.iter().find(|known| known.cell == serving).map(|known| known.level);
        for known in &mut self.cells {
            // A serving cell that is not heard is worse than any.
            let is_above = own.is_none_or(|own| known.level - own > self.config.margin);
            known.above_since =
                if known.cell != serving && is_above { known.above_since.or(Some(now)) } else { None };
        }
    }

    /// When a neighbour has been better for long enough.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let due = |known: &Measured| known.above_since.map(|since| since + self.config.time_to_trigger);
        self.cells.iter().filter_map(due).min()
    }

    /// The best of the neighbours that have been better for long enough; each is reported once.
    pub fn handle_timeout(&mut self, now: Instant) -> Option<CellIndex> {
        let time_to_trigger = self.config.time_to_trigger;
        let is_due = |known: &Measured| known.above_since.is_some_and(|since| since + time_to_trigger <= now);
        let due = self.cells.iter().filter(|known| is_due(known));
        let best = due.max_by(|first, second| first.level.0.total_cmp(&second.level.0))?.cell;
        for known in &mut self.cells {
            known.above_since = None;
        }
        Some(best)
    }

    /// The level of a cell behind the filter.
    pub fn level(&self, cell: CellIndex) -> Option<PowerLevel> {
        self.cells.iter().find(|known| known.cell == cell).map(|known| known.level)
    }
}

#[cfg(test)]
mod tests;
