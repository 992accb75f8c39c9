//! Pacing: the send time of the next packet.
//!
//! Packet i has a nominal send time t_i, and t_(i+1) = t_i + t_ipi (RFC 5348, Section 4.6). A sender that had
//! no data, or that was scheduled late, is behind its nominal times; it may catch up in a burst, but only on
//! send times missed within a bounded time, at most a round-trip time. With a coarse timer it may also be up
//! to t_delta early (Section 8.3). TFRC-SP has no such bursts: its packets keep a minimum spacing regardless
//! of missed send times (RFC 4828, Section 4.3).

use whimbrel_units::{Duration, Instant};

#[cfg(test)]
mod tests;

/// Paces packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pacer {
    /// t_i of the last packet sent.
    last: Option<Instant>,
    /// t_ipi.
    interval: Duration,
    /// Maximum age of missed send times that can still be used.
    credit: Duration,
    /// t_delta.
    early: Duration,
    /// Minimum time between packets, however late the last one was.
    spacing: Duration,
    /// Actual send time of the last packet.
    went: Instant,
}

impl Pacer {
    /// A pacer of packets `interval` apart, without catching up and without early packets.
    pub fn new(interval: Duration) -> Self {
        Self {
            last: None,
            interval,
            credit: Duration::ZERO,
            early: Duration::ZERO,
            spacing: Duration::ZERO,
            went: Instant::ZERO,
        }
    }

    /// Sets t_ipi, the validity of unused send times (T), and t_delta. A new t_ipi also applies to the wait
    /// in progress.
    pub fn adjust(&mut self, interval: Duration, credit: Duration, early: Duration) {
        *self = Self { interval, credit, early, ..*self };
    }

    /// Sets the minimum time between packets, which neither timer granularity nor missed send times reduce.
    /// Initially zero.
    pub fn set_spacing(&mut self, spacing: Duration) {
        self.spacing = spacing;
    }

    /// Drops send times missed until now: the next packet may be sent when it is due, or at once.
    pub fn forget_missed(&mut self, now: Instant) {
        self.last = self.last.map(|last| last.max(now.saturating_sub(self.interval)));
    }

    /// t_ipi.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// The earliest instant at which the next packet may be sent: in the past if it may be sent at once.
    #[inline]
    pub fn next_send_time(&self) -> Instant {
        match self.last {
            None => Instant::ZERO,
            Some(last) => (last + self.interval).saturating_sub(self.early).max(self.went + self.spacing),
        }
    }

    /// Processes the sending of a packet.
    #[inline]
    pub fn on_sent(&mut self, now: Instant) {
        self.last = Some(match self.last {
            None => now,
            Some(last) => (last + self.interval).max(now.saturating_sub(self.credit)),
        });
        self.went = now;
    }
}
