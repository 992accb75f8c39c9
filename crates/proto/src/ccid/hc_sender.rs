//! The interface of the data-sending end.

use core::fmt;

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::PacketType;
use whimbrel_wire::option::FeatureNumber;

use super::{Feedback, Freezing, PathFollower, ReceivedPacket, SenderMarks, SenderSnapshot, SentPacket};

/// The answer of [`HcSender::poll_send`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SendVerdict {
    /// A data packet may leave now.
    Now,
    /// A data packet may leave at that instant, which is later than the `now` of the call.
    At(Instant),
    /// No data packet may leave before feedback arrives or a timer of the CCID expires.
    Blocked,
}

/// A change of a feature that a CCID requests (the Ack Ratio, by CCID 2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FeatureRequest {
    /// The feature (RFC 4340, Section 6.4).
    pub feature: FeatureNumber,
    /// The requested value.
    pub value: u64,
}

/// The data-sending end of a half-connection's congestion control.
pub trait HcSender: fmt::Debug + Send {
    /// Returns the time at which a data packet with `size` bytes of application data may leave.
    ///
    /// Called only while data waits. The call has no effect but to advance the CCID's clock to `now`.
    fn poll_send(&mut self, now: Instant, size: usize) -> SendVerdict;
    /// Accounts for a packet that is being sent, with data or without, and writes its CCVal and options.
    fn on_sent(&mut self, now: Instant, packet: SentPacket, marks: SenderMarks<'_>);
    /// The most bytes of options that [`HcSender::on_sent`] adds to a packet of that type that leaves now.
    /// The connection reserves this room on data packets.
    fn marks_len(&self, packet_type: PacketType) -> usize {
        let _ = packet_type;
        0
    }

    /// `true` if the next data packet should carry an acknowledgement (be a DataAck rather than a Data), so
    /// that the peer can discard acknowledgement state (RFC 4340, Section 11.1; RFC 4341, Section 6.1.2).
    fn needs_ack_of_ack(&self, now: Instant) -> bool {
        let _ = now;
        false
    }

    /// Processes a received packet of any type, including those without an Acknowledgement Number. CCID 2
    /// detects lost acknowledgements from the sequence numbers (RFC 4341, Section 6.1.1).
    fn on_received(&mut self, now: Instant, packet: &ReceivedPacket<'_>) {
        let _ = (now, packet);
    }

    /// Processes an acknowledgement.
    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>);
    /// Processes a Slow Receiver option: the rate must not grow for about a round-trip time (RFC 4340,
    /// Section 11.6).
    fn on_slow_receiver(&mut self, now: Instant) {
        let _ = now;
    }

    /// Runs the timers that are due. An early call does nothing.
    fn handle_timeout(&mut self, now: Instant);
    /// Expiration of the next timer. Pacing is not a timer: [`HcSender::poll_send`] returns its time.
    fn poll_timeout(&self) -> Option<Instant>;
    /// Returns the next request to change a feature, each once.
    fn poll_feature_request(&mut self, now: Instant) -> Option<FeatureRequest> {
        let _ = now;
        None
    }

    /// Processes the new value of a feature of this half-connection.
    fn on_feature(&mut self, now: Instant, feature: FeatureNumber, value: u64) {
        let _ = (now, feature, value);
    }

    /// The smoothed round-trip time.
    fn rtt(&self) -> Option<Duration> {
        self.snapshot().rtt
    }

    /// Current state, for observation.
    fn snapshot(&self) -> SenderSnapshot;
    /// The extension for freezes, if the sender has it. Without it, the connection holds the data all the
    /// same, and the sender resumes as after a pause.
    fn freezing(&mut self) -> Option<&mut dyn Freezing> {
        None
    }

    /// The extension for changes of path, if the sender has it. Without it, a sender on another path starts
    /// anew.
    fn path_follower(&mut self) -> Option<&mut dyn PathFollower> {
        None
    }
}
