//! Numbers of received commands: the newest, and a bit for each from it back.
//!
//! In a report the first word has the newest number and the bits of 40 numbers. An earlier version has no
//! other word. The bits of all [`BEFORE`] numbers follow in words; an earlier version leaves out the last
//! ones that have nothing but ones.

use bytes::{BufMut, BytesMut};

const WORDS: usize = 4;
/// Numbers that an end reports, and an end of an earlier version.
pub(super) const BEFORE: u16 = 64 * WORDS as u16;
pub(super) const BEFORE_EARLIER: u16 = 40;

/// The numbers that have come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Received {
    newest: u16,
    /// The lowest bit of the first word is the newest number's.
    bits: [u64; WORDS],
    /// Numbers of which it says something.
    before: u16,
}

impl Default for Received {
    /// None has come. Numbers before the first need no report.
    fn default() -> Self {
        let mut bits = [u64::MAX; WORDS];
        bits[0] = !1;
        Self { newest: 0, bits, before: BEFORE }
    }
}

impl Received {
    /// `false` for an earlier version, which does not know parts of bulk data either.
    pub(crate) fn is_whole(&self) -> bool {
        self.before == BEFORE
    }

    fn bit(&self, back: u16) -> bool {
        back < self.before && self.bits[usize::from(back / 64)] >> (back % 64) & 1 == 1
    }

    /// `true` if that number is known to have come.
    pub(super) fn has(&self, number: u16) -> bool {
        // Without the newest one, none has come yet.
        self.bit(0) && self.bit(self.newest.wrapping_sub(number))
    }

    /// A number has come. `false` if it had come before, or is too old for that to be known.
    pub(crate) fn add(&mut self, number: u16) -> bool {
        let ahead = number.wrapping_sub(self.newest).cast_signed();
        if ahead > 0 || !self.bit(0) {
            self.shift(ahead.unsigned_abs());
            self.newest = number;
        }
        let back = self.newest.wrapping_sub(number);
        if back >= self.before || self.bit(back) {
            return false;
        }
        self.bits[usize::from(back / 64)] |= 1 << (back % 64);
        true
    }

    fn shift(&mut self, by: u16) {
        let (words, rest) = (usize::from(by / 64), u32::from(by % 64));
        let before = self.bits;
        let word = |at: Option<usize>| at.map_or(0, |at| before[at]);
        for place in 0..WORDS {
            let low = word(place.checked_sub(words + 1)).checked_shr(64 - rest).unwrap_or(0);
            self.bits[place] = word(place.checked_sub(words)) << rest | low;
        }
    }

    pub(crate) fn encode(&self, bytes: &mut BytesMut) {
        let few = self.bits[0] & ((1 << BEFORE_EARLIER) - 1);
        bytes.put_u64(u64::from(self.newest) << BEFORE_EARLIER | few);
        self.bits.iter().for_each(|word| bytes.put_u64(*word));
    }

    /// Reads it word by word. `None` without any.
    pub(crate) fn decode(mut next: impl FnMut() -> Option<u64>) -> Option<Self> {
        let first = next()?;
        let mut received = Self {
            newest: (first >> BEFORE_EARLIER) as u16,
            bits: [first & ((1 << BEFORE_EARLIER) - 1), 0, 0, 0],
            before: BEFORE_EARLIER,
        };
        if let Some(word) = next() {
            let rest = [(); WORDS - 1].map(|()| next().unwrap_or(u64::MAX));
            received = Self { bits: [word, rest[0], rest[1], rest[2]], before: BEFORE, ..received };
        }
        Some(received)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn words(received: &Received) -> Vec<u64> {
        let mut bytes = BytesMut::new();
        received.encode(&mut bytes);
        bytes.chunks(8).map(|word| u64::from_be_bytes(word.try_into().expect("whole words"))).collect()
    }

    fn decoded(words: &[u64]) -> Option<Received> {
        let mut words = words.iter();
        Received::decode(|| words.next().copied())
    }

    #[test]
    fn earlier_versions_say_less() {
        let mut received = Received::default();
        assert!(!received.has(0));
        assert!((0..1000).all(|number| received.add(number)));
        let full = u64::MAX;
        assert_eq!(words(&received), [(999 << 40) | ((1 << 40) - 1), full, full, full, full]);
        assert_eq!(decoded(&words(&received)[..2]), Some(received));
        assert!(received.add(1002));
        assert_eq!(decoded(&[]), None);
        let earlier = decoded(&words(&received)[..1]).expect("40 numbers");
        assert!(!earlier.is_whole() && earlier.has(999) && !earlier.has(1001) && !earlier.has(960));
    }

    proptest! {
        /// Compared with a set of all numbers that have come; over the wire as well.
        #[test]
        fn what_has_come_is_known(steps in prop::collection::vec((-300_i32..300, any::<bool>()), 1..400)) {
            let (mut received, mut all, mut newest) = (Received::default(), BTreeSet::new(), 70_000);
            for (step, is_far) in steps {
                let number = newest + if is_far { step } else { step.rem_euclid(8) - 4 };
                let is_known = all.contains(&number) || !all.is_empty() && number <= newest - i32::from(BEFORE);
                prop_assert_eq!(received.add(number as u16), !is_known);
                all.insert(number);
                newest = if all.len() == 1 { number } else { newest.max(number) };
                let copy = decoded(&words(&received)).expect("words");
                prop_assert_eq!(copy, received);
                for number in newest - i32::from(BEFORE) + 1..newest + 9 {
                    prop_assert_eq!(copy.has(number as u16), all.contains(&number));
                }
            }
        }
    }
}
