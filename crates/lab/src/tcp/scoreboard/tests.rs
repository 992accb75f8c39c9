use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

/// RFC 6675, Sections 3 and 4, to the letter: byte by byte. SMSS is 10 bytes.
#[derive(Debug)]
struct Naive {
    acknowledged: u64,
    high: u64,
    high_rxt: u64,
    received: BTreeSet<u64>,
}

const SMSS: u64 = 10;

impl Naive {
    fn is_lost(&self, byte: u64) -> bool {
        let above: Vec<u64> = self.received.range(byte + 1..).copied().collect();
        let ranges = above.iter().filter(|&&b| b == byte + 1 || !self.received.contains(&(b - 1))).count();
        ranges >= 3 || above.len() as u64 > 2 * SMSS
    }

    fn pipe(&self) -> u64 {
        (self.acknowledged..self.high)
            .filter(|byte| !self.received.contains(byte))
            .map(|byte| u64::from(!self.is_lost(byte)) + u64::from(byte < self.high_rxt))
            .sum()
    }

    fn from(&self, start: u64) -> ByteRange {
        let end = (start..self.high.min(start + SMSS)).find(|b| self.received.contains(b));
        ByteRange::new(start, end.unwrap_or(self.high.min(start + SMSS)))
    }

    /// Rules 1 (`lost`) and 3.
    fn next(&self, lost: bool) -> Option<ByteRange> {
        let highest = *self.received.last()?;
        (self.acknowledged.max(self.high_rxt)..highest)
            .find(|byte| !self.received.contains(byte) && (!lost || self.is_lost(*byte)))
            .map(|start| self.from(start))
    }

    /// Rule 4.
    fn last_missing(&self) -> Option<ByteRange> {
        let last = (self.acknowledged..self.high).rev().find(|byte| !self.received.contains(byte))?;
        let mut start = last;
        while start > self.acknowledged && !self.received.contains(&(start - 1)) && last + 1 - start < SMSS {
            start -= 1;
        }
        Some(ByteRange::new(start, last + 1))
    }
}

#[derive(Clone, Debug)]
enum Step {
    Send(u64),
    Report(u64, u64),
    Acknowledge(u64),
    RetransmitLost,
    RetransmitHole,
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (1u64..40).prop_map(Step::Send),
        6 => (0u64..120, 1u64..25).prop_map(|(offset, length)| Step::Report(offset, length)),
        1 => (0u64..40).prop_map(Step::Acknowledge),
        3 => Just(Step::RetransmitLost),
        1 => Just(Step::RetransmitHole),
        1 => Just(Step::Restart),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn the_sums_are_those_of_rfc_6675(steps in prop::collection::vec(step(), 0..80)) {
        let mut board = Scoreboard::new(SMSS as u32, 3);
        let mut naive = Naive { acknowledged: 0, high: 0, high_rxt: 0, received: BTreeSet::new() };
        for step in steps {
            match step {
                Step::Send(bytes) => naive.high += bytes,
                Step::Report(offset, length) => {
                    let start = naive.acknowledged + offset;
                    // Never the first missing byte: that would have moved the cumulative acknowledgement.
                    let block = ByteRange::new(start.max(naive.acknowledged + 1), (start + length).min(naive.high));
                    if block.length() > 0 {
                        let before = naive.received.len();
                        naive.received.extend(block.start..block.end);
                        prop_assert_eq!(board.update(&[block], naive.high), naive.received.len() > before);
                    }
                }
                Step::Acknowledge(bytes) => {
                    let mut to = (naive.acknowledged + bytes).min(naive.high);
                    while naive.received.contains(&to) {
                        to += 1;
                    }
                    naive.acknowledged = to;
                    naive.high_rxt = naive.high_rxt.max(to);
                    naive.received = naive.received.split_off(&to);
                    board.advance(to);
                }
                Step::RetransmitLost => if let Some(hole) = board.next_lost() {
                    board.on_retransmitted(hole);
                    naive.high_rxt = hole.end;
                },
                Step::RetransmitHole => if let Some(hole) = board.next_below_received() {
                    board.on_retransmitted(hole);
                    naive.high_rxt = hole.end;
                },
                Step::Restart => {
                    board.forget_retransmissions();
                    naive.high_rxt = naive.acknowledged;
                }
            }
            prop_assert_eq!(board.pipe(naive.high), naive.pipe(), "{:?}", naive);
            prop_assert_eq!(board.next_lost(), naive.next(true), "{:?}", naive);
            prop_assert_eq!(board.next_below_received(), naive.next(false), "{:?}", naive);
            prop_assert_eq!(board.last_missing(naive.high), naive.last_missing(), "{:?}", naive);
            prop_assert_eq!(board.received(), naive.received.len() as u64);
        }
    }
}

fn board(ranges: &[(u64, u64)]) -> Scoreboard {
    let mut board = Scoreboard::new(1000, 3);
    for &(start, end) in ranges {
        board.update(&[ByteRange::new(start * 1000, end * 1000)], 1 << 40);
    }
    board
}

#[test]
fn blocks_of_what_was_never_sent_or_is_acknowledged_are_ignored() {
    let mut board = Scoreboard::new(1000, 3);
    board.advance(5000);
    assert!(!board.update(&[ByteRange::new(8000, 12_000), ByteRange::new(1000, 5000)], 10_000));
    assert_eq!(board.received(), 0);
    // A block that reaches below counts for what is above.
    assert!(board.update(&[ByteRange::new(4000, 7000)], 10_000));
    assert_eq!(board.received(), 2000);
}

#[test]
fn a_timeout_makes_everything_sent_lost() {
    let mut board = board(&[(1, 2), (3, 4)]);
    assert_eq!(board.next_lost(), None);
    board.on_timeout(8000, true);
    assert_eq!(board.pipe(8000), 0);
    let mut sent = Vec::new();
    while let Some(hole) = board.next_lost() {
        board.on_retransmitted(hole);
        sent.push(hole.start / 1000);
    }
    assert_eq!(sent, [0, 2, 4, 5, 6, 7]);
    assert_eq!(board.pipe(8000), 6000);
    board.on_timeout(8000, false);
    assert_eq!((board.received(), board.next_lost()), (0, Some(ByteRange::new(0, 1000))));
}
