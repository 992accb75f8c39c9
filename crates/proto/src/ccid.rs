//! Congestion control: the interface between a connection and its CCIDs.
//!
//! A DCCP connection is two half-connections, each with its own CCID (RFC 4340, Section 10). A
//! CCID is therefore a pair: an [`HcSender`] at the end that sends the data and an [`HcReceiver`]
//! at the end that sends the feedback. The connection owns sequence numbers, Ack Vectors, feature
//! negotiation and the send queue; a CCID decides *when* a data packet may leave and when an acknowledgement is due,
//! and it writes and reads its own options.

use core::fmt;

use whimbrel_control::freeze::{ReceiverState, SenderState};
use whimbrel_control::loss_differentiation::LossClass;
use whimbrel_units::{DataRate, Duration, Instant};
use whimbrel_wire::option::FeatureNumber;
use whimbrel_wire::option::data_dropped::DropCode;
use whimbrel_wire::{DccpOption, Ecn, Options, PacketType, Reset, SeqNo};

use crate::ack_vector::AckedPacket;
use crate::event::LossVerdict;

pub mod ccid2;
pub mod ccid250;
pub mod ccid3;
pub mod ccid4;
pub mod drop_reaction;
pub mod registry;
pub mod tfrc;

pub use registry::{FeaturePreference, HalfConnection, HalfEnd, Mechanism, Registry};

/// A congestion control identifier (RFC 4340, Section 10, Table 5).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ccid(pub u8);

impl Ccid {
    /// TCP-like (RFC 4341).
    pub const TCP_LIKE: Self = Self(2);
    /// TFRC (RFC 4342).
    pub const TFRC: Self = Self(3);
    /// TFRC for small packets (RFC 5622).
    pub const TFRC_SP: Self = Self(4);
    /// TFRC that spares corruption named by Data Dropped, [an experiment](ccid250).
    pub const TFRC_EXPLICIT: Self = Self(250);
}

impl fmt::Debug for Ccid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CCID {}", self.0)
    }
}
impl fmt::Display for Ccid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CCID {}", self.0)
    }
}

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

/// A packet that the connection is about to send, as passed to the HC-sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SentPacket {
    /// Its sequence number.
    pub sequence: SeqNo,
    /// Its type.
    pub packet_type: PacketType,
    /// Application data in it, in bytes.
    pub payload: usize,
    /// `true` if more data waits in the send queue after this packet; if `false`, the sending rate is limited by the
    /// application rather than by congestion control (RFC 5348, Section 8.2.1).
    pub more_queued: bool,
}

/// The parts of a packet that the HC-sender may write.
#[derive(Debug)]
pub struct SenderMarks<'a> {
    /// The header's CCVal field.
    pub ccval: &'a mut u8,
    /// Options to add to the packet.
    pub options: &'a mut Options,
}

/// A packet that was received, but whose data did not reach the application as they were sent
/// (RFC 4340, Section 11.7).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DroppedPacket {
    /// The packet's sequence number.
    pub sequence: SeqNo,
    /// Reason for dropping or altering its data.
    pub code: DropCode,
}

/// A received packet with a valid Acknowledgement Number, as passed to the HC-sender.
#[derive(Debug)]
pub struct Feedback<'a> {
    /// The Acknowledgement Number.
    pub ack: SeqNo,
    /// The acknowledging packet's own sequence number.
    pub sequence: SeqNo,
    /// Its type.
    pub packet_type: PacketType,
    /// All its options; the CCID picks those it defines.
    pub options: &'a [DccpOption],
    /// Outcomes reported by its Ack Vectors for packets whose outcome was not known before, oldest first. Empty if the
    /// packet has none.
    pub ack_vector: &'a [AckedPacket],
    /// Packets reported by its Data Dropped options for the first time, oldest first.
    pub data_dropped: &'a [DroppedPacket],
    /// Round-trip time sample of a Timestamp Echo option, if any.
    pub timestamp_rtt: Option<Duration>,
}

