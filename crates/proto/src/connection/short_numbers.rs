//! Use of 24-bit sequence numbers (RFC 4340, Section 7.6.2).

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::SeqNo;

#[cfg(test)]
mod tests;

/// The largest window for which numbers that repeat after 2^24 packets are safe.
const MAX_WINDOW: u64 = 1 << 16;
/// Number of packets over which the rate is measured: a sixteenth of the number space.
const MEASURED: u64 = 1 << 20;
/// Number of such spans until numbers repeat.
const SPANS: u64 = (1 << 24) / MEASURED;

/// Measures whether an end sends slowly enough for short sequence numbers: by the time a number is reused,
/// the network must have discarded every old packet with it, which takes two maximum segment lifetimes.
#[derive(Clone, Debug, Default)]
pub(super) struct ShortNumbers {
    /// Start of the measurement in progress.
    start: Option<(SeqNo, Instant)>,
    /// `true` if the last measurement found the rate too high.
    is_too_fast: bool,
}

impl ShortNumbers {
    /// Called for each sent packet, numbered `sequence`. Returns `true` if its numbers may be short, given
    /// both ends' windows.
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
