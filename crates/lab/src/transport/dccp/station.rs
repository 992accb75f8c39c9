//! The station of an end: its associations and handovers, and the estimates of its medium.

use schemars::JsonSchema;
use serde::Deserialize;
use whimbrel_cell::handover::HandoverEvent;
use whimbrel_control::capacity::Estimate;
use whimbrel_netsim::StationId;
use whimbrel_netsim::medium::Observation;
use whimbrel_scenario::signals::Scope;
use whimbrel_units::{Duration, Instant};

use crate::transport::explicit::{CrossLayer, Position};

/// The step of a handover between cells at which the modem's notice comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CellNotice {
    /// The terminal has reported a better cell: the old one serves for the time of the preparation, in which
    /// the peer can be notified.
    #[default]
    Preparation,
    /// The command has come: no cell serves.
    Interruption,
}

/// The action that an association or its loss calls for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::transport) enum StationChange {
    /// The station has no access point or cell, or will soon have none.
    Left,
    /// The station has returned to its access point, or a cell serves it again.
    Back,
}

/// The station that an end follows.
#[derive(Clone, Debug)]
pub(in crate::transport) struct Following {
    /// Time from an association until packets for the station go to the new access point; `None` if the end
    /// does not follow associations.
    pub delay: Option<Duration>,
    /// When a handover between cells is noticed.
    pub notice: CellNotice,
    /// The data that pauses, by its sender.
    pub scope: Scope,
    /// The terminals of the paths, by the paths' numbers; empty with one path.
    pub terminals: Vec<(StationId, usize)>,
}

/// The end's part of the cross-layer store of its node, and the state of its association.
#[derive(Debug, Default)]
pub(in crate::transport) struct Station {
    /// The estimates, and the share of application data in a packet.
    estimates: Option<(CrossLayer, f64)>,
    /// The estimate that the connection has.
    latest: Option<Estimate>,
    /// `None` if the end follows nothing.
    following: Option<Following>,
    /// Time at which the path over the new access point is complete.
    complete_at: Option<Instant>,
}

impl Station {
    pub(in crate::transport) fn new(
        estimates: Option<(CrossLayer, f64)>,
        following: Option<Following>,
    ) -> Self {
        Self { estimates, following, ..Self::default() }
    }

    /// The data that pauses without a path.
    pub(super) fn scope(&self) -> Scope {
        self.following.as_ref().map_or(Scope::Local, |following| following.scope)
    }

    /// The path of a station.
    pub(super) fn path(&self, station: StationId) -> usize {
        let terminals = self.following.iter().flat_map(|following| &following.terminals);
        terminals.into_iter().find(|(id, _)| *id == station).map_or(0, |(_, path)| *path)
    }

    /// The estimate of the station as a rate of application data, if it has changed.
    pub(super) fn changed_estimate(&mut self) -> Option<Option<Estimate>> {
        let (store, share) = self.estimates.as_ref()?;
        let now = store.get(Position::Sender);
        if now == self.latest {
            return None;
        }
        self.latest = now;
        let data = |estimate: Estimate| Estimate {
            capacity: estimate.capacity * *share,
            available: estimate.available * *share,
        };
        Some(now.map(data))
    }

    /// Processes an observation of the station.
    pub(super) fn on_observation(
        &mut self,
        now: Instant,
        observation: &Observation,
    ) -> Option<StationChange> {
        let following = self.following.as_ref()?;
        if let Observation::Cell(step) = observation {
            return on_handover(following.notice, *step);
        }
        let delay = following.delay?;
        match observation {
            Observation::Disassociated { .. } => {
                self.complete_at = None;
                Some(StationChange::Left)
            }
            Observation::Associated(handover) if handover.from.is_some() => {
                self.complete_at = Some(now + delay);
                None
            }
            Observation::Stayed { .. } => Some(StationChange::Back),
            _ => None,
        }
    }

    /// Time at which the path is complete.
    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.complete_at
    }

    /// `true`, once, when the path is complete.
    pub(super) fn take_completion(&mut self, now: Instant) -> bool {
        self.complete_at.take_if(|at| *at <= now).is_some()
    }
}

/// The action that a step of a handover between cells calls for.
fn on_handover(notice: CellNotice, step: HandoverEvent) -> Option<StationChange> {
    match step {
        HandoverEvent::Prepared { .. } => (notice == CellNotice::Preparation).then_some(StationChange::Left),
        HandoverEvent::Commanded { .. } | HandoverEvent::Failed { .. } => Some(StationChange::Left),
        HandoverEvent::Completed { .. } | HandoverEvent::Reestablished { .. } => Some(StationChange::Back),
    }
}

#[cfg(test)]
mod tests;
