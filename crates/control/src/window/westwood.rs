//! Westwood+: after a loss the window is what the measured bandwidth needs (Grieco and Mascolo, CCR 34(2),
//! 2004).

use whimbrel_units::{Duration, Instant};

use super::{Acknowledgement, CongestionCause, CongestionSignal, Delivery, NewReno, Window, WindowLaw};

/// The low-pass filter of the bandwidth samples.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BandwidthFilter {
    /// Nine tenths of the estimate and a tenth of the mean of the last two samples (Tustin's approximation,
    /// as in ns-3).
    Tustin,
    /// Two filters in series, each of seven eighths of its value and an eighth of its input (Linux).
    Cascade,
}

/// TCP Westwood+.
///
/// One bandwidth sample is taken in each round-trip time, of at least [`MIN_INTERVAL`](Self::MIN_INTERVAL):
/// the data delivered in it. On a loss, `ssthresh` becomes the product of the filtered bandwidth and the
/// least round-trip time, and `cwnd` the same if it was larger; on a timeout `cwnd` is one segment. The
/// growth is NewReno's.
///
/// Linux's Westwood+ ([`linux`](Self::linux)) halves the window during a recovery and sets `cwnd` and
/// `ssthresh` to that product at its end, so that a window that was halved below the product grows at once.
/// The burst can overflow a short queue.
#[derive(Clone, PartialEq, Debug)]
pub struct Westwood {
    reno: NewReno,
    filter: BandwidthFilter,
    /// `true` if the window is halved on a loss and set at the end of the recovery.
    sets_at_end: bool,
    least_rtt: Option<Duration>,
    last_rtt: Duration,
    /// Beginning of the sample, and segments delivered in it.
    since: Option<Instant>,
    delivered: f64,
    /// The previous sample (Tustin) or the value of the first filter, in segments per second.
    first: f64,
    /// The estimate, in segments per second; `None` before the first sample.
    bandwidth: Option<f64>,
}

impl Westwood {
    /// The shortest time of a sample.
    pub const MIN_INTERVAL: Duration = Duration::from_millis(50);

    /// Westwood+ with that filter, and the growth of RFC 5681.
    pub const fn plus(filter: BandwidthFilter) -> Self {
        Self::over(NewReno::rfc5681(), filter)
    }

    /// Westwood+ with that filter, and the slow start and growth of `reno`.
    pub const fn over(reno: NewReno, filter: BandwidthFilter) -> Self {
        Self {
            reno,
            filter,
            sets_at_end: false,
            least_rtt: None,
            last_rtt: Duration::ZERO,
            since: None,
            delivered: 0.0,
            first: 0.0,
            bandwidth: None,
        }
    }

    /// Linux's Westwood+ with the growth of `reno`.
    pub const fn linux(reno: NewReno) -> Self {
        Self { sets_at_end: true, ..Self::over(reno, BandwidthFilter::Cascade) }
    }

    fn add_sample(&mut self, sample: f64) {
        let Some(bandwidth) = self.bandwidth else {
            (self.first, self.bandwidth) = (sample, Some(sample));
            return;
        };
        self.bandwidth = Some(match self.filter {
            BandwidthFilter::Tustin => {
                let mean = f64::midpoint(sample, self.first);
                self.first = sample;
                0.9 * bandwidth + 0.1 * mean
            }
            BandwidthFilter::Cascade => {
                self.first = (7.0 * self.first + sample) / 8.0;
                (7.0 * bandwidth + self.first) / 8.0
            }
        });
    }

    /// Segments that the bandwidth needs in flight; `None` while it is unknown.
    fn needed(&self) -> Option<f64> {
        Some((self.bandwidth? * self.least_rtt?.as_secs_f64()).max(2.0))
    }
}

impl WindowLaw for Westwood {
    fn name(&self) -> &'static str {
        "Westwood+"
    }

    fn on_delivery(&mut self, delivery: &Delivery) {
        if let Some(rtt) = delivery.rtt {
            self.least_rtt = Some(self.least_rtt.map_or(rtt, |least| least.min(rtt)));
            self.last_rtt = rtt;
        }
        let Some(since) = self.since else {
            // Data delivered at the beginning belong to the time before.
            self.since = Some(delivery.now);
            return;
        };
        self.delivered += delivery.delivered;
        let elapsed = delivery.now.saturating_since(since);
        if !self.last_rtt.is_zero() && elapsed >= self.last_rtt.max(Self::MIN_INTERVAL) {
            self.add_sample(self.delivered / elapsed.as_secs_f64());
            (self.since, self.delivered) = (Some(delivery.now), 0.0);
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Acknowledgement) {
        self.reno.on_ack(window, ack);
    }

    fn on_congestion(&mut self, window: &mut Window, signal: &CongestionSignal) {
        let needed = match signal.cause {
            CongestionCause::Loss if self.sets_at_end => None,
            _ => self.needed(),
        };
        let Some(needed) = needed else { return self.reno.on_congestion(window, signal) };
        window.ssthresh = needed;
        window.cwnd = window.cwnd.min(needed);
    }

    fn on_recovery_end(&mut self, window: &mut Window) {
        if let (true, Some(needed)) = (self.sets_at_end, self.needed()) {
            (window.cwnd, window.ssthresh) = (needed, needed);
        }
    }

    fn on_timeout(&mut self, window: &mut Window, signal: &CongestionSignal, repeated: bool) {
        self.reno.on_timeout(window, signal, repeated);
        if let (Some(needed), false) = (self.needed(), repeated) {
            window.ssthresh = needed;
        }
    }

    fn on_ack_ratio(&mut self, segments: f64) {
        self.reno.on_ack_ratio(segments);
    }
}

#[cfg(test)]
mod tests;
