//! The 802.11 station of a sender: its associations, and the estimates of its medium.

use whimbrel_control::capacity::Estimate;
use whimbrel_netsim::medium::Observation;
use whimbrel_units::{Duration, Instant};

use crate::transport::explicit::{CrossLayer, Position};

/// The action that an association or its loss calls for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum StationChange {
    /// The station has no access point.
    Left,
    /// The station has returned to its access point.
    Stayed,
}

/// The sender's part of the cross-layer store of its node, and the state of its association.
#[derive(Debug, Default)]
pub(super) struct Station {
    /// The estimates, and the share of application data in a packet.
    estimates: Option<(CrossLayer, f64)>,
    /// The estimate that the connection has.
    latest: Option<Estimate>,
    /// Time from an association until packets for the station go to the new access point; `None` if the
    /// sender does not follow associations.
    delay: Option<Duration>,
    /// Time at which the path over the new access point is complete.
    complete_at: Option<Instant>,
}

impl Station {
    pub(super) fn new(estimates: Option<(CrossLayer, f64)>, delay: Option<Duration>) -> Self {
        Self { estimates, delay, ..Self::default() }
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
        let delay = self.delay?;
        match observation {
            Observation::Disassociated { .. } => {
                self.complete_at = None;
                Some(StationChange::Left)
            }
            Observation::Associated(handover) if handover.from.is_some() => {
                self.complete_at = Some(now + delay);
                None
            }
            Observation::Stayed { .. } => Some(StationChange::Stayed),
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

#[cfg(test)]
mod tests;
