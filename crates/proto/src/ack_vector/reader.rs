//! The sender's reading of Ack Vectors.

use thiserror::Error;
use whimbrel_wire::option::ack_vector::{self, AckState};
use whimbrel_wire::{DccpOption, SeqNo};

use super::known::Known;
use super::{AckedPacket, PacketArrival};

/// The sender's reading of Ack Vectors: detects which of its packets are newly reported as received.
///
/// Vectors repeat earlier ones, so each packet is reported once. Later contradictions are ignored: a packet
/// reported as missing again is an older vector overtaken by a newer one, and a packet reported as marked
/// later is a marked copy (the table of RFC 4340, Section 11.4.1).
#[derive(Clone, Debug)]
pub struct Reader {
    arrived: Known,
}

/// An Ack Vector covers packets from before the start of the connection (RFC 4340, Section 11.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("an Ack Vector reaches back before the first packet")]
pub struct BeforeStart;

impl Reader {
    /// Creates a reader for a connection whose first packet, of this end, is `first`.
    pub fn new(first: SeqNo) -> Self {
        Self { arrived: Known::new(first) }
    }

    /// Reads the Ack Vectors among the options of a packet with Acknowledgement Number `ack`, which must be
    /// of a packet that was sent. Appends to `news` the packets newly reported as received, oldest first.
    ///
    /// # Errors
    ///
    /// Vectors that reach back too far are ignored entirely.
    pub fn read(
        &mut self,
        ack: SeqNo,
        options: &[DccpOption],
        news: &mut Vec<AckedPacket>,
    ) -> Result<(), BeforeStart> {
        let Some(last) = ack_vector::runs(ack, options).last() else { return Ok(()) };
        if self.arrived.is_before_start(last.oldest) {
            return Err(BeforeStart);
        }
        self.arrived.reach(ack);
        let start = news.len();
        for run in ack_vector::runs(ack, options) {
            if self.arrived.is_forgotten(run.newest) {
                break;
            }
            let outcome = match run.state {
                AckState::Received => PacketArrival::Received,
                AckState::ReceivedEcnMarked => PacketArrival::Marked,
                AckState::Reserved | AckState::NotReceived => continue,
            };
            self.arrived
                .learn(run.oldest, run.newest, |sequence| news.push(AckedPacket { sequence, outcome }));
        }
        news[start..].reverse();
        self.arrived.forget();
        Ok(())
    }
}
