//! X_recv: the receive rate, measured by the receiver and recorded by the sender.
//!
//! The receiver reports with each feedback the rate at which data arrived over the last round-trip time or
//! more ([`ReceiveRateMeter`], RFC 5348, Section 6.2). The sender must not send at more than twice the
//! receive rate, but the receive rate also depends on the data that the application had to send; so it keeps
//! a few reports ([`ReceiveRateSet`], Section 4.3) and is limited by their maximum.

use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

#[cfg(test)]
mod tests;

/// A receive rate in data and in packets.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct ReceiveRate {
    /// Application data per time: X_recv.
    pub data: DataRate,
    /// Data packets per second.
    pub packets_per_second: f64,
}

/// Amounts received when a feedback was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Checkpoint {
    at: Instant,
    bytes: ByteCount,
    packets: u64,
}

/// Measures X_recv.
///
/// Counts the data received and keeps the counts at the last feedbacks, so that a measurement extends back to
/// a feedback at least a round-trip time ago (RFC 5348, Section 6.2, step 2, "for ease of implementation").
/// RFC 4342, Section 8.3, as corrected, requires the same.
#[derive(Clone, Debug)]
pub struct ReceiveRateMeter {
    bytes: ByteCount,
    packets: u64,
    /// Checkpoints, the newest last; the first is the newest that was old enough when the last one was added.
    checkpoints: [Checkpoint; Self::CHECKPOINTS],
    len: usize,
    peak_packets_per_second: f64,
}

impl ReceiveRateMeter {
    /// Number of checkpoints kept. More feedbacks within a round-trip time, which only a rapid series of loss
    /// events causes, lengthen the time measured over.
    const CHECKPOINTS: usize = 4;

    /// A meter for a stream whose first packet arrives at `now`.
    pub fn new(now: Instant) -> Self {
        let mut checkpoints = [Checkpoint::default(); Self::CHECKPOINTS];
        checkpoints[0].at = now;
        Self { bytes: ByteCount::ZERO, packets: 0, checkpoints, len: 1, peak_packets_per_second: 0.0 }
    }

    /// Counts a data packet with `size` of application data.
    #[inline]
    pub fn on_data(&mut self, size: ByteCount) {
        self.bytes += size;
        self.packets += 1;
    }

    /// Starts the measurement at the first feedback, which has nothing to measure: data received before does
    /// not count.
    pub fn begin(&mut self, now: Instant) {
        self.checkpoints[0] = Checkpoint { at: now, bytes: self.bytes, packets: self.packets };
        self.len = 1;
    }

    /// Processes an arrival after a time without any, in which the feedback timer expired without anything to
    /// report: the next measurement covers the last `rtt`, including the packet that is
    /// [counted](Self::on_data) next.
    ///
    /// In RFC 5348, Section 6.2, the timer continues to expire, and X_recv may be measured from one of these
    /// expirations instead of over exactly a round-trip time. Measured from the last feedback, X_recv would
    /// fall below a packet per round-trip time, "a minimum value" by that section, and after an outage be so
    /// low that the limit of 2 X_recv makes the sender wait as long again as the outage has lasted.
    ///
    /// Does nothing if the last feedback is more recent than `rtt`, as when the round-trip time has grown
    /// since the timer was set: data from before that feedback belong to the measurement.
    pub fn on_silence(&mut self, now: Instant, rtt: Duration) {
        let at = now.saturating_sub(rtt);
        if self.checkpoints[self.len - 1].at > at {
            return;
        }
        self.checkpoints[0] = Checkpoint { at, bytes: self.bytes, packets: self.packets };
        self.len = 1;
    }

    /// X_recv over at least the last `rtt`.
    pub fn measure(&self, now: Instant, rtt: Duration) -> ReceiveRate {
        let from = self.checkpoints[self.old_enough(now, rtt)];
        let time = f64::max((now - from.at).as_secs_f64(), rtt.as_secs_f64());
        if time <= 0.0 {
            return ReceiveRate::default();
        }
        ReceiveRate {
            data: DataRate::from_bytes_per_second((self.bytes - from.bytes).as_f64() / time),
            packets_per_second: (self.packets - from.packets) as f64 / time,
        }
    }

