//! The window of record numbers that detects replays (RFC 9147, Section 4.5.1; RFC 6479).

const WORDS: u64 = 16;
/// A record is refused if the highest number is greater by this or more. The window outlasts the reordering
/// of several paths with different delays: 100 ms at 9,000 datagrams a second.
pub(crate) const REACH: u64 = (WORDS - 1) * 64;

/// The numbers of one epoch that have arrived.
#[derive(Clone, Debug, Default)]
pub(super) struct Window {
    bits: [u64; WORDS as usize],
    /// One more than the highest number.
    next: u64,
}

impl Window {
    /// One more than the highest number that has arrived.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// `true` if the number has not arrived and is not too old to be known.
    pub(super) fn is_new(&self, number: u64) -> bool {
        number >= self.next || (self.next - number <= REACH && self.bits[word(number)] & bit(number) == 0)
    }

    /// Adds a number of an authentic record.
    pub(super) fn add(&mut self, number: u64) {
        if number >= self.next {
            let newest = self.next.saturating_sub(1) / 64;
            let passed = (number / 64 - newest).min(WORDS);
            for word in 1..=passed {
                self.bits[((newest + word) % WORDS) as usize] = 0;
            }
            self.next = number + 1;
        }
        self.bits[word(number)] |= bit(number);
    }
}

fn word(number: u64) -> usize {
    (number / 64 % WORDS) as usize
}

fn bit(number: u64) -> u64 {
    1 << (number % 64)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_that_are_too_old_are_refused() {
        let mut window = Window::default();
        assert!(window.is_new(0));
        window.add(REACH + 5);
        assert_eq!(window.next(), REACH + 6);
        assert!(window.is_new(6) && !window.is_new(5) && !window.is_new(REACH + 5));
    }

    proptest! {
        /// The window agrees with a set of all numbers.
        #[test]
        fn each_number_is_new_once(steps in proptest::collection::vec((0_u64..3000, any::<bool>()), 1..400)) {
            let (mut window, mut seen) = (Window::default(), BTreeSet::new());
            let mut base = 0;
            for (step, forward) in steps {
                let number = if forward { base + step } else { base.saturating_sub(step) };
                let is_old = window.next() > number && window.next() - number > REACH;
                prop_assert_eq!(window.is_new(number), !is_old && !seen.contains(&number));
                if window.is_new(number) {
                    window.add(number);
                    seen.insert(number);
                    base = base.max(number);
                }
            }
        }
    }
}
