//! Mahimahi's packet delivery traces.
//!
//! One line is one millisecond stamp: at that time 1500 bytes may leave the queue. The same stamp may
//! stand on several lines. After the last stamp the trace starts again, with that stamp as its new
//! zero. As in mahimahi's `mm-link`, an opportunity at which nothing waits is lost; a packet leaves
//! with the opportunity that carries its last byte; what an opportunity has left is used by the
//! packets behind it; and a packet that comes at the very time of an opportunity comes too late for it.

use std::sync::Arc;

use whimbrel_units::{DataRate, Duration, Instant};

use super::TraceError;

const NANOS_PER_MILLI: u64 = 1_000_000;

/// The times at which a recorded link could deliver 1500 bytes. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeliveryTrace {
    /// Milliseconds, ascending, none above the period.
    stamps: Arc<[u64]>,
    /// Milliseconds, not 0.
    period: u64,
}

impl DeliveryTrace {
    /// Bytes per opportunity.
    pub const OPPORTUNITY: u32 = 1_500;

    /// Reads one stamp in milliseconds per line; blank lines are skipped.
    ///
    /// # Errors
    /// If a line is not a whole number, is smaller than the one before it, or no line is above 0.
    pub fn parse(text: &str) -> Result<Self, TraceError> {
        let mut stamps = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            let stamp =
                line.parse().map_err(|_| TraceError::line(index, "a whole number of milliseconds", line))?;
            if stamps.last().is_some_and(|&last| last > stamp) {
                return Err(TraceError::line(index, "a stamp not before the previous line's", line));
            }
            stamps.push(stamp);
        }
        Self::from_millis(stamps)
    }

    /// From stamps in milliseconds.
    ///
    /// # Errors
    /// If they do not ascend, or none is above 0, or they are too large to count in nanoseconds.
    pub fn from_millis(stamps: Vec<u64>) -> Result<Self, TraceError> {
        let last = stamps.last().copied().unwrap_or(0);
        if last == 0 {
            return Err(TraceError::Whole { expected: "a trace that lasts at least a millisecond" });
        }
        if !stamps.is_sorted() {
            return Err(TraceError::Whole { expected: "stamps in ascending order" });
        }
        if last > u64::MAX / NANOS_PER_MILLI {
            return Err(TraceError::Whole { expected: "stamps within 584 years" });
        }
        Ok(Self { stamps: stamps.into(), period: last })
    }

    /// The time after which the trace starts again.
    pub fn period(&self) -> Duration {
        Duration::from_millis(self.period)
    }

    /// The trace whose time 0 is the millisecond `start` of this one, which repeats.
    pub fn started_at(&self, start: Duration) -> Self {
        let start = start.as_millis() % self.period;
        if start == 0 {
            return self.clone();
        }
        let (before, after) = self.stamps.split_at(self.stamps.partition_point(|&stamp| stamp <= start));
        let ahead = after.iter().map(|stamp| stamp - start);
        let again = before.iter().map(|stamp| stamp + self.period - start);
        Self { stamps: ahead.chain(again).collect(), period: self.period }
    }

    /// Mean rate of the link.
    pub fn mean_rate(&self) -> DataRate {
        let bytes = self.stamps.len() as f64 * f64::from(Self::OPPORTUNITY);
        DataRate::from_bytes_per_second(bytes / self.period().as_secs_f64())
    }

    /// Mean rate of the link after the time `from` and up to `to`.
    pub fn mean_rate_between(&self, from: Instant, to: Instant) -> DataRate {
        let bytes = (self.opportunities(to) - self.opportunities(from)) as f64 * f64::from(Self::OPPORTUNITY);
        DataRate::from_bytes_per_second(bytes / (to - from).as_secs_f64())
    }

    /// The opportunities up to a time.
    fn opportunities(&self, until: Instant) -> u64 {
        let millis = until.as_nanos() / NANOS_PER_MILLI;
        let (repetitions, within) = (millis / self.period, millis % self.period);
        repetitions * self.stamps.len() as u64 + self.stamps.partition_point(|&stamp| stamp <= within) as u64
    }
}

/// Position of a link in its trace.
#[derive(Clone, Debug)]
pub(crate) struct DeliveryCursor {
    trace: DeliveryTrace,
    /// The opportunity last used, in nanoseconds, and what it has left.
    current: u64,
    left: u32,
    /// The next opportunity: its index and the beginning of its repetition.
    next: usize,
    base: u64,
}

impl DeliveryCursor {
    pub(crate) fn new(trace: DeliveryTrace) -> Self {
        Self { trace, current: 0, left: 0, next: 0, base: 0 }
    }

    /// Departure time of a packet that was accepted at `now`, behind all earlier ones.
    pub(crate) fn departure(&mut self, now: Instant, size: u32) -> Instant {
        let now = now.as_nanos();
        if self.current <= now {
            self.seek_after(now);
            self.take();
        }
        let mut remaining = size;
        while remaining > self.left {
            remaining -= self.left;
            self.take();
        }
        self.left -= remaining;
        Instant::from_nanos(self.current)
    }

    /// Gives up what was planned after `time`: the next packet uses opportunities after that.
    pub(crate) fn restart(&mut self, time: Instant) {
        (self.next, self.base) = (0, 0);
        self.seek_after(time.as_nanos());
        self.take();
    }

    fn take(&mut self) {
        self.current = self.next_time();
        self.left = DeliveryTrace::OPPORTUNITY;
        self.next += 1;
        if self.next == self.trace.stamps.len() {
            self.next = 0;
            self.base = self.base.saturating_add(self.trace.period().as_nanos());
        }
    }

    fn next_time(&self) -> u64 {
        self.base.saturating_add(self.trace.stamps[self.next] * NANOS_PER_MILLI)
    }

    /// Skips the unused opportunities up to and including `time`.
    fn seek_after(&mut self, time: u64) {
        if self.next_time() > time {
            return;
        }
        let period = self.trace.period().as_nanos();
        self.base = time / period * period;
        let within = (time - self.base) / NANOS_PER_MILLI;
        self.next = self.trace.stamps.partition_point(|&stamp| stamp <= within);
        if self.next == self.trace.stamps.len() {
            self.next = 0;
            self.base += period;
        }
    }
}