    /// Measures for a feedback that is being sent. A later measurement starts here, once this is long enough
    /// ago.
    pub fn on_feedback(&mut self, now: Instant, rtt: Duration) -> ReceiveRate {
        let rate = self.measure(now, rtt);
        self.peak_packets_per_second = self.peak_packets_per_second.max(rate.packets_per_second);
        self.forget(self.old_enough(now, rtt));
        // If all entries are in use, the last feedback but this one is dropped.
        self.len = (self.len + 1).min(Self::CHECKPOINTS);
        self.checkpoints[self.len - 1] = Checkpoint { at: now, bytes: self.bytes, packets: self.packets };
        rate
    }

    /// Maximum of the rate so far in data packets per second, including the last `rtt`: half of the
    /// rate sent before a first loss (RFC 5348, Section 6.3.1).
    pub fn peak_packets_per_second(&self, now: Instant, rtt: Duration) -> f64 {
        self.peak_packets_per_second.max(self.measure(now, rtt).packets_per_second)
    }

    /// Mean data per packet received.
    pub fn mean_size(&self) -> ByteCount {
        ByteCount::new(self.bytes.as_u64() / self.packets.max(1))
    }

    /// Total data received.
    pub fn total(&self) -> ByteCount {
        self.bytes
    }

    /// Index of the newest checkpoint at least `rtt` ago, or of the oldest.
    fn old_enough(&self, now: Instant, rtt: Duration) -> usize {
        let kept = &self.checkpoints[..self.len];
        kept.iter().rposition(|checkpoint| checkpoint.at + rtt <= now).unwrap_or(0)
    }

    fn forget(&mut self, count: usize) {
        self.checkpoints.copy_within(count..self.len, 0);
        self.len -= count;
    }
}

/// X_recv_set: the recent receive rates kept by the sender (RFC 5348, Section 4.3).
#[derive(Clone, Copy, Debug)]
pub struct ReceiveRateSet {
    /// Reports, the oldest first.
    reports: [(DataRate, Instant); Self::KEPT],
    len: usize,
}

impl ReceiveRateSet {
    /// N of RFC 5348, Section 8.2.2: two feedbacks and one more from a loss event.
    const KEPT: usize = 3;

    /// The set of a connection that begins at `now`: infinity, so that the rate is not limited for two
    /// round-trip times.
    pub fn new(now: Instant) -> Self {
        Self::single(now, DataRate::INFINITE)
    }

    fn single(now: Instant, rate: DataRate) -> Self {
        Self { reports: [(rate, now); Self::KEPT], len: 1 }
    }

    /// max(X_recv_set); infinite if nothing was reported yet.
    pub fn max(&self) -> DataRate {
        self.reports[..self.len].iter().fold(DataRate::ZERO, |max, &(rate, _)| max.max(rate))
    }

    /// Update X_recv_set(): adds a report and removes those older than two round-trip times.
    pub fn update(&mut self, now: Instant, rate: DataRate, rtt: Duration) {
        let keep = |&(_, at): &(DataRate, Instant)| now - at <= rtt * 2;
        let old = self.reports[..self.len].iter().position(keep).unwrap_or(self.len);
        // If all entries are in use, only the most recent are kept.
        let old = old.max((self.len + 1).saturating_sub(Self::KEPT));
        self.reports.copy_within(old..self.len, 0);
        self.len -= old;
        self.reports[self.len] = (rate, now);
        self.len += 1;
    }

    /// Maximize X_recv_set(): keeps only the maximum of the reports and the new one.
    pub fn maximize(&mut self, now: Instant, rate: DataRate) {
        let finite = self.reports[..self.len].iter().filter(|(kept, _)| *kept < DataRate::INFINITE);
        let greatest = finite.fold(rate, |max, &(kept, _)| max.max(kept));
        *self = Self::single(now, greatest);
    }

    /// Halves all entries, after a loss in a data-limited interval.
    pub fn halve(&mut self) {
        for (rate, _) in &mut self.reports[..self.len] {
            *rate = *rate / 2.0;
        }
    }

    /// Replaces the set by one rate.
    pub fn replace(&mut self, now: Instant, rate: DataRate) {
        *self = Self::single(now, rate);
    }
}
