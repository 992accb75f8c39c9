//! Packets, as congestion control sees them.

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::data_dropped::DropCode;
use whimbrel_wire::{DccpOption, Ecn, Options, PacketType, SeqNo};

use crate::ack_vector::AckedPacket;

/// A packet that the connection is about to send, as passed to the HC-sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SentPacket {
    /// Its sequence number.
    pub sequence: SeqNo,
    /// Its type.
    pub packet_type: PacketType,
    /// Application data in it, in bytes.
    pub payload: usize,
    /// `true` if more data waits in the send queue after this packet; if `false`, the sending rate is limited
    /// by the application rather than by congestion control (RFC 5348, Section 8.2.1).
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
    /// Outcomes reported by its Ack Vectors for packets whose outcome was not known before, oldest first.
    /// Empty if the packet has none.
    pub ack_vector: &'a [AckedPacket],
    /// Packets reported by its Data Dropped options for the first time, oldest first.
    pub data_dropped: &'a [DroppedPacket],
    /// Round-trip time sample of a Timestamp Echo option, if any.
    pub timestamp_rtt: Option<Duration>,
}

/// A received packet, as passed to the HC-receiver in order of arrival: every sequence-valid packet, with
/// data or without.
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
    /// `true` if its data is known to be corrupt: the Data Checksum is wrong (RFC 4340, Section 9.3).
    pub corrupt: bool,
    /// `true` if its data arrived too late for in-order delivery and were discarded. They count as lost
    /// (`papers/reorder`, Section II.B).
    pub discarded: bool,
    /// All its options.
    pub options: &'a [DccpOption],
    /// Value of the NDP Count option, if any.
    pub ndp_count: Option<u64>,
    /// The connection's own estimate of the round-trip time (from its other half-connection or from the
    /// handshake), if any.
    pub rtt_hint: Option<Duration>,
    /// Arrival time, if known more precisely than by the time of the call
    /// ([`ReceiveMeta::arrival`](crate::ReceiveMeta)).
    pub arrived: Option<Instant>,
}
