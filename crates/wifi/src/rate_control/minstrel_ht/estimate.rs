//! The integers of Minstrel-HT.

use super::ONE;
use crate::phy::{GuardInterval, Mode};

/// Bits of an aggregate of 16 packets of 1200 bytes, of whose time a packet has a sixteenth.
const AGGREGATE_BITS: u32 = 16 * 1_200 * 8;
/// A data frame without payload and its acknowledgement at 6 Mbit/s, with SIFS, in microseconds.
const OVERHEAD: u32 = 108;
const SLOT: u32 = 9;
const CW_MIN: u32 = 15;
const CW_MAX: u32 = 1_023;
/// A chain's rate is not repeated for longer than this, in microseconds, and not more often.
const SEGMENT: u32 = 6_000;
const MOST_TRIES: u32 = 7;

fn exact_duration(mode: Mode) -> u32 {
    let symbols = AGGREGATE_BITS.div_ceil(mode.data_bits());
    let time = match mode.guard() {
        GuardInterval::Ns400 => (symbols * 18_000 + 4_000) / 5,
        _ => symbols * mode.symbol().as_nanos() as u32,
    };
    time / 16
}

/// Nanoseconds for a packet, without the low bits that a table of 16 bits for the group of `slowest` has no
/// room for.
pub(super) fn duration(mode: Mode, slowest: Mode) -> u32 {
    let shift = (u32::BITS - exact_duration(slowest).leading_zeros()).saturating_sub(16);
    exact_duration(mode) >> shift << shift
}

/// Packets in 100 ms, with `length` MPDUs in an aggregate: 0 below a probability of 10 %, and no more above
/// 90 %.
pub(super) fn throughput(duration: u32, length: u32, probability: u32) -> u32 {
    if probability < ONE / 10 {
        return 0;
    }
    let time = 1_000 * OVERHEAD / length.max(1) + duration;
    let packets = u64::from(probability.min(ONE * 90 / 100)) * 1_000_000 / u64::from(time);
    (100 * packets / u64::from(ONE)) as u32
}

/// Tries of a rate: at least two, and as many as take no longer than 6 ms with the mean backoffs.
pub(super) fn retries(duration: u32, length: u32) -> u32 {
    let data = (u64::from(duration) * u64::from(length.max(1)) / 1_000) as u32;
    let mut window = CW_MIN;
    let mut contention = || {
        let wait = SLOT * window / 2;
        window = (window * 2 + 1).min(CW_MAX);
        wait
    };
    let mut time = contention() + contention() + 2 * (OVERHEAD + data);
    let mut tries = 2;
    loop {
        time += contention() + OVERHEAD + data;
        if time >= SEGMENT {
            return tries;
        }
        tries += 1;
        if tries == MOST_TRIES {
            return tries;
        }
    }
}

/// A probability that follows the intervals by a filter of second order, which may overshoot.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Average {
    last: i32,
    before: i32,
}

impl Average {
    pub(super) fn add(&mut self, value: u32) {
        let value = value.max(1) as i32;
        let new = if self.last == 0 {
            self.last = value;
            value
        } else {
            ((1_173 * value + 5_273 * self.last - 2_350 * self.before) >> 12).clamp(1, ONE as i32)
        };
        (self.before, self.last) = (self.last, new);
    }

    /// The average; `None` before the first interval.
    pub(super) fn value(&self) -> Option<u32> {
        (self.last > 0).then_some(self.last as u32)
    }
}
