//! A TFRC receiver whose sender freezes.

use whimbrel_units::{Duration, Instant};

use super::{Marking, ReceiverAction, ReceiverMachine, ReceiverState, equivalent_interval};
use crate::loss_detection::{ArrivedPacket, Reception};
use crate::loss_differentiation::LossDifferentiation;
use crate::tfrc::loss_history::Outcome;
use crate::tfrc::loss_intervals::INTERVALS;
use crate::tfrc::{FeedbackReport, RetransmitTimeout, TfrcPacket, TfrcReceiver};

/// The sender's handover state, as a packet carries it (`papers/freeze`, Section 4.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HandoverMarks {
    /// Its marking.
    pub marking: Marking,
    /// The round-trip time that the sender reports while it restarts, if any.
    pub rtt: Option<Duration>,
}

/// A [`TfrcReceiver`] that follows its sender's handovers, if that was agreed.
#[derive(Debug)]
pub struct FreezingReceiver {
    tfrc: TfrcReceiver,
    machine: Option<ReceiverMachine>,
}

impl FreezingReceiver {
    /// A receiver whose sender does not freeze.
    pub fn new(tfrc: TfrcReceiver) -> Self {
        Self { tfrc, machine: None }
    }

    /// Sets the agreement that the sender marks its packets; the state begins anew.
    pub fn set_assisted(&mut self, is_assisted: bool) {
        self.machine = is_assisted.then(ReceiverMachine::default);
    }

    /// The TFRC receiver.
    pub fn tfrc(&self) -> &TfrcReceiver {
        &self.tfrc
    }

    /// The same, to be updated.
    pub fn tfrc_mut(&mut self) -> &mut TfrcReceiver {
        &mut self.tfrc
    }

    /// The current freeze state, if the sender marks its packets.
    pub fn state(&self) -> Option<ReceiverState> {
        self.machine.map(|machine| machine.state())
    }

    /// See [`TfrcReceiver::on_packet`].
    pub fn on_packet(
        &mut self,
        now: Instant,
        packet: &TfrcPacket,
        marks: HandoverMarks,
        classifier: Option<&mut (dyn LossDifferentiation + 'static)>,
    ) {
        self.tfrc.start(now, packet.arrival.sequence);
        let action = self.before(&packet.arrival, marks);
        let packet = TfrcPacket { arrival: marked(&packet.arrival, action), ..*packet };
        let outcome = self.tfrc.on_packet(now, &packet, classifier);
        self.after(now, &packet.arrival, action, outcome);
    }

    /// See [`TfrcReceiver::on_packet_in_order`].
    pub fn on_packet_in_order(
        &mut self,
        now: Instant,
        arrival: &ArrivedPacket,
        marks: HandoverMarks,
        classifier: Option<&mut (dyn LossDifferentiation + 'static)>,
    ) {
        let action = self.before(arrival, marks);
        let arrival = marked(arrival, action);
        let outcome = self.tfrc.on_packet_in_order(now, &arrival, classifier);
        self.after(now, &arrival, action, outcome);
    }

    /// Processes the marks of a packet, before the packet itself: the round-trip time that they carry assigns
    /// its losses to loss events.
    fn before(&mut self, arrival: &ArrivedPacket, marks: HandoverMarks) -> ReceiverAction {
        // A packet older than the newest has outdated marks.
        let is_newest = arrival.sequence > self.tfrc.history().greatest();
        let Some(machine) = self.machine.as_mut().filter(|_| arrival.carries_data && is_newest) else {
            return ReceiverAction::None;
        };
        let action = machine.on_packet(self.tfrc.time_in_order(arrival.at), marks.marking);
        if action == ReceiverAction::BeginMeasuring {
            self.tfrc.rtt_mut().on_pause();
        }
        if let Some(rtt) = marks.rtt {
            self.tfrc.restart(rtt);
        }
        action
    }

    /// Completes the actions that the marks, and a loss event, require.
    fn after(&mut self, now: Instant, arrival: &ArrivedPacket, action: ReceiverAction, outcome: Outcome) {
        let found = match &mut self.machine {
            Some(machine) if outcome.new_event => machine.on_loss(),
            _ => ReceiverAction::None,
        };
        if outcome.reception == Reception::Duplicate || !arrival.carries_data {
            return;
        }
        if action == ReceiverAction::BeginMeasuring {
            self.tfrc.begin_measuring(now);
        }
        if action == ReceiverAction::MarkAndFitHistory || found == ReceiverAction::FitHistory {
            self.fit_history(now);
        }
    }

    /// Creates a synthetic loss history that fits X_recv (`papers/freeze`, Section 4.6).
    fn fit_history(&mut self, now: Instant) {
        let Some(rate) = self.tfrc.segments_per_second(now) else { return };
        let rtt = self.tfrc.rtt().value();
        let timeout = RetransmitTimeout::FourRoundTrips.in_round_trips(rtt);
        let count = self.machine.map_or(INTERVALS, |machine| machine.fitted_intervals());
        self.tfrc.fit(libm::round(equivalent_interval(rate, rtt, timeout)), count);
    }

    /// The feedback to send now, if it is due, and whether it carries UNFROZEN.
    pub fn poll_feedback(&mut self, now: Instant) -> Option<(FeedbackReport, bool)> {
        let report = self.tfrc.poll_feedback(now)?;
        let rtt = self.tfrc.rtt().value();
        let unfrozen = self.machine.as_mut().is_some_and(|machine| machine.on_feedback(now, rtt));
        Some((report, unfrozen))
    }
}

/// The packet, marked if `action` requires it.
fn marked(arrival: &ArrivedPacket, action: ReceiverAction) -> ArrivedPacket {
    ArrivedPacket { marked: arrival.marked || action == ReceiverAction::MarkAndFitHistory, ..*arrival }
}
