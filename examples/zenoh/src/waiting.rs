//! Datagrams for an end whose address is not known yet: the newest of each key.

use std::collections::VecDeque;
use std::mem;

/// Keys of which a datagram is kept.
const MOST_KEYS: usize = 256;

/// The newest datagram of each key, in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    datagrams: VecDeque<(Box<str>, Vec<u8>)>,
}

impl Waiting {
    /// Keeps a datagram in the place of the previous one of its key. If there are too many keys, the
    /// least recently changed one is removed and returned.
    pub(crate) fn keep(&mut self, key: &str, datagram: Vec<u8>) -> Option<Box<str>> {
        self.datagrams.retain(|(other, _)| **other != *key);
        self.datagrams.push_back((key.into(), datagram));
        if self.datagrams.len() <= MOST_KEYS {
            return None;
        }
        self.datagrams.pop_front().map(|(key, _)| key)
    }

    /// All datagrams; none is kept any more.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = Vec<u8>> + use<> {
        mem::take(&mut self.datagrams).into_iter().map(|(_, datagram)| datagram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_of_each_key_waits() {
        let mut waiting = Waiting::default();
        for (key, value) in [("a", 1), ("b", 2), ("a", 3)] {
            assert_eq!(waiting.keep(key, vec![value]), None);
        }
        assert!(waiting.take().eq([vec![2], vec![3]]));
        assert_eq!(waiting.take().count(), 0);
    }

    #[test]
    fn the_oldest_key_makes_room() {
        let mut waiting = Waiting::default();
        for n in 0..MOST_KEYS {
            assert_eq!(waiting.keep(&n.to_string(), vec![]), None);
        }
        assert_eq!(waiting.keep("0", vec![]), None);
        assert_eq!(waiting.keep("new", vec![]).as_deref(), Some("1"));
        assert_eq!(waiting.take().count(), MOST_KEYS);
    }
}
