//! The receiver's state table: Figure 7b with an extension.

use whimbrel_units::{Duration, Instant};

use crate::tfrc::loss_intervals::INTERVALS;

use super::{Marking, ProbeEnd};

#[cfg(test)]
mod tests;

/// State of a receiver (Figure 7b).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ReceiverState {
    /// Normal TFRC operation.
    #[default]
    Normal,
    /// The sender has restored its rate; X_recv does not cover a round-trip time of that yet.
    Restoration,
    /// X_recv covers a round-trip time, which is signalled (UNFROZEN) until the sender has received the
    /// signal.
    Recovery,
    /// The sender is probing.
    Probed,
    /// A loss occurred; UNFROZEN is signalled until the sender's packets carry no marking.
    Recovery2,
    /// Extension: the loss history fits the rate found, as the sender requested.
    Settled,
}

/// Inputs of the receiver's state table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReceiverInput {
    /// A packet with RESTORING.
    Restoring,
    /// A packet with PROBING.
    Probing,
    /// A packet that requests settling.
    Settle,
    /// A packet without marking.
    Plain,
    /// A round-trip time has passed since the first packet with RESTORING.
    RoundTrip,
    /// A new loss event; not generated if the sender uses the receive rate.
    Loss,
}

/// Action of a receiver on a transition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReceiverAction {
    /// No action.
    None,
    /// Restart the measurement of X_recv.
    BeginMeasuring,
    /// Create the loss history that fits X_recv, starting with the current loss event.
    FitHistory,
    /// Treat the current packet as marked, and do the same.
    MarkAndFitHistory,
}

impl ReceiverState {
    /// All states.
    pub const ALL: [Self; 6] =
        [Self::Normal, Self::Restoration, Self::Recovery, Self::Probed, Self::Recovery2, Self::Settled];

    /// Returns the next state and the action on the transition.
    ///
    /// ```text
    ///              Restoring     Probing  Settle    Plain    RoundTrip  Loss
    /// Normal       Restoration*  Probed   Settled+  -        -          -
    /// Restoration  -             Probed   Settled+  Normal   Recovery   Recovery2
    /// Recovery     -             Probed   Settled+  Normal   -          Recovery2
    /// Probed       Restoration*  -        Settled+  Normal   -          Recovery2+
    /// Recovery2    -             -        Settled+  Normal   -          -
    /// Settled      Restoration*  -        -         Normal   -          -
    ///              * measures anew        + fits the history
    /// ```
    #[must_use]
    pub fn after(self, input: ReceiverInput) -> (Self, ReceiverAction) {
        use ReceiverInput::{Loss, Plain, Probing, Restoring, RoundTrip, Settle};
        match (self, input) {
            (Self::Normal | Self::Probed | Self::Settled, Restoring) => {
                (Self::Restoration, ReceiverAction::BeginMeasuring)
            }
            (Self::Normal | Self::Restoration | Self::Recovery, Probing) => {
                (Self::Probed, ReceiverAction::None)
            }
            (Self::Settled, Settle) => (Self::Settled, ReceiverAction::None),
            (_, Settle) => (Self::Settled, ReceiverAction::MarkAndFitHistory),
            (_, Plain) => (Self::Normal, ReceiverAction::None),
            (Self::Restoration, RoundTrip) => (Self::Recovery, ReceiverAction::None),
            (Self::Restoration | Self::Recovery, Loss) => (Self::Recovery2, ReceiverAction::None),
            (Self::Probed, Loss) => (Self::Recovery2, ReceiverAction::FitHistory),
            (state, _) => (state, ReceiverAction::None),
        }
    }

    /// `true` if feedback carries UNFROZEN.
    pub fn signals_unfrozen(self) -> bool {
        matches!(self, Self::Recovery | Self::Recovery2)
    }

    /// Short name, as used in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::Restoration => "restoration",
            Self::Recovery => "recovery",
            Self::Probed => "probed",
            Self::Recovery2 => "recovery2",
            Self::Settled => "settled",
        }
    }
}

/// State of a receiver and the data for its transitions.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReceiverMachine {
    state: ReceiverState,
    /// Arrival time of the first packet with RESTORING.
    since: Instant,
    /// The sender's criterion for the end of probing.
    end: ProbeEnd,
}

impl ReceiverMachine {
    /// The current state.
    pub fn state(&self) -> ReceiverState {
        self.state
    }

    /// Processes a data packet newer than all before, with its marking.
    pub fn on_packet(&mut self, now: Instant, marking: Marking) -> ReceiverAction {
        let (input, end) = match marking {
            Marking::None => (ReceiverInput::Plain, ProbeEnd::default()),
            Marking::Restoring(end) => (ReceiverInput::Restoring, end),
            Marking::Probing(end) => (ReceiverInput::Probing, end),
            Marking::Settle => (ReceiverInput::Settle, ProbeEnd::ReceiveRate),
        };
        self.end = end;
        let action = self.step(input);
        if action == ReceiverAction::BeginMeasuring {
            self.since = now;
        }
        action
    }

    /// Processes a new loss event.
    pub fn on_loss(&mut self) -> ReceiverAction {
        if self.end == ProbeEnd::ReceiveRate { ReceiverAction::None } else { self.step(ReceiverInput::Loss) }
    }

    /// Number of loss intervals in a synthetic history created now.
    pub fn fitted_intervals(&self) -> usize {
        if self.end == ProbeEnd::LossOneInterval { 1 } else { INTERVALS }
    }

    /// Called when feedback is sent; returns `true` if it carries UNFROZEN.
    pub fn on_feedback(&mut self, now: Instant, rtt: Duration) -> bool {
        if self.state == ReceiverState::Restoration && now >= self.since + rtt {
            self.step(ReceiverInput::RoundTrip);
        }
        self.state.signals_unfrozen()
    }

    fn step(&mut self, input: ReceiverInput) -> ReceiverAction {
        let (state, action) = self.state.after(input);
        self.state = state;
        action
    }
}
