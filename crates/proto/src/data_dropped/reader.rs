//! The sender's reading of Data Dropped options.

use thiserror::Error;
use whimbrel_wire::option::ack_vector::{self, AckState};
use whimbrel_wire::option::data_dropped;
use whimbrel_wire::{DccpOption, SeqNo};

use crate::ack_vector::Known;
use crate::ccid::DroppedPacket;

/// The sender's reading of Data Dropped options: detects which of its packets arrived without their data
/// reaching the application.
///
/// Each packet is reported once, with the first code. A later report of it as delivered is an older one
/// overtaken by a newer.
#[derive(Clone, Debug)]
pub struct Reader {
    dropped: Known,
}

/// Reason for ignoring Data Dropped options (RFC 4340, Section 11.7).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum Invalid {
    /// The options cover more packets than have been sent.
    #[error("Data Dropped reaches back before the first packet")]
    BeforeStart,
    /// The options report a packet's data as dropped that an Ack Vector of the same packet reports as not
    /// received.
    #[error("Data Dropped contradicts the Ack Vector")]
    Contradiction,
}

impl Reader {
    /// Creates a reader for a connection whose first packet, of this end, is `first`.
    pub fn new(first: SeqNo) -> Self {
        Self { dropped: Known::new(first) }
    }

    /// Reads the Data Dropped options among the options of a packet with Acknowledgement Number `ack`, which
    /// must be of a packet that was sent. Appends to `news` the packets newly reported as having lost their
    /// data, oldest first.
    ///
    /// # Errors
    ///
    /// Invalid options are ignored entirely.
    pub fn read(
        &mut self,
        ack: SeqNo,
        options: &[DccpOption],
        news: &mut Vec<DroppedPacket>,
    ) -> Result<(), Invalid> {
        let Some(last) = data_dropped::runs(ack, options).last() else { return Ok(()) };
        if self.dropped.is_before_start(last.oldest) {
            return Err(Invalid::BeforeStart);
        }
        if contradicts_ack_vector(ack, options) {
            return Err(Invalid::Contradiction);
        }
        self.dropped.reach(ack);
        let start = news.len();
        for run in data_dropped::runs(ack, options) {
            if let Some(code) = run.drop {
                let on_news = |sequence| news.push(DroppedPacket { sequence, code });
                self.dropped.learn(run.oldest, run.newest, on_news);
            }
        }
        news[start..].reverse();
        self.dropped.forget();
        Ok(())
    }
}

/// `true` if a packet is reported as dropped by one option and as missing by the other. Both cover the
/// packets in descending order, so one pass over the two is sufficient.
fn contradicts_ack_vector(ack: SeqNo, options: &[DccpOption]) -> bool {
    let mut cells =
        ack_vector::runs(ack, options).filter(|run| run.state == AckState::NotReceived).peekable();
    for drop in data_dropped::runs(ack, options).filter(|run| run.drop.is_some()) {
        while cells.next_if(|cell| cell.oldest.is_after(drop.newest)).is_some() {}
        match cells.peek() {
            Some(cell) if !cell.newest.is_before(drop.oldest) => return true,
            Some(_) => {}
            None => return false,
        }
    }
    false
}
