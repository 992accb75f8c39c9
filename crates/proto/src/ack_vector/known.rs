//! Packets of this end whose outcome is known.

use std::collections::VecDeque;

use whimbrel_wire::SeqNo;

/// The most packets recorded. Reports on older ones are ignored (RFC 4340, Section 11.4.1).
const MAX_PACKETS: u64 = 1 << 16;
/// Length of a connection after which numbers before its start may be in use again.
const LONG: u64 = 1 << 40;

/// A bitmap of this end's recent packets, in which each is recorded once.
///
/// Reports repeat earlier ones; this extracts the new information. It takes one bit per packet, for as many
/// packets as the newest report covers and at most 2^16.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// The packet of the lowest bit of the first word.
    base: SeqNo,
    /// One bit for each packet from `base` on.
    words: VecDeque<u64>,
    /// The first packet of the connection, while no packet can have a number before it.
    first: Option<SeqNo>,
}

impl Known {
    /// Creates the bitmap of a connection whose first packet, of this end, is `first`.
    pub(crate) fn new(first: SeqNo) -> Self {
        Self { base: first, words: VecDeque::new(), first: Some(first) }
    }

    /// `true` if a packet with that number would be from before the start of the connection.
    pub(crate) fn is_before_start(&self, sequence: SeqNo) -> bool {
        self.first.is_some_and(|first| sequence.is_before(first))
    }

    /// `true` if reports on this packet are ignored because of its age.
    pub(crate) fn is_forgotten(&self, sequence: SeqNo) -> bool {
        sequence.is_before(self.base)
    }

    /// Makes room for packet `ack`, if necessary by dropping the oldest.
    pub(crate) fn reach(&mut self, ack: SeqNo) {
        let offset = ack.distance_from(self.base);
        if offset < 0 {
            return;
        }
        let words = offset as u64 / 64 + 1;
        let surplus = words.saturating_sub(MAX_PACKETS / 64);
        if surplus >= self.words.len() as u64 {
            self.words.clear();
        } else {
            self.words.drain(..surplus as usize);
        }
        self.base = self.base.add(surplus * 64);
        let words = (words - surplus) as usize;
        if self.words.len() < words {
            self.words.resize(words, 0);
        }
    }

    /// Records the packets from `oldest` to `newest`, for which [`Known::reach`] has made room. Calls
    /// `on_news` for each that was not recorded before, newest first.
    pub(crate) fn learn(&mut self, oldest: SeqNo, newest: SeqNo, mut on_news: impl FnMut(SeqNo)) {
        if self.is_forgotten(newest) {
            return;
        }
        let oldest = if self.is_forgotten(oldest) { self.base } else { oldest };
        let low = oldest.distance_from(self.base) as u64;
        let high = newest.distance_from(self.base) as u64;
        for index in (low / 64..=high / 64).rev() {
            let from = low.max(index * 64) - index * 64;
            let to = high.min(index * 64 + 63) - index * 64;
            let reported = (u64::MAX >> (63 - (to - from))) << from;
            let word = &mut self.words[index as usize];
            let mut new = reported & !*word;
            *word |= reported;
            while new != 0 {
                let bit = 63 - u64::from(new.leading_zeros());
                new &= !(1 << bit);
                on_news(self.base.add(index * 64 + bit));
            }
        }
    }

    /// Drops leading words whose bits are all set.
    pub(crate) fn forget(&mut self) {
        while self.words.len() > 1 && self.words[0] == u64::MAX {
            self.words.pop_front();
            self.base = self.base.add(64);
        }
        if self.first.is_some_and(|first| self.base.distance_from(first).unsigned_abs() > LONG) {
            self.first = None;
        }
    }
}
