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
/// While a handshake message waits in the send queue of DCCP, the clock stands still, so that the retransmission timer
/// does not run: RFC 5238, Section 3.3.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SessionClock {
    /// Time for which it stood still, except since `stopped`.
    lag: Duration,
    stopped: Option<Instant>,
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
        let shown = self.stopped.unwrap_or(now).saturating_sub(self.lag);
        *ORIGIN + std::time::Duration::from_nanos(shown.as_nanos())
    }
    /// The time at which the clock, if not stopped, shows `deadline`; `None` if that is in a year or later.
    pub(crate) fn instant(&self, now: Instant, deadline: SystemInstant) -> Option<Instant> {
        let ahead = Duration::from(deadline.saturating_duration_since(self.reading(now)));
        (ahead < NEVER).then(|| now + ahead)
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
        assert_eq!(clock.instant(at(1), deadline), Some(at(3)));
        clock.set_stopped(at(1), true);
        // A second stop changes nothing.
        clock.set_stopped(at(2), true);
        assert!(clock.is_stopped());
        assert_eq!(clock.reading(at(7)), clock.reading(at(1)));
        clock.set_stopped(at(9), false);
        assert_eq!(clock.instant(at(9), deadline), Some(at(11)));
        assert_eq!(clock.reading(at(11)), deadline);
        // Past deadlines are due now.
        assert_eq!(clock.instant(at(20), deadline), Some(at(20)));
    }

    #[test]
    fn a_deadline_in_years_is_none() {
        let clock = SessionClock::default();
        let years = std::time::Duration::from_secs(10 * 365 * 24 * 3600);
        assert_eq!(clock.instant(Instant::ZERO, clock.reading(Instant::ZERO) + years), None);
    }
}