/// A received packet, as passed to the HC-receiver in order of arrival: every sequence-valid packet, with data or
/// without.
#[derive(Clone, Copy, Debug)]
pub struct ReceivedPacket<'a> {
    /// Its sequence number.
    pub sequence: SeqNo,
    /// Its type.
    pub packet_type: PacketType,
    /// The header's CCVal field.
    pub ccval: u8,
    /// Application data in it, in bytes.
    pub payload: usize,
    /// The ECN codepoint with which it arrived.
    pub ecn: Ecn,
    /// `true` if its data are known to be corrupt: the Data Checksum is wrong (RFC 4340, Section 9.3).
    pub corrupt: bool,
    /// `true` if its data arrived too late for in-order delivery and were discarded. They count as lost
    /// (`papers/reorder`, Section II.B).
    pub discarded: bool,
    /// All its options.
    pub options: &'a [DccpOption],
    /// Value of the NDP Count option, if any.
    pub ndp_count: Option<u64>,
    /// The connection's own estimate of the round-trip time (from its other half-connection or from the handshake), if
    /// any.
    pub rtt_hint: Option<Duration>,
    /// Arrival time, if known more precisely than by the time of the call
    /// ([`ReceiveMeta::arrival`](crate::ReceiveMeta)).
    pub arrived: Option<Instant>,
}

/// A change of a feature that a CCID requests (the Ack Ratio, by CCID 2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FeatureRequest {
    /// The feature (RFC 4340, Section 6.4).
    pub feature: FeatureNumber,
    /// The requested value.
    pub value: u64,
}

/// State of an HC-sender, for observation.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct SenderSnapshot {
    /// X: the allowed rate, if the CCID is rate-based; otherwise cwnd divided by the RTT once an RTT is known.
    pub allowed_rate: Option<DataRate>,
    /// The smoothed round-trip time.
    pub rtt: Option<Duration>,
    /// p, between 0 and 1 (rate-based CCIDs).
    pub loss_event_rate: Option<f64>,
    /// X_recv as last reported by the receiver (rate-based CCIDs).
    pub receive_rate: Option<DataRate>,
    /// cwnd in packets (window-based CCIDs).
    pub cwnd: Option<u32>,
    /// ssthresh in packets (window-based CCIDs).
    pub ssthresh: Option<u32>,
    /// Packets in flight (window-based CCIDs).
    pub pipe: Option<u32>,
    /// The Ack Ratio in force (CCID 2).
    pub ack_ratio: Option<u64>,
    /// Number of data packets found lost so far.
    pub lost: u64,
    /// Number of data packets found ECN-marked so far.
    pub marked: u64,
    /// Current freeze state (CCIDs 3 and 4).
    pub freeze: Option<SenderState>,
}

/// State of an HC-receiver, for observation.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct ReceiverSnapshot {
    /// p as the receiver measures it, between 0 and 1.
    pub loss_event_rate: Option<f64>,
    /// The rate at which data arrives.
    pub receive_rate: Option<DataRate>,
    /// The round-trip time that the receiver uses.
    pub rtt: Option<Duration>,
    /// Number of data packets found lost so far.
    pub lost: u64,
    /// Number of those that a loss classifier attributed to the wireless link.
    pub lost_wireless: u64,
    /// Number of data packets that arrived ECN-marked.
    pub marked: u64,
    /// Current freeze state of the peer's half-connection (CCIDs 3 and 4).
    pub freeze: Option<ReceiverState>,
}

