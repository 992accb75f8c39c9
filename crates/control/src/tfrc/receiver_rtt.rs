//! The receiver's estimate of the round-trip time.
//!
//! The sender reports it (RFC 5348, Section 3.2.1; RFC 6323), or it is measured by the window counter, which
//! advances by four per round-trip time: the time between the first packets of counters K and K + 4 is one
//! (RFC 4342, Section 8.1). Until then another source is used, such as the handshake.

use whimbrel_units::{Duration, Instant};

use super::round_trip::{MIN_RTT, is_much_shorter};
use super::window_counter::ahead;

#[cfg(test)]
mod tests;

/// t_mbi: upper bound on the backed-off estimate (RFC 6323, Section 3.4).
const MAX_BACKOFF: Duration = Duration::from_secs(64);
/// Number of counter values whose first arrival is stored: four make a round-trip time.
const REMEMBERED: usize = 5;

/// Round-trip time assumed while nothing is known (RFC 6323, Section 3.4).
pub const UNKNOWN_RTT: Duration = Duration::from_millis(500);

/// Source of a receiver's round-trip time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RttSource {
    /// The window counter of data packets (RFC 4342, Section 8.1).
    #[default]
    WindowCounter,
    /// A moving average of the sender's reports (RFC 6323, Section 3.4).
    Average,
    /// The sender's latest report (RFC 5348, Section 6.2). Until there is one, each packet is answered
    /// (Section 6.3).
    Latest,
}

/// The receiver's estimate of the round-trip time.
#[derive(Clone, Debug, Default)]
pub struct ReceiverRtt {
    source: RttSource,
    /// The moving average, if there was a sample.
    estimate: Option<Duration>,
    /// The estimate of another source.
    hint: Option<Duration>,
    /// Time since which the sender has not reported it, contrary to the agreement.
    missing_since: Option<Instant>,
    /// A report or another source has replaced the estimate by a much shorter time.
    has_fallen: bool,
    /// A report of a much longer time replaces the estimate, too.
    follows_rises: bool,
    arrivals: CounterArrivals,
}

impl ReceiverRtt {
    pub(super) fn new(source: RttSource, hint: Option<Duration>) -> Self {
        Self { source, hint, ..Self::default() }
    }

    /// The same; a report of a much longer time replaces the estimate, too.
    pub(super) fn following_rises(self, follows_rises: bool) -> Self {
        Self { follows_rises, ..self }
    }

    /// `true` if the sender reports it.
    pub fn is_reported(&self) -> bool {
        self.source != RttSource::WindowCounter
    }

    /// Changes the source.
    pub fn set_source(&mut self, source: RttSource) {
        if self.source != source {
            // The average of one kind of sample does not start the other's.
            self.hint = self.estimate.take().or(self.hint);
            self.source = source;
        }
    }

    /// Sets the estimate of another source, which is used until there is a better one.
    pub fn on_hint(&mut self, hint: Option<Duration>) {
        if self.estimate.is_none()
            && let Some(hint) = hint
        {
            self.has_fallen |= self.is_reported() && self.falls(hint);
            self.hint = Some(hint);
        }
    }

    /// `true` if that is much shorter than the estimate so far.
    fn falls(&self, rtt: Duration) -> bool {
        self.known().is_some_and(|known| is_much_shorter(rtt, known))
    }

    /// The estimate to use: half a second if nothing is known (RFC 6323, Section 3.4).
    pub fn value(&self) -> Duration {
        self.estimate.or(self.hint).unwrap_or(UNKNOWN_RTT)
    }

    /// The estimate, unless it is a default.
    pub fn known(&self) -> Option<Duration> {
        self.estimate.or(self.hint)
    }

    /// The time for the feedback timer; `None` if the timer must not run, because the round-trip time is not
    /// known.
    pub(super) fn timer(&self) -> Option<Duration> {
        match self.source {
            RttSource::Latest => self.known(),
            RttSource::WindowCounter | RttSource::Average => Some(self.value()),
        }
    }

    /// Processes the newest packet's R_i, which replaces the estimate (RFC 5348, Section 6.2).
    pub(super) fn on_latest(&mut self, rtt: Duration) {
        if self.source == RttSource::Latest {
            self.estimate = Some(rtt.max(MIN_RTT));
        }
    }

