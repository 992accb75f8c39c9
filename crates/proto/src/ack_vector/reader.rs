//! The sender's reading of Ack Vectors.

use std::collections::VecDeque;

use thiserror::Error;
use whimbrel_wire::option::ack_vector::{self, AckState};
use whimbrel_wire::{DccpOption, SeqNo};

use super::{AckedPacket, Fate};

/// Packets remembered at most. Of older ones nothing is believed any more (RFC 4340, Section 11.4.1).
const MAX_PACKETS: u64 = 1 << 16;
/// A connection of that many packets may have seen the sequence numbers from before its start again.
const LONG: u64 = 1 << 40;

/// The sender's reading of Ack Vectors: which of its packets are known to have arrived.
///
/// Vectors repeat what earlier ones said, so each packet is news once. What a later vector says of
/// it does not count: that it is missing after all is an older vector overtaken by a newer one, and that it was
/// marked after all is a copy that was (the table of RFC 4340, Section 11.4.1).
#[derive(Clone, Debug)]
pub struct Reader {
    /// The packet that the lowest bit of the first word stands for.
    base: SeqNo,
    /// A bit for each packet from `base` on: whether it is known to have arrived.
    known: VecDeque<u64>,
    /// The first packet of the connection, as long as no packet can have a number before it.
    first: Option<SeqNo>,
}

/// An Ack Vector speaks of packets from before the start of the connection (RFC 4340, Section 11.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[error("an Ack Vector reaches back before the first packet")]
pub struct BeforeStart;

impl Reader {
    /// A reader for a connection whose first packet, of this end, is `first`.
    pub fn new(first: SeqNo) -> Self {
        Self { base: first, known: VecDeque::new(), first: Some(first) }
    }

    /// Reads the Ack Vectors among the options of a packet with Acknowledgement Number `ack`, which
    /// must be of a packet that was sent. Appends to `news` the packets not known before to have
    /// arrived, the oldest first.
    ///
    /// # Errors
    ///
    /// Vectors that reach back too far are not believed at all.
    pub fn read(
        &mut self,
        ack: SeqNo,
        options: &[DccpOption],
        news: &mut Vec<AckedPacket>,
    ) -> Result<(), BeforeStart> {
        let Some(last) = ack_vector::runs(ack, options).last() else { return Ok(()) };
        if self.first.is_some_and(|first| last.oldest.is_before(first)) {
            return Err(BeforeStart);
        }
        self.reach(ack);
        let start = news.len();
        for run in ack_vector::runs(ack, options) {
            if run.newest.is_before(self.base) {
                break;
            }
            let fate = match run.state {
                AckState::Received => Fate::Received,
                AckState::ReceivedEcnMarked => Fate::Marked,
                AckState::Reserved | AckState::NotReceived => continue,
            };
            let oldest = if run.oldest.is_before(self.base) { self.base } else { run.oldest };
            self.learn(oldest, run.newest, fate, news);
        }
        news[start..].reverse();
        self.forget();
        Ok(())
    }

    /// Makes room for packet `ack`, if need be by forgetting the oldest.
    fn reach(&mut self, ack: SeqNo) {
        let offset = ack.distance_from(self.base);
        if offset < 0 {
            return;
        }
        let words = offset as u64 / 64 + 1;
        let surplus = words.saturating_sub(MAX_PACKETS / 64);
        if surplus >= self.known.len() as u64 {
            self.known.clear();
        } else {
            self.known.drain(..surplus as usize);
        }
        self.base = self.base.add(surplus * 64);
        let words = (words - surplus) as usize;
        if self.known.len() < words {
            self.known.resize(words, 0);
        }
    }

    /// The packets from `oldest` to `newest` have arrived. Appends what is new, the newest first.
    fn learn(&mut self, oldest: SeqNo, newest: SeqNo, fate: Fate, news: &mut Vec<AckedPacket>) {
        let low = oldest.distance_from(self.base) as u64;
        let high = newest.distance_from(self.base) as u64;
        for index in (low / 64..=high / 64).rev() {
            let from = low.max(index * 64) - index * 64;
            let to = high.min(index * 64 + 63) - index * 64;
            let told = (u64::MAX >> (63 - (to - from))) << from;
            let word = &mut self.known[index as usize];
            let mut new = told & !*word;
            *word |= told;
            while new != 0 {
                let bit = 63 - u64::from(new.leading_zeros());
                new &= !(1 << bit);
                news.push(AckedPacket { sequence: self.base.add(index * 64 + bit), fate });
            }
        }
    }

    /// Drops the words of which nothing is left to learn.
    fn forget(&mut self) {
        while self.known.len() > 1 && self.known[0] == u64::MAX {
            self.known.pop_front();
            self.base = self.base.add(64);
        }
        if self.first.is_some_and(|first| self.base.distance_from(first).unsigned_abs() > LONG) {
            self.first = None;
        }
    }
}
