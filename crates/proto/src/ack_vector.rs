//! What became of each packet: kept by the receiver, told in Ack Vectors, read by the sender (RFC 4340, Section 11.4).
//!
//! A [`Recorder`] keeps the history of the packets that arrived as the run-length cells that go on
//! the wire, newest first, and drops the part of it that the other end is known to have. A
//! [`Reader`] turns the Ack Vectors that come back, which repeat themselves, into news.
//!
//! ECN nonces are not computed: their senders are gone (RFC 8311, Section 6), so every vector is sent as Ack
//! Vector \[Nonce 0\].

use whimbrel_wire::SeqNo;

mod known;
mod reader;
mod recorder;

pub(crate) use known::Known;
pub use reader::{BeforeStart, Reader};
pub use recorder::{Recorded, Recorder};

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

#[cfg(test)]
mod tests;
