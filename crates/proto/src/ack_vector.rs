//! Outcome of each packet: recorded by the receiver, reported in Ack Vectors, read by the sender (RFC 4340,
//! Section 11.4).
//!
//! A [`Recorder`] keeps the history of received packets as the run-length cells of the wire format, newest
//! first, and drops the part that the peer is known to have. A [`Reader`] extracts the new information from
//! the Ack Vectors that come back, which repeat earlier reports.
//!
//! ECN nonces are not computed: their specification is historic (RFC 8311, Section 6), so every vector is
//! sent as Ack Vector \[Nonce 0\].

use whimbrel_wire::SeqNo;

mod known;
mod reader;
mod recorder;

pub(crate) use known::Known;
pub use reader::{BeforeStart, Reader};
pub use recorder::{Recorded, Recorder};

/// Outcome of one packet, as reported by an Ack Vector.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacketArrival {
    /// Received, not marked.
    Received,
    /// Received with a congestion mark.
    Marked,
}

/// A packet whose outcome has become known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AckedPacket {
    /// Its sequence number.
    pub sequence: SeqNo,
    /// Its outcome.
    pub outcome: PacketArrival,
}

#[cfg(test)]
mod tests;
