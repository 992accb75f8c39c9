//! The clock of an end, which may run faster or slower than simulated time.

use whimbrel_units::Instant;

/// A clock that gains `drift` nanoseconds per second on simulated time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LocalClock {
    drift: i64,
}

const SECOND: i128 = 1_000_000_000;

impl LocalClock {
    /// A clock that gains `drift` nanoseconds in each second; less than a second, in either direction.
    pub(super) fn gaining(drift: i64) -> Self {
        Self { drift }
    }

    /// The local time at simulated time `at`.
    pub(super) fn local(self, at: Instant) -> Instant {
        if self.drift == 0 {
            return at;
        }
        let nanos = i128::from(at.as_nanos());
        let local = nanos + (nanos * i128::from(self.drift)).div_euclid(SECOND);
        Instant::from_nanos(u64::try_from(local).unwrap_or(u64::MAX))
    }

    /// The first simulated time at which it shows `local` or more.
    pub(super) fn simulated(self, local: Instant) -> Instant {
        if self.drift == 0 {
            return local;
        }
        let scale = SECOND + i128::from(self.drift);
        let floor = i128::from(local.as_nanos()) * SECOND / scale;
        let mut at = Instant::from_nanos(u64::try_from(floor).unwrap_or(u64::MAX));
        while self.local(at) < local && at < Instant::from_nanos(u64::MAX) {
            at = Instant::from_nanos(at.as_nanos() + 1);
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_has_come_exactly_when_the_clock_shows_it() {
        for drift in [0, 50_000, -200_000, 1, -1] {
            let clock = LocalClock::gaining(drift);
            for nanos in [0, 1, 999_999_999, 1_234_567_890_123, 5_000_000_000] {
                let local = Instant::from_nanos(nanos);
                let at = clock.simulated(local);
                assert!(clock.local(at) >= local, "{drift}, {nanos}");
                let before = Instant::from_nanos(at.as_nanos().saturating_sub(1));
                assert!(at == Instant::ZERO || clock.local(before) < local, "{drift}, {nanos}");
            }
        }
        let hour = Instant::from_nanos(3_600_000_000_000);
        assert_eq!(LocalClock::gaining(-50_000).local(hour).as_nanos(), 3_599_820_000_000);
    }
}