/// The data-sending end of a half-connection's congestion control.
pub trait HcSender: fmt::Debug + Send {
    /// The CCID.
    fn ccid(&self) -> Ccid;
    /// Returns the time at which a data packet with `size` bytes of application data may leave.
    ///
    /// Called only while data waits. The call has no effect but to advance the CCID's clock to `now`.
    fn poll_send(&mut self, now: Instant, size: usize) -> SendVerdict;
    /// Accounts for a packet that is being sent, with data or without, and writes its CCVal and options.
    fn on_sent(&mut self, now: Instant, packet: SentPacket, marks: SenderMarks<'_>);
    /// The most bytes of options that [`HcSender::on_sent`] adds to a packet of that type that leaves now. The
    /// connection reserves this room on data packets.
    fn marks_len(&self, packet_type: PacketType) -> usize {
        let _ = packet_type;
        0
    }
    /// `true` if the next data packet should carry an acknowledgement (be a DataAck rather than a Data), so that the
    /// peer can discard acknowledgement state (RFC 4340, Section 11.1; RFC 4341, Section 6.1.2).
    fn needs_ack_of_ack(&self, now: Instant) -> bool;
    /// Processes a received packet of any type, including those without an Acknowledgement Number. CCID 2 detects lost
    /// acknowledgements from the sequence numbers (RFC 4341, Section 6.1.1).
    fn on_received(&mut self, now: Instant, packet: &ReceivedPacket<'_>) {
        let _ = (now, packet);
    }
    /// Processes an acknowledgement.
    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>);
    /// Processes a Slow Receiver option: the rate must not grow for about a round-trip time (RFC 4340, Section 11.6).
    fn on_slow_receiver(&mut self, now: Instant) {
        let _ = now;
    }
    /// Freezes the sender: the path is unavailable and no data are sent until [`HcSender::on_unfreeze`].
    fn on_freeze(&mut self, now: Instant) {
        let _ = now;
    }
    /// Unfreezes the sender: a path, possibly another one, is available.
    fn on_unfreeze(&mut self, now: Instant) {
        let _ = now;
    }
    /// Packets now take another path, which may carry more. Returns `true` if the sender probes for its rate.
    fn on_probe(&mut self, now: Instant) -> bool {
        let _ = now;
        false
    }
    /// Returns, once, the Reset that a protocol violation of the peer calls for.
    fn take_violation(&mut self) -> Option<Reset> {
        None
    }
    /// Runs the timers that are due. An early call does nothing.
    fn handle_timeout(&mut self, now: Instant);
    /// Expiration of the next timer. Pacing is not a timer: [`HcSender::poll_send`] returns its time.
    fn poll_timeout(&self) -> Option<Instant>;
    /// Returns the next request to change a feature, each once.
    fn poll_feature_request(&mut self) -> Option<FeatureRequest> {
        None
    }
    /// Processes the new value of a feature of this half-connection.
    fn on_feature(&mut self, now: Instant, feature: FeatureNumber, value: u64) {
        let _ = (now, feature, value);
    }
    /// Processes a change of path or packet size: `packet_size` is the expected application data per packet, in bytes.
    fn on_packet_size(&mut self, packet_size: usize) {
        let _ = packet_size;
    }
    /// Starts from the state of an earlier half-connection on a path used before: half of its rate or window may be
    /// tried at once.
    fn resume(&mut self, now: Instant, left: &SenderSnapshot) {
        let _ = (now, left);
    }
    /// The largest application data per packet that the mechanism allows, in bytes: CCMPS (RFC 4340, Section 14).
    fn max_packet_size(&self) -> Option<usize> {
        None
    }
    /// Current state, for observation.
    fn snapshot(&self) -> SenderSnapshot;
}

/// The feedback-sending end of a half-connection's congestion control.
pub trait HcReceiver: fmt::Debug + Send {
    /// The CCID.
    fn ccid(&self) -> Ccid;
    /// Processes a received packet.
    fn on_received(&mut self, now: Instant, packet: ReceivedPacket<'_>);
    /// Processes a packet on arrival, on a connection that resequences packets
    /// ([`Config::orders_arrivals`](crate::Config::orders_arrivals)): the part that depends on the time of arrival,
    /// such as acknowledgements and measurements. By default, receivers that do not depend on order do everything here.
    fn on_arrival(&mut self, now: Instant, packet: &ReceivedPacket<'_>) {
        self.on_received(now, *packet);
    }
    /// On such a connection, processes a packet in order of sequence numbers; it arrived at `arrived`. A packet missing
    /// before it is lost. Packets that are later than the resequencing allows are passed at once, out of order.
    fn on_received_in_order(&mut self, now: Instant, arrived: Instant, packet: &ReceivedPacket<'_>) {
        let _ = (now, arrived, packet);
    }
    /// `true` if an acknowledgement is due. The connection then sends one at once (on a data packet, if one may leave)
    /// and calls [`HcReceiver::write_feedback`].
    fn feedback_due(&self, now: Instant) -> bool;
    /// `true` if there is unreported state worth adding to a packet that leaves anyway, though no acknowledgement is
    /// due (RFC 4340, Section 11.2).
    fn has_news(&self) -> bool {
        false
    }
    /// Adds the CCID's options to an acknowledgement with number `ack` (Ack, DataAck, and while closing also Close and
    /// CloseReq), while feedback is due or there is unreported state. The connection adds Ack Vectors; the CCID adds
    /// Elapsed Time. Afterwards `feedback_due` is false.
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
    /// Receives the true cause of a loss from a simulator that knows it; called before the loss can be detected.
    fn on_loss_cause(&mut self, sequence: SeqNo, cause: LossClass) {
        let _ = (sequence, cause);
    }
    /// Processes a change of path: statistics of arrivals on the old path are discarded.
    fn on_path_change(&mut self) {}
    /// Starts from the state of an earlier half-connection on that path.
    fn resume(&mut self, left: &ReceiverSnapshot) {
        let _ = left;
    }
    /// `true` if [`HcReceiver::take_verdict`] would return a verdict.
    fn has_verdicts(&self) -> bool {
        false
    }
    /// Returns the next verdict on lost packets, if losses are classified.
    fn take_verdict(&mut self) -> Option<LossVerdict> {
        None
    }
    /// Current state, for observation.
    fn snapshot(&self) -> ReceiverSnapshot;
}
