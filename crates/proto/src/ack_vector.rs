//! What became of each packet: kept by the receiver, told in Ack Vectors, read by the sender (RFC 4340, Section 11.4).

use whimbrel_wire::SeqNo;

/// The fate of one packet as an Ack Vector tells it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// Received, not marked.
    Received,
    /// Received with a congestion mark.
    Marked,
}

/// A packet whose fate has become known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AckedPacket {
    /// Which packet.
    pub sequence: SeqNo,
    /// What became of it.
    pub fate: Fate,
}
