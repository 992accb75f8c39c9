//! The system's clocks, where the DTLS library and certificates need them: its instants are `std`'s.
#![allow(
    clippy::disallowed_types,
    reason = "the library's instants are made from ours here and nowhere else"
)]

use std::sync::LazyLock;
use std::time::{Instant as SystemInstant, SystemTime};

use rustls_pki_types::UnixTime;
use whimbrel_units::{Duration, Instant};

/// An arbitrary origin: only differences to it reach the library.
static ORIGIN: LazyLock<SystemInstant> = LazyLock::new(SystemInstant::now);

/// Deadlines further ahead stand for none: the library has no other way to report that.
const NEVER: Duration = Duration::from_secs(366 * 24 * 3600);

/// The clock of one session, which can be stopped.
///
/// While a handshake message waits in the send queue of DCCP, the clock stands still, so that the
/// retransmission timer does not run: RFC 5238, Section 3.3.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SessionClock {
    /// Time for which it stood still, except since `stopped`.
    lag: Duration,
    stopped: Option<Instant>,
    /// Time by which it was put forward.
    lead: Duration,
    /// Time by which the next deadline is later than the timer that stands for it.
    early: Duration,
}

impl SessionClock {
    /// Stops the clock, or lets it go on.
    pub(crate) fn set_stopped(&mut self, now: Instant, is_stopped: bool) {
        match (is_stopped, self.stopped) {
            (true, None) => self.stopped = Some(now),
            (false, Some(since)) => {
                self.lag += now.saturating_since(since);
                self.stopped = None;
            }
            _ => {}
        }
    }

    /// `true` while it stands still.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.is_some()
    }

    /// The library's time at `now`.
    pub(crate) fn reading(&self, now: Instant) -> SystemInstant {
        let shown = self.stopped.unwrap_or(now).saturating_sub(self.lag) + self.lead;
        *ORIGIN + std::time::Duration::from_nanos(shown.as_nanos())
    }

    /// The time at which the clock, if not stopped, shows `deadline`, or that after `longest`, if it is
    /// earlier:
    /// [`expire`](Self::expire) then puts the clock forward. `None` if the deadline is in a year or later.
    pub(crate) fn timer(
        &mut self,
        now: Instant,
        deadline: SystemInstant,
        longest: Duration,
    ) -> Option<Instant> {
        let ahead = Duration::from(deadline.saturating_duration_since(self.reading(now)));
        let ahead = Some(ahead).filter(|ahead| *ahead < NEVER)?;
        let wait = ahead.min(longest);
        self.early = ahead - wait;
        Some(now + wait)
    }

    /// The last timer has expired: the clock shows its deadline.
    pub(crate) fn expire(&mut self) {
        self.lead += core::mem::take(&mut self.early);
    }
}

/// The current date, for the validity of certificates.
pub(crate) fn today() -> UnixTime {
    UnixTime::since_unix_epoch(SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stopped_clock_shows_the_same_time_and_its_deadlines_move() {
        let at = Instant::from_secs;
        let mut clock = SessionClock::default();
        let deadline = clock.reading(at(3));
        let timer = |clock: &mut SessionClock, now| clock.timer(now, deadline, Duration::MAX);
        assert_eq!(timer(&mut clock, at(1)), Some(at(3)));
        clock.set_stopped(at(1), true);
        // A second stop changes nothing.
        clock.set_stopped(at(2), true);
        assert!(clock.is_stopped());
        assert_eq!(clock.reading(at(7)), clock.reading(at(1)));
        clock.set_stopped(at(9), false);
        assert_eq!(timer(&mut clock, at(9)), Some(at(11)));
        assert_eq!(clock.reading(at(11)), deadline);
        // Past deadlines are due now.
        assert_eq!(timer(&mut clock, at(20)), Some(at(20)));
    }

    #[test]
    fn a_timer_that_is_shorter_than_its_deadline_puts_the_clock_forward() {
        let at = Instant::from_secs;
        let mut clock = SessionClock::default();
        let deadline = clock.reading(at(100));
        assert_eq!(clock.timer(at(10), deadline, Duration::from_secs(2)), Some(at(12)));
        clock.expire();
        assert_eq!(clock.reading(at(12)), deadline);
        // Once.
        clock.expire();
        assert_eq!(clock.reading(at(12)), deadline);
    }

    #[test]
    fn a_deadline_in_years_is_none() {
        let mut clock = SessionClock::default();
        let years = std::time::Duration::from_secs(10 * 365 * 24 * 3600);
        let deadline = clock.reading(Instant::ZERO) + years;
        assert_eq!(clock.timer(Instant::ZERO, deadline, Duration::MAX), None);
    }
}
