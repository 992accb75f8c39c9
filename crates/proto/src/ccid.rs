//! Congestion control: what a CCID may decide, and nothing else.
//!
//! A DCCP connection is two half-connections, each with its own CCID (RFC 4340, Section 10). A
//! CCID is therefore a pair: an [`HcSender`] at the end that sends the data and an [`HcReceiver`]
//! at the end that sends the feedback. The connection owns sequence numbers, Ack Vectors, feature
//! negotiation and the send queue; a CCID says *when* a data packet may go, when an
//! acknowledgement is due, and what the CCID's own options hold.

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

/// The answer to "may a data packet go out now?".
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SendVerdict {
    /// Yes.
    Now,
    /// Not before that instant, which is later than the `now` of the question.
    At(Instant),
    /// Not before feedback arrives or one of the CCID's timers fires.
    Blocked,
}

/// A packet that the connection is about to send, as its HC-sender sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SentPacket {
    /// Its sequence number.
    pub sequence: SeqNo,
    /// Its type.
    pub packet_type: PacketType,
    /// Application data in it, in bytes.
    pub payload: usize,
    /// Whether more data waits in the send queue after this packet: false means that the
    /// application, not the congestion control, is the limit (RFC 5348, Section 8.2.1).
    pub more_queued: bool,
}

/// What the HC-sender adds to a packet it is shown.
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
    /// Why its data were dropped.
    pub code: DropCode,
}

/// An acknowledgement, as the HC-sender sees it: a valid packet with an Acknowledgement Number.
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
    /// What its Ack Vectors say about packets whose fate was not known before, oldest first.
    /// Empty where the packet has none.
    pub ack_vector: &'a [AckedPacket],
    /// What its Data Dropped options say about packets of which that was not known before, oldest first.
    pub data_dropped: &'a [DroppedPacket],
    /// A round-trip time sample from a Timestamp Echo option, if there was one.
    pub timestamp_rtt: Option<Duration>,
}

/// A packet that arrived, as the HC-receiver sees it, in order of arrival. It is told of every
/// sequence-valid packet, data or not.
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
    /// How the network marked it.
    pub ecn: Ecn,
    /// Whether its data are known to be corrupt: its Data Checksum is wrong (RFC 4340, Section 9.3).
    pub corrupt: bool,
    /// Whether its data came too late for an application that wants them in order, and were discarded. They count as lost
    /// (`papers/reorder`, Section II.B).
    pub discarded: bool,
    /// All its options.
    pub options: &'a [DccpOption],
    /// The NDP Count option's value, if there was one.
    pub ndp_count: Option<u64>,
    /// The connection's own estimate of the round-trip time (from its other half or from the
    /// handshake), if it has one.
    pub rtt_hint: Option<Duration>,
    /// When it arrived, where that is known better than by when it is shown ([`ReceiveMeta::arrival`](crate::ReceiveMeta)).
    pub arrived: Option<Instant>,
}

/// A change of a feature that a CCID asks for (the Ack Ratio, by CCID 2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FeatureRequest {
    /// The feature (RFC 4340, Section 6.4).
    pub feature: FeatureNumber,
    /// The value wanted.
    pub value: u64,
}

/// What can be seen of an HC-sender.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct SenderSnapshot {
    /// X: the rate allowed, where the CCID is rate-based; else cwnd over RTT once an RTT is known.
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
    /// Data packets found lost so far.
    pub lost: u64,
    /// Data packets found ECN-marked so far.
    pub marked: u64,
    /// What it is about in a handover (CCIDs 3 and 4).
    pub freeze: Option<SenderState>,
}

/// What can be seen of an HC-receiver.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct ReceiverSnapshot {
    /// p as the receiver measures it, between 0 and 1.
    pub loss_event_rate: Option<f64>,
    /// The rate at which data arrives.
    pub receive_rate: Option<DataRate>,
    /// The round-trip time the receiver works with.
    pub rtt: Option<Duration>,
    /// Data packets found lost so far.
    pub lost: u64,
    /// Of these, how many a loss classifier called wireless.
    pub lost_wireless: u64,
    /// Data packets that arrived ECN-marked.
    pub marked: u64,
    /// What it is about in a handover of the other end (CCIDs 3 and 4).
    pub freeze: Option<ReceiverState>,
}

