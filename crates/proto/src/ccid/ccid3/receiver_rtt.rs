//! The receiver's estimate of the round-trip time.
//!
//! With the Send RTT Estimate feature on, the sender reports it (RFC 6323). Otherwise it is measured by the window
//! counter, which advances by four per round-trip time: the time between the first packets of counters K and K + 4 is
//! one (RFC 4342, Section 8.1). Until then the handshake's is used.

use whimbrel_control::tfrc::UNKNOWN_RTT;
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::tfrc::RttEstimate;

use super::window_counter::ahead;

#[cfg(test)]
mod tests;

/// t_mbi: upper bound on the backed-off estimate (RFC 6323, Section 3.4).
const MAX_BACKOFF: Duration = Duration::from_secs(64);
/// Number of counter values whose first arrival is stored: four make a round-trip time.
const REMEMBERED: usize = 5;

/// The receiver's estimate of the round-trip time.
#[derive(Clone, Debug, Default)]
pub(super) struct ReceiverRtt {
    /// `true` if the sender reports it.
    reported: bool,
    /// The moving average, if there was a sample.
    estimate: Option<Duration>,
    /// The connection's estimate.
    hint: Option<Duration>,
    /// Time since which the sender has not reported it, contrary to the feature.
    missing_since: Option<Instant>,
    arrivals: CounterArrivals,
}

impl ReceiverRtt {
    pub(super) fn new(hint: Option<Duration>) -> Self {
        Self { hint, ..Self::default() }
    }

    /// `true` if the Send RTT Estimate feature is on.
    pub(super) fn is_reported(&self) -> bool {
        self.reported
    }

    /// Sets the Send RTT Estimate feature.
    pub(super) fn set_reported(&mut self, reported: bool) {
        if self.reported != reported {
            // The average of one kind of sample does not start that of the other.
            self.hint = self.estimate.take().or(self.hint);
            self.reported = reported;
        }
    }

    /// Sets the connection's own estimate, which is used until there is a better one.
    pub(super) fn on_hint(&mut self, hint: Option<Duration>) {
        if self.estimate.is_none() && hint.is_some() {
            self.hint = hint;
        }
    }

    /// The estimate to use: half a second if nothing is known (RFC 6323, Section 3.4).
    pub(super) fn value(&self) -> Duration {
        self.estimate.or(self.hint).unwrap_or(UNKNOWN_RTT)
    }

    /// The estimate, unless it is a default.
    pub(super) fn known(&self) -> Option<Duration> {
        self.estimate.or(self.hint)
    }

    /// Processes an RTT Estimate option.
    pub(super) fn on_option(&mut self, now: Instant, option: RttEstimate) {
        if !self.reported {
            return;
        }
        if let Some(nanos) = option.nanos() {
            self.missing_since = None;
            self.on_sample(Duration::from_nanos(nanos));
            return;
        }
        // RFC 6323, Section 3.4: a long time without reports doubles it.
        let since = *self.missing_since.get_or_insert(now);
        if now - since > self.value() {
            self.estimate = Some((self.value() * 2).min(MAX_BACKOFF));
            self.missing_since = Some(now);
        }
    }

    /// The sender has paused: the time since its last packets is no sample.
    pub(super) fn on_pause(&mut self) {
        self.arrivals = CounterArrivals::default();
    }

    /// The sender restarts on a new path, and reports its round-trip time. The receiver's own estimate may still be
    /// that of the old path: it changes slowly, and lost packets invalidate its samples.
    pub(super) fn on_restart(&mut self, rtt: Duration) {
        self.estimate = Some(rtt);
        self.arrivals = CounterArrivals::default();
    }

    /// Processes a data packet with window counter `counter`, newer than all before. `adjacent`: no packet is missing
    /// before it, so that an undetected wrap of the counter is impossible.
    pub(super) fn on_counter(&mut self, now: Instant, counter: u8, adjacent: bool) {
        if self.reported {
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
    /// Processes an arrival; returns a round-trip time sample if it completes one. `any`: permits a less precise one,
    /// over two or three quarters.
    fn on_arrival(&mut self, now: Instant, counter: u8, adjacent: bool, any: bool) -> Option<Duration> {
        let step = self.last.replace(counter).map(|last| ahead(counter, last));
        match step {
            Some(0) if adjacent => return None,
            Some(step @ 1..=5) if adjacent => self.quarters += u64::from(step),
            // Packets are missing, or the counter jumped or went back: this packet need not be the first with its
            // counter.
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
