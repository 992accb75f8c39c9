//! Automatic rate fallback.

use whimbrel_units::{Duration, Instant};

/// Automatic rate fallback (A. Kamerman, L. Monteban, "WaveLAN-II: a high-performance wireless LAN for the
/// unlicensed band", Bell Labs Technical Journal 2(3), 1997).
///
/// The rate rises by a step after `successes` acknowledgements in succession, or when `timer` has passed
/// since it last fell. The first frame at the higher rate is on probation: if it is not acknowledged, the
/// rate falls back at once. Apart from that the rate falls by a step when `failures` transmissions in
/// succession are not acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arf {
    /// Acknowledgements in succession after which the rate rises.
    pub successes: u16,
    /// Missing acknowledgements in succession after which the rate falls.
    pub failures: u16,
    /// Time after a fall at which the rate rises, regardless of acknowledgements.
    pub timer: Duration,
}

impl Default for Arf {
    /// 10 successes and 2 failures, as in the paper; the timer of 60 ms is our choice.
    fn default() -> Self {
        Self { successes: 10, failures: 2, timer: Duration::from_millis(60) }
    }
}

/// State for one receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ArfState {
    /// Place of the rate in the ladder.
    place: usize,
    successes: u16,
    failures: u16,
    /// The rate has risen and no frame at it has been acknowledged.
    is_on_probation: bool,
    /// Time at which the rate rises.
    rises_at: Option<Instant>,
}

impl ArfState {
    pub(super) const fn new(place: usize) -> Self {
        Self { place, successes: 0, failures: 0, is_on_probation: false, rises_at: None }
    }

    pub(super) const fn place(&self) -> usize {
        self.place
    }

    /// A new payload: the timer may have expired.
    pub(super) fn begin(&mut self, now: Instant, _arf: Arf, rates: usize) {
        if self.rises_at.is_some_and(|at| at <= now) {
            self.rise(rates);
        }
    }

    pub(super) fn handle_success(&mut self, arf: Arf, rates: usize) {
        self.failures = 0;
        self.is_on_probation = false;
        self.successes += 1;
        if self.successes >= arf.successes {
            self.rise(rates);
        }
    }

    pub(super) fn handle_failure(&mut self, now: Instant, arf: Arf) {
        self.successes = 0;
        self.failures += 1;
        if self.is_on_probation || self.failures >= arf.failures {
            self.failures = 0;
            self.is_on_probation = false;
            self.place = self.place.saturating_sub(1);
            self.rises_at = Some(now + arf.timer);
        }
    }

    fn rise(&mut self, rates: usize) {
        self.successes = 0;
        self.rises_at = None;
        if self.place + 1 < rates {
            self.place += 1;
            self.failures = 0;
            self.is_on_probation = true;
        }
    }
}
