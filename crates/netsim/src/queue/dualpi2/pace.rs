//! The delay that a queue will impose on an arrival, from the pace at which it has drained.
//!
//! The waiting time of a queue's head says nothing about a burst that has just arrived behind it. Queue
//! protection must react to the burst itself, and a discipline does not know the rate of its link.

use whimbrel_units::{Duration, Instant};

/// The pace is measured over at least this busy time: longer than the gaps between aggregates of packets, and
/// shorter than a round trip.
const WINDOW: Duration = Duration::from_millis(4);

/// Measures the time per byte of a queue while packets wait in it.
#[derive(Default)]
pub(super) struct Pace {
    /// Departure and bytes of the last packet, if others waited behind it.
    last: Option<(Instant, u32)>,
    /// Time and bytes of the present window.
    busy: Duration,
    bytes: u64,
    seconds_per_byte: f64,
}

impl Pace {
    /// A packet leaves the queue. `busy` says whether it will be transmitted and others wait behind it: the
    /// time until the next departure is then the time that its bytes took.
    pub(super) fn depart(&mut self, now: Instant, size: u32, busy: bool) {
        if let Some((start, bytes)) = self.last.take() {
            self.busy += now - start;
            self.bytes += u64::from(bytes);
        }
        if self.busy >= WINDOW {
            self.seconds_per_byte = self.busy.as_secs_f64() / self.bytes as f64;
            (self.busy, self.bytes) = (Duration::ZERO, 0);
        }
        self.last = busy.then_some((now, size));
    }

    /// The time in which these bytes will leave; zero before the first measurement.
    pub(super) fn delay(&self, bytes: u64) -> Duration {
        Duration::from_secs_f64(self.seconds_per_byte * bytes as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::ms;

    #[test]
    fn the_pace_is_that_of_busy_periods() {
        let mut pace = Pace::default();
        for n in 0..=4 {
            assert_eq!(pace.delay(1_000), Duration::ZERO);
            pace.depart(ms(n), 500, n < 4);
        }
        // 2000 bytes took 4 ms. The last packet leaves an empty queue, and the idle time does not count.
        assert_eq!(pace.delay(1_000), Duration::from_millis(2));
        pace.depart(ms(1_000), 500, true);
        pace.depart(ms(1_008), 500, true);
        assert_eq!(pace.delay(1_000), Duration::from_millis(16));
    }
}
