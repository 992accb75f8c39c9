//! When 24 bits of a sequence number are enough (RFC 4340, Section 7.6.2).

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::SeqNo;

#[cfg(test)]
mod tests;

/// Windows beyond this are too large for numbers that repeat after 2^24 packets.
const MAX_WINDOW: u64 = 1 << 16;
/// The rate is measured over so many packets: a sixteenth of the numbers that there are.
const MEASURED: u64 = 1 << 20;
/// How many such spans there are until numbers repeat.
const SPANS: u64 = (1 << 24) / MEASURED;

/// Watches whether an end sends slowly enough for short sequence numbers: by the time one is used again,
/// the network must have lost every old packet that has it, which takes two maximum segment lifetimes.
#[derive(Clone, Debug, Default)]
pub(super) struct ShortNumbers {
    /// Where the measurement in progress began.
    start: Option<(SeqNo, Instant)>,
    /// The last measurement found the rate too high.
    is_too_fast: bool,
}

impl ShortNumbers {
    /// Packet `sequence` leaves. Whether its numbers may be short, where both ends have windows of these sizes.
    pub(super) fn may_shorten(
        &mut self,
        now: Instant,
        sequence: SeqNo,
        windows: [u64; 2],
        msl: Duration,
    ) -> bool {
        let (start, started) = *self.start.get_or_insert((sequence, now));
        if sequence.distance_from(start).unsigned_abs() >= MEASURED {
            self.is_too_fast = (now - started) * SPANS < msl * 2;
            self.start = Some((sequence, now));
        }
        !self.is_too_fast && windows.iter().all(|window| *window <= MAX_WINDOW)
    }
}
