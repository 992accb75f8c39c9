//! The change of the cell: preparation, interruption, failure and re-establishment.

use core::fmt;

use alloc::collections::VecDeque;

use whimbrel_units::{Duration, Instant};

use super::CellIndex;
use crate::level::Decibels;

/// Durations of a change.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct HandoverConfig {
    /// From the report to the command, while the old cell still serves.
    pub preparation: Duration,
    /// From the command until data flow again, with the random access: nothing is served.
    pub gap: Duration,
    /// From the failure of a link until another cell serves.
    pub reestablishment: Duration,
    /// The least ratio at which a cell can be reached.
    pub reachable: Decibels,
    /// Cells of the network.
    pub cells: u32,
}

impl HandoverConfig {
    /// Medians of LTE in drives (Hassan et al., SIGCOMM 2022).
    pub const fn lte(cells: u32) -> Self {
        Self {
            preparation: Duration::from_millis(52),
            gap: Duration::from_millis(34),
            reestablishment: Duration::from_millis(500),
            reachable: Decibels(-5.0),
            cells,
        }
    }

    /// Medians of NR with a core network of its own, from the same drives.
    pub const fn nr(cells: u32) -> Self {
        Self { preparation: Duration::from_millis(45), gap: Duration::from_millis(66), ..Self::lte(cells) }
    }
}

/// Phase of a terminal's handover.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// The cell serves.
    Serving,
    /// The cell serves, and commands a change at this time.
    Preparing {
        /// The new cell.
        target: CellIndex,
        /// When.
        command_at: Instant,
    },
    /// No cell serves until this time.
    Changing {
        /// The new cell.
        target: CellIndex,
        /// When its random access ends.
        until: Instant,
    },
    /// The link has failed; the terminal looks for a cell until this time.
    Searching {
        /// When.
        until: Instant,
    },
}

/// Event of a terminal's handover.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HandoverEvent {
    /// The terminal has reported, and its change is prepared: the old cell serves until the command.
    Prepared {
        /// The old cell.
        from: CellIndex,
        /// The new cell.
        to: CellIndex,
    },
    /// The old cell's bearers end, and forward what they hold.
    Commanded {
        /// The old cell.
        from: CellIndex,
        /// The new cell.
        to: CellIndex,
    },
    /// The new cell serves.
    Completed {
        /// The new cell.
        cell: CellIndex,
    },
    /// The link to the cell, old or new, was lost: no cell serves.
    Failed {
        /// The cell.
        cell: CellIndex,
    },
    /// A cell serves after a failure.
    Reestablished {
        /// The cell.
        cell: CellIndex,
    },
}

/// Reason for refusing a handover.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum InvalidHandover {
    /// The network has no such cell.
    NoSuchCell {
        /// The cell.
        target: CellIndex,
        /// Cells of the network.
        cells: u32,
    },
    /// The cell serves already.
    Serving {
        /// The cell.
        target: CellIndex,
    },
    /// Another change is in progress.
    InProgress,
}

impl fmt::Display for InvalidHandover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchCell { target, cells } => {
                write!(f, "there is no cell {}: the network has {cells}, numbered from 0", target.0)
            }
            Self::Serving { target } => write!(f, "cell {} serves the terminal already", target.0),
            Self::InProgress => f.write_str("another handover is in progress"),
        }
    }
}

impl core::error::Error for InvalidHandover {}

/// The cell of a terminal, and its changes.
#[derive(Clone, PartialEq, Debug)]
pub struct Handover {
    config: HandoverConfig,
    cell: CellIndex,
    phase: Phase,
    events: VecDeque<(Instant, HandoverEvent)>,
}

impl Handover {
    /// A terminal that this cell serves.
    ///
    /// # Errors
    /// If the network has no such cell.
    pub fn new(config: HandoverConfig, cell: CellIndex) -> Result<Self, InvalidHandover> {
        if cell.0 >= config.cells {
            return Err(InvalidHandover::NoSuchCell { target: cell, cells: config.cells });
        }
        Ok(Self { config, cell, phase: Phase::Serving, events: VecDeque::new() })
    }

