//! The interface of the feedback-sending end.

use core::fmt;

use whimbrel_units::Instant;
use whimbrel_wire::option::FeatureNumber;
use whimbrel_wire::{Options, Reset, SeqNo};

use super::{LossClassifier, OrderedReceiver, PathFollower, ReceivedPacket, ReceiverSnapshot};

/// The feedback-sending end of a half-connection's congestion control.
pub trait HcReceiver: fmt::Debug + Send {
    /// Processes a received packet.
    fn on_received(&mut self, now: Instant, packet: ReceivedPacket<'_>);
    /// `true` if an acknowledgement is due. The connection then sends one at once (on a data packet, if one
    /// may leave) and calls [`HcReceiver::write_feedback`].
    fn feedback_due(&self, now: Instant) -> bool;
    /// `true` if there is unreported state worth adding to a packet that leaves anyway, though no
    /// acknowledgement is due (RFC 4340, Section 11.2).
    fn has_news(&self) -> bool {
        false
    }

    /// Adds the CCID's options to an acknowledgement with number `ack` (Ack, DataAck, and while closing also
    /// Close and CloseReq), while feedback is due or there is unreported state. The connection adds Ack
    /// Vectors; the CCID adds Elapsed Time. Afterwards `feedback_due` is false.
    ///
    /// Not called for acknowledgements sent for other reasons while there is neither.
    fn write_feedback(&mut self, now: Instant, ack: SeqNo, options: &mut Options);
    /// Runs the timers that are due. An early call does nothing.
    fn handle_timeout(&mut self, now: Instant);
    /// Expiration of the next timer.
    fn poll_timeout(&self) -> Option<Instant>;
    /// Processes the new value of a feature of this half-connection.
    fn on_feature(&mut self, now: Instant, feature: FeatureNumber, value: u64) {
        let _ = (now, feature, value);
    }

    /// Returns, once, the Reset that a protocol violation of the peer calls for.
    fn take_violation(&mut self) -> Option<Reset> {
        None
    }

    /// Current state, for observation.
    fn snapshot(&self) -> ReceiverSnapshot;
    /// The extension for resequenced packets, if the receiver depends on their order. Without it,
    /// [`HcReceiver::on_received`] processes packets as they arrive.
    fn ordered(&mut self) -> Option<&mut dyn OrderedReceiver> {
        None
    }

    /// The extension for changes of path, if the receiver has it. Without it, a receiver on another path
    /// starts anew.
    fn path_follower(&mut self) -> Option<&mut dyn PathFollower> {
        None
    }

    /// The extension for verdicts on losses, if the receiver classifies them.
    fn classifier(&self) -> Option<&dyn LossClassifier> {
        None
    }

    /// The same, to be updated.
    fn classifier_mut(&mut self) -> Option<&mut dyn LossClassifier> {
        None
    }
}
