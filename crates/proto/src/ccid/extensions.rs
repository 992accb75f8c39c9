//! Extensions of the two interfaces, which an end returns if it has them.

use core::fmt;

use whimbrel_control::capacity::Estimate;
use whimbrel_control::loss_differentiation::LossClass;
use whimbrel_units::{DataRate, Instant};
use whimbrel_wire::SeqNo;

use super::ReceivedPacket;
use crate::event::LossVerdict;

/// An HC-sender that reacts to handovers of which it is notified in advance.
pub trait Freezing: fmt::Debug {
    /// The path is unavailable, and no data is sent until [`Freezing::on_unfreeze`].
    fn on_freeze(&mut self, now: Instant);
    /// A path, possibly another one, is available.
    fn on_unfreeze(&mut self, now: Instant);
    /// Packets now take another path, which may carry more. Returns `true` if the sender probes for its rate.
    fn on_probe(&mut self, now: Instant) -> bool;
}

/// State of an end of a half-connection when a path was left, from which an end on that path may start later,
/// possibly under another CCID.
///
/// Each field is empty if the end has no such state.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Resume {
    /// The allowed rate, of a sender; of window-based ones with a round-trip time, a window per round-trip
    /// time.
    pub rate: Option<DataRate>,
    /// cwnd in packets, of a window-based sender.
    pub window: Option<u32>,
    /// The average loss interval in packets, of a receiver that has detected a loss.
    pub loss_interval: Option<f64>,
}

/// An end that follows changes of the path.
pub trait PathFollower: fmt::Debug {
    /// Packets take another path, and this end continues: statistics of the old path are discarded.
    fn on_path_change(&mut self, now: Instant) {
        let _ = now;
    }

    /// Packets carry another number of bytes of application data from now on, as a rule.
    fn on_packet_size(&mut self, now: Instant, packet_size: usize) {
        let _ = (now, packet_size);
    }

    /// The estimated capacity and available bandwidth of the local link, as rates of application data, have
    /// changed; `None` if there is no estimate for the present link.
    fn on_link_estimate(&mut self, now: Instant, estimate: Option<Estimate>) {
        let _ = (now, estimate);
    }

    /// State with which the path is left.
    fn leave(&self, now: Instant) -> Resume;
    /// Starts from the state of an earlier end on this path. A sender may try half of its rate or window at
    /// once.
    fn resume(&mut self, now: Instant, left: &Resume);
}

/// An HC-receiver whose detection of losses depends on the order of packets, on a connection that resequences
/// them ([`Config::orders_arrivals`](crate::Config::orders_arrivals)). These calls then replace
/// [`HcReceiver::on_received`](super::HcReceiver::on_received).
pub trait OrderedReceiver: fmt::Debug {
    /// Processes a packet on arrival: the part that depends on the time of arrival, such as acknowledgements
    /// and measurements.
    fn on_arrival(&mut self, now: Instant, packet: &ReceivedPacket<'_>);
    /// Processes a packet in order of sequence numbers; it arrived at `arrived`. A packet missing before it
    /// is lost. Packets that are later than the resequencing allows are passed at once, out of order.
    fn on_received_in_order(&mut self, now: Instant, arrived: Instant, packet: &ReceivedPacket<'_>);
}

/// An HC-receiver that classifies losses.
pub trait LossClassifier: fmt::Debug {
    /// Receives the true cause of a loss from a simulator that knows it; called before the loss can be
    /// detected.
    fn on_loss_cause(&mut self, sequence: SeqNo, cause: LossClass);
    /// `true` if [`LossClassifier::take_verdict`] would return a verdict.
    fn has_verdicts(&self) -> bool;
    /// Returns the next verdict on lost packets.
    fn take_verdict(&mut self) -> Option<LossVerdict>;
}
