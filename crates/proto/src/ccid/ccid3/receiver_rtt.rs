//! The round-trip time as the receiver knows it.
//!
//! With the Send RTT Estimate feature on, the sender says it (RFC 6323). Without, the window counter
//! tells: it advances by four in a round-trip time, so the time between the first packets of
//! counters K and K + 4 is one (RFC 4342, Section 8.1). Until either is there, the handshake's will do.

use whimbrel_control::tfrc::UNKNOWN_RTT;
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::tfrc::RttEstimate;

use super::window_counter::ahead;

#[cfg(test)]
mod tests;

/// t_mbi: what the estimate is backed off to at most (RFC 6323, Section 3.4).
const MAX_BACKOFF: Duration = Duration::from_secs(64);
/// How many counter values back the first arrival is remembered: four make a round-trip time.
const REMEMBERED: usize = 5;

/// The receiver's estimate of the round-trip time.
#[derive(Clone, Debug, Default)]
pub(super) struct ReceiverRtt {
    /// Whether the sender tells it.
    reported: bool,
    /// The moving average, if there was a sample.
    estimate: Option<Duration>,
    /// What the connection knew before.
    hint: Option<Duration>,
    /// Since when the sender has told none though it should.
    untold_since: Option<Instant>,
    arrivals: CounterArrivals,
}

impl ReceiverRtt {
    pub(super) fn new(hint: Option<Duration>) -> Self {
        Self { hint, ..Self::default() }
    }

    /// Whether the Send RTT Estimate feature is on.
    pub(super) fn is_told(&self) -> bool {
        self.reported
    }

    /// The Send RTT Estimate feature was switched.
    pub(super) fn set_reported(&mut self, reported: bool) {
        if self.reported != reported {
            // One estimate makes no good start for the other.
            self.hint = self.estimate.take().or(self.hint);
            self.reported = reported;
        }
    }

    /// The connection's own estimate, until there is a better one.
    pub(super) fn on_hint(&mut self, hint: Option<Duration>) {
        if self.estimate.is_none() && hint.is_some() {
            self.hint = hint;
        }
    }

    /// The estimate to work with: RFC 6323, Section 3.4, gives half a second where nothing is known.
    pub(super) fn value(&self) -> Duration {
        self.estimate.or(self.hint).unwrap_or(UNKNOWN_RTT)
    }

    /// The estimate, if it is more than a default.
    pub(super) fn known(&self) -> Option<Duration> {
        self.estimate.or(self.hint)
    }

    /// An RTT Estimate option arrived.
    pub(super) fn on_option(&mut self, now: Instant, option: RttEstimate) {
        if !self.reported {
            return;
        }
        if let Some(nanos) = option.nanos() {
            self.untold_since = None;
            self.on_sample(Duration::from_nanos(nanos));
            return;
        }
        // RFC 6323, Section 3.4: long silence doubles it.
        let since = *self.untold_since.get_or_insert(now);
        if now - since > self.value() {
            self.estimate = Some((self.value() * 2).min(MAX_BACKOFF));
            self.untold_since = Some(now);
        }
    }

    /// The sender has paused: the time since its last packets is no round-trip time.
    pub(super) fn on_pause(&mut self) {
        self.arrivals = CounterArrivals::default();
    }

    /// The sender restarts on a new path, and says its round-trip time. The own estimate may be that of the old path
    /// still: it moves slowly, and lost packets void its samples.
    pub(super) fn on_restart(&mut self, rtt: Duration) {
        self.estimate = Some(rtt);
        self.arrivals = CounterArrivals::default();
    }

    /// A data packet with window counter `counter` arrived, newer than all before. `adjacent`: and
    /// nothing is missing before it, so that the counter cannot have wrapped unseen.
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

/// T(I): when the first packet of each of the last window counters arrived.
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
    /// An arrival; gives a round-trip time sample if it completes one. `any`: even a less precise
    /// one, over two or three quarters.
    fn on_arrival(&mut self, now: Instant, counter: u8, adjacent: bool, any: bool) -> Option<Duration> {
        let step = self.last.replace(counter).map(|last| ahead(counter, last));
        match step {
            Some(0) if adjacent => return None,
            Some(step @ 1..=5) if adjacent => self.quarters += u64::from(step),
            // Packets are missing, or the counter leapt or went back: this packet need not be the
            // first with its counter.
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

    /// (T(K + D) - T(K)) 4/D for the first D of 4, 3, 2 that there is.
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