/// The data-sending end of a half-connection's congestion control.
pub trait HcSender: fmt::Debug + Send {
    /// Which CCID this is.
    fn ccid(&self) -> Ccid;
    /// May a data packet with `size` bytes of application data go out at `now`?
    ///
    /// Asked only while data waits. Asking has no effect but to bring the CCID's clock to `now`.
    fn poll_send(&mut self, now: Instant, size: usize) -> SendVerdict;
    /// A packet, data or not, is being sent: account for it and mark it.
    fn on_sent(&mut self, now: Instant, packet: SentPacket, marks: SenderMarks<'_>);
    /// How many bytes of options [`HcSender::on_sent`] adds at most to a packet of that type that leaves now. The
    /// connection keeps this room on packets with data.
    fn marks_len(&self, packet_type: PacketType) -> usize {
        let _ = packet_type;
        0
    }
    /// Whether the next data packet should acknowledge as well (be a DataAck rather than Data),
    /// because the other end has acknowledgement state to drop (RFC 4340, Section 11.1; RFC 4341, Section 6.1.2).
    fn wants_ack_of_ack(&self, now: Instant) -> bool;
    /// A packet arrived, of any type: also of those that acknowledge nothing. CCID 2 finds from the numbers which of the other end's
    /// acknowledgements are lost (RFC 4341, Section 6.1.1).
    fn on_received(&mut self, now: Instant, packet: &ReceivedPacket<'_>) {
        let _ = (now, packet);
    }
    /// An acknowledgement arrived.
    fn on_feedback(&mut self, now: Instant, feedback: &Feedback<'_>);
    /// A Slow Receiver option arrived: the rate must not grow for about a round-trip time (RFC 4340, Section 11.6).
    fn on_slow_receiver(&mut self, now: Instant) {
        let _ = now;
    }
    /// No data will be asked for until [`HcSender::on_unfreeze`]: there is no path.
    fn on_freeze(&mut self, now: Instant) {
        let _ = now;
    }
    /// There is a path again, maybe another one.
    fn on_unfreeze(&mut self, now: Instant) {
        let _ = now;
    }
    /// Packets take another path, which may carry more. Whether it tries to find out.
    fn on_probe(&mut self, now: Instant) -> bool {
        let _ = now;
        false
    }
    /// What the peer did that ends the connection: the Reset to send, once.
    fn take_violation(&mut self) -> Option<Reset> {
        None
    }
    /// One of the CCID's own timers may have fired. An early call does nothing.
    fn handle_timeout(&mut self, now: Instant);
    /// When the next of its timers fires. Pacing is not a timer: [`HcSender::poll_send`] tells.
    fn poll_timeout(&self) -> Option<Instant>;
    /// A feature whose value this CCID wants changed, once each.
    fn poll_feature_request(&mut self) -> Option<FeatureRequest> {
        None
    }
    /// A feature of this half-connection got a new value.
    fn on_feature(&mut self, now: Instant, feature: FeatureNumber, value: u64) {
        let _ = (now, feature, value);
    }
    /// The path has new properties or the packet size changed: `packet_size` is the application data per packet now expected, in bytes.
    fn on_packet_size(&mut self, packet_size: usize) {
        let _ = packet_size;
    }
    /// This half-connection begins anew on a path that an earlier one left in that state: half of that rate or
    /// window may be tried at once, as the path was used before.
    fn resume(&mut self, now: Instant, left: &SenderSnapshot) {
        let _ = (now, left);
    }
    /// The largest application data per packet that the mechanism allows, in bytes: CCMPS (RFC 4340, Section 14).
    fn max_packet_size(&self) -> Option<usize> {
        None
    }
    /// What it knows.
    fn snapshot(&self) -> SenderSnapshot;
}

/// The feedback-sending end of a half-connection's congestion control.
pub trait HcReceiver: fmt::Debug + Send {
    /// Which CCID this is.
    fn ccid(&self) -> Ccid;
    /// A packet arrived.
    fn on_received(&mut self, now: Instant, packet: ReceivedPacket<'_>);
    /// The same on a connection on which packets wait for those before them
    /// ([`Config::orders_arrivals`](crate::Config::orders_arrivals)): what goes by arrival, as acknowledgements and
    /// measurements do. For those who do not care about order it is everything.
    fn on_arrival(&mut self, now: Instant, packet: &ReceivedPacket<'_>) {
        self.on_received(now, *packet);
    }
    /// There, too: the turn has come of a packet that arrived at `arrived`. Turns are in the order of sequence numbers, and
    /// what is missing before a packet at its turn is lost; but for packets that come later than that, whose turn is
    /// at once.
    fn on_turn(&mut self, now: Instant, arrived: Instant, packet: &ReceivedPacket<'_>) {
        let _ = (now, arrived, packet);
    }
    /// Whether an acknowledgement is due. If true, the connection sends one at once (on a data
    /// packet, if one may go now) and calls [`HcReceiver::write_feedback`].
    fn feedback_due(&self, now: Instant) -> bool;
    /// Whether there is something to acknowledge on a datagram that leaves anyway, though nothing is
    /// due yet (RFC 4340, Section 11.2).
    fn has_news(&self) -> bool {
        false
    }
    /// An acknowledgement (Ack, DataAck, and in closing also Close, CloseReq) with number `ack` is
    /// being sent while feedback is due or there is news: add the CCID's options. The connection adds
    /// Ack Vectors; Elapsed Time is the CCID's to add. Afterwards `feedback_due` is false.
    ///
    /// Acknowledgements that leave for other reasons while there is neither are not shown.
    fn write_feedback(&mut self, now: Instant, ack: SeqNo, options: &mut Options);
    /// One of the CCID's own timers may have fired. An early call does nothing.
    fn handle_timeout(&mut self, now: Instant);
    /// When the next of its timers fires.
    fn poll_timeout(&self) -> Option<Instant>;
    /// A feature of this half-connection got a new value.
    fn on_feature(&mut self, now: Instant, feature: FeatureNumber, value: u64) {
        let _ = (now, feature, value);
    }
    /// What the peer did that ends the connection: the Reset to send, once.
    fn take_violation(&mut self) -> Option<Reset> {
        None
    }
    /// The truth about a packet that was lost, from an omniscient simulator; known before the loss can be detected.
    fn on_loss_cause(&mut self, sequence: SeqNo, cause: LossClass) {
        let _ = (sequence, cause);
    }
    /// The path is another: what was learnt of how packets arrive on the old one is worth nothing.
    fn on_path_change(&mut self) {}
    /// This half-connection begins anew on a path that an earlier one left in that state.
    fn resume(&mut self, left: &ReceiverSnapshot) {
        let _ = left;
    }
    /// Whether there are verdicts on losses to [take](Self::take_verdict).
    fn has_verdicts(&self) -> bool {
        false
    }
    /// The next verdict on packets that were lost, where losses are told apart.
    fn take_verdict(&mut self) -> Option<LossVerdict> {
        None
    }
    /// What it knows.
    fn snapshot(&self) -> ReceiverSnapshot;
}