    /// Processes a report of the sender; `None` if the sender has no estimate.
    pub fn on_report(&mut self, now: Instant, report: Option<Duration>) {
        if self.source != RttSource::Average {
            return;
        }
        if let Some(rtt) = report {
            self.missing_since = None;
            // The sender reports an average. One that is so much lower is not noise, but another estimate:
            // the first of data after a handshake in which a radio woke up, or after a change of path. A much
            // higher one shows that a queue has filled at once.
            if self.falls(rtt) {
                (self.estimate, self.has_fallen) = (Some(rtt), true);
            } else if self.follows_rises && self.known().is_some_and(|known| is_much_shorter(known, rtt)) {
                self.estimate = Some(rtt);
            } else {
                self.on_sample(rtt);
            }
            return;
        }
        // RFC 6323, Section 3.4: a long time without reports doubles it.
        let since = *self.missing_since.get_or_insert(now);
        if now - since > self.value() {
            self.estimate = Some((self.value() * 2).min(MAX_BACKOFF));
            self.missing_since = Some(now);
        }
    }

    /// `true` once after the estimate was replaced by a much shorter time.
    pub(super) fn take_fall(&mut self) -> bool {
        core::mem::take(&mut self.has_fallen)
    }

    /// The sender has paused: the time since its last packets is no sample.
    pub(crate) fn on_pause(&mut self) {
        self.arrivals = CounterArrivals::default();
    }

    /// The sender restarts on a new path, and reports its round-trip time. The receiver's own estimate may
    /// still be the old path's: it changes slowly, and lost packets invalidate its samples.
    pub(super) fn on_restart(&mut self, rtt: Duration) {
        self.estimate = Some(rtt);
        self.arrivals = CounterArrivals::default();
    }

    /// Processes a data packet with window counter `counter`, newer than all before. `adjacent`: no packet is
    /// missing before it, so that an undetected wrap of the counter is impossible.
    pub(super) fn on_counter(&mut self, now: Instant, counter: u8, adjacent: bool) {
        if self.is_reported() {
            return;
        }
        let any = self.estimate.is_none();
        if let Some(sample) = self.arrivals.on_arrival(now, counter, adjacent, any) {
            self.on_sample(sample);
        }
    }

    fn on_sample(&mut self, sample: Duration) {
        self.estimate = Some(match self.estimate {
            // The filter of RFC 5348, Section 4.3.
            Some(estimate) => (estimate * 9 + sample) / 10,
            None => sample,
        });
    }
}

/// T(I): arrival times of the first packet of each of the last window counters.
#[derive(Clone, Debug, Default)]
struct CounterArrivals {
    last: Option<u8>,
    /// Quarters counted so far: the counter without its modulus.
    quarters: u64,
    /// The last values of it and their first arrivals, the newest at the end.
    firsts: [(u64, Instant); REMEMBERED],
    len: usize,
}

impl CounterArrivals {
    /// Processes an arrival; returns a round-trip time sample if it completes one. `any`: permits a less
    /// precise one, over two or three quarters.
    fn on_arrival(&mut self, now: Instant, counter: u8, adjacent: bool, any: bool) -> Option<Duration> {
        let step = self.last.replace(counter).map(|last| ahead(counter, last));
        match step {
            Some(0) if adjacent => return None,
            Some(step @ 1..=5) if adjacent => self.quarters += u64::from(step),
            // Packets are missing, or the counter jumped or went back: this packet need not be the first with
            // its counter.
            _ => {
                self.len = 0;
                return None;
            }
        }
        let sample = self.sample(now, any);
        if self.len == REMEMBERED {
            self.firsts.copy_within(1.., 0);
            self.len -= 1;
        }
        self.firsts[self.len] = (self.quarters, now);
        self.len += 1;
        sample
    }

    /// (T(K + D) - T(K)) 4/D for the first available D of 4, 3, 2.
    fn sample(&self, now: Instant, any: bool) -> Option<Duration> {
        let first = |d: u64| {
            let firsts = &self.firsts[..self.len];
            firsts.iter().find(|(quarters, _)| quarters + d == self.quarters).map(|(_, at)| (d, *at))
        };
        let less_precise = || if any { first(3).or_else(|| first(2)) } else { None };
        let (d, at) = first(4).or_else(less_precise)?;
        Some((now - at) * 4 / d)
    }
}
