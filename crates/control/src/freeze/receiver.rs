//! The receiver's state table: Figure 7b, and what is beyond the paper.

use whimbrel_units::{Duration, Instant};

use crate::tfrc::loss_intervals::INTERVALS;

use super::{Marking, ProbeEnd};

#[cfg(test)]
mod tests;

/// What a receiver is about (Figure 7b).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ReceiverState {
    /// TFRC as ever.
    #[default]
    Normal,
    /// The sender has restored its rate; X_recv does not cover a round-trip time of that yet.
    Restoration,
    /// It does, which is said (UNFROZEN) until the sender has heard it.
    Recovery,
    /// The sender probes.
    Probed,
    /// There was a loss; the sender is told (UNFROZEN) until its packets are plain again.
    Recovery2,
    /// Beyond the paper: the loss history fits the rate found, as the sender asked.
    Settled,
}

/// What moves a receiver from state to state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReceiverInput {
    /// A packet with RESTORING.
    Restoring,
    /// A packet with PROBING.
    Probing,
    /// A packet that asks to settle.
    Settle,
    /// A packet with neither.
    Plain,
    /// A round-trip time has passed since the first packet with RESTORING.
    RoundTrip,
    /// A new loss event; not where the sender goes by the receive rate.
    Loss,
}

/// What a receiver does on the way to a state.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReceiverAction {
    /// Nothing.
    None,
    /// Measure X_recv anew from now on.
    BeginMeasuring,
    /// Make up the loss history that fits X_recv, beginning with the present loss event.
    FitHistory,
    /// Take the present packet for marked, and do the same.
    MarkAndFitHistory,
}

impl ReceiverState {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Normal, Self::Restoration, Self::Recovery, Self::Probed, Self::Recovery2, Self::Settled];

    /// The state that follows, and what is done on the way.
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

    /// Whether feedback carries UNFROZEN.
    pub fn says_unfrozen(self) -> bool {
        matches!(self, Self::Recovery | Self::Recovery2)
    }

    /// A short name, as in records.
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

/// A receiver's state, with what it takes to move it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReceiverMachine {
    state: ReceiverState,
    /// When the first packet with RESTORING arrived.
    since: Instant,
    /// What ends the sender's probing.
    end: ProbeEnd,
}

impl ReceiverMachine {
    /// Its state.
    pub fn state(&self) -> ReceiverState {
        self.state
    }

    /// A packet with data arrived, newer than all before, with that marking.
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

    /// A new loss event was found.
    pub fn on_loss(&mut self) -> ReceiverAction {
        if self.end == ProbeEnd::ReceiveRate { ReceiverAction::None } else { self.step(ReceiverInput::Loss) }
    }

    /// How many loss intervals a history has that is made up now.
    pub fn fitted_intervals(&self) -> usize {
        if self.end == ProbeEnd::LossOneInterval { 1 } else { INTERVALS }
    }

    /// Feedback is being sent: whether it carries UNFROZEN.
    pub fn on_feedback(&mut self, now: Instant, rtt: Duration) -> bool {
        if self.state == ReceiverState::Restoration && now >= self.since + rtt {
            self.step(ReceiverInput::RoundTrip);
        }
        self.state.says_unfrozen()
    }

    fn step(&mut self, input: ReceiverInput) -> ReceiverAction {
        let (state, action) = self.state.after(input);
        self.state = state;
        action
    }
}
