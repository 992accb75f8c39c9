//! Which of this end's packets are known to have met some fate.

use std::collections::VecDeque;

use whimbrel_wire::SeqNo;

/// Packets remembered at most. Of older ones nothing is believed any more (RFC 4340, Section 11.4.1).
const MAX_PACKETS: u64 = 1 << 16;
/// A connection of that many packets may have seen the sequence numbers from before its start again.
const LONG: u64 = 1 << 40;

/// A map of this end's recent packets, in which each can be learnt once.
///
/// Reports repeat what earlier ones said; this tells what of them is news. It takes a bit per packet, for as many as the
/// newest report spoke of and at most 2^16.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    /// The packet that the lowest bit of the first word stands for.
    base: SeqNo,
    /// A bit for each packet from `base` on.
    words: VecDeque<u64>,
    /// The first packet of the connection, as long as no packet can have a number before it.
    first: Option<SeqNo>,
}

impl Known {
    /// Nothing is known of a connection whose first packet, of this end, is `first`.
    pub(crate) fn new(first: SeqNo) -> Self {
        Self { base: first, words: VecDeque::new(), first: Some(first) }
    }
    /// Whether a packet with that number would be from before the start of the connection.
    pub(crate) fn is_before_start(&self, sequence: SeqNo) -> bool {
        self.first.is_some_and(|first| sequence.is_before(first))
    }
    /// Whether of this packet nothing is believed any more.
    pub(crate) fn is_forgotten(&self, sequence: SeqNo) -> bool {
        sequence.is_before(self.base)
    }

    /// Makes room for packet `ack`, if need be by forgetting the oldest.
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

    /// The packets from `oldest` to `newest`, which [`Known::reach`] has made room for, have met the
    /// fate. Tells `on_news` those that were not known to, the newest first.
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
            let told = (u64::MAX >> (63 - (to - from))) << from;
            let word = &mut self.words[index as usize];
            let mut new = told & !*word;
            *word |= told;
            while new != 0 {
                let bit = 63 - u64::from(new.leading_zeros());
                new &= !(1 << bit);
                on_news(self.base.add(index * 64 + bit));
            }
        }
    }

    /// Drops the words of which nothing is left to learn.
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