    /// The terminal's phase.
    pub const fn phase(&self) -> Phase {
        self.phase
    }

    /// The cell that serves now; `None` in a gap.
    pub const fn serving(&self) -> Option<CellIndex> {
        match self.phase {
            Phase::Serving | Phase::Preparing { .. } => Some(self.cell),
            _ => None,
        }
    }

    /// A report that another cell is better, or the wish of a scenario: the change begins to be prepared.
    ///
    /// # Errors
    /// If there is no such cell, if it serves already, or if another change is in progress.
    pub fn handle_report(&mut self, now: Instant, target: CellIndex) -> Result<(), InvalidHandover> {
        if target.0 >= self.config.cells {
            return Err(InvalidHandover::NoSuchCell { target, cells: self.config.cells });
        }
        if self.phase != Phase::Serving {
            return Err(InvalidHandover::InProgress);
        }
        if target == self.cell {
            return Err(InvalidHandover::Serving { target });
        }
        self.events.push_back((now, HandoverEvent::Prepared { from: self.cell, to: target }));
        self.phase = Phase::Preparing { target, command_at: now + self.config.preparation };
        Ok(())
    }

    /// The link to the serving cell has failed, before or while a change is prepared: the command cannot
    /// arrive.
    pub fn handle_failure(&mut self, now: Instant) {
        if self.serving().is_some() {
            self.fail(now, self.cell);
        }
    }

    fn fail(&mut self, now: Instant, cell: CellIndex) {
        self.events.push_back((now, HandoverEvent::Failed { cell }));
        self.phase = Phase::Searching { until: now + self.config.reestablishment };
    }

    /// The next deadline.
    pub const fn poll_timeout(&self) -> Option<Instant> {
        match self.phase {
            Phase::Serving => None,
            Phase::Preparing { command_at: deadline, .. }
            | Phase::Changing { until: deadline, .. }
            | Phase::Searching { until: deadline } => Some(deadline),
        }
    }

    /// A deadline has come. `sinrs` are the ratios of the cells at this time, which decide whether a new
    /// cell is reached.
    pub fn handle_timeout(&mut self, now: Instant, sinrs: &[(CellIndex, Decibels)]) {
        if self.poll_timeout().is_none_or(|deadline| now < deadline) {
            return;
        }
        let sinr = |cell| sinrs.iter().find(|(other, _)| *other == cell).map(|(_, sinr)| *sinr);
        match self.phase {
            Phase::Serving => {}
            Phase::Preparing { target, command_at } => {
                self.events.push_back((command_at, HandoverEvent::Commanded { from: self.cell, to: target }));
                self.phase = Phase::Changing { target, until: command_at + self.config.gap };
            }
            Phase::Changing { target, until } => {
                if sinr(target).is_some_and(|sinr| sinr >= self.config.reachable) {
                    self.serve(target);
                    self.events.push_back((until, HandoverEvent::Completed { cell: target }));
                } else {
                    self.fail(until, target);
                }
            }
            Phase::Searching { until } => {
                let best = sinrs.iter().max_by(|first, second| first.1.0.total_cmp(&second.1.0));
                match best.filter(|(_, sinr)| *sinr >= self.config.reachable) {
                    Some(&(cell, _)) => {
                        self.serve(cell);
                        self.events.push_back((until, HandoverEvent::Reestablished { cell }));
                    }
                    // Beyond any cell: the search goes on.
                    None => self.phase = Phase::Searching { until: until + self.config.reestablishment },
                }
            }
        }
    }

    const fn serve(&mut self, cell: CellIndex) {
        self.cell = cell;
        self.phase = Phase::Serving;
    }

    /// Next event and its time.
    pub fn poll_event(&mut self) -> Option<(Instant, HandoverEvent)> {
        self.events.pop_front()
    }
}

#[cfg(test)]
mod tests;
