//! When the next packet may go.
//!
//! Packet i has a nominal send time t_i, and t_(i+1) = t_i + t_ipi (RFC 5348, Section 4.6). A sender
//! that had nothing to send, or that woke late, is behind its nominal times; it may catch up in a
//! burst, but only on what it missed within a bounded time, at most a round-trip time. With a timer
//! of coarse grain it may also be up to t_delta early (Section 8.3). TFRC-SP knows no such bursts: its
//! packets keep a spacing whatever was missed (RFC 4828, Section 4.3).

use whimbrel_units::{Duration, Instant};

#[cfg(test)]
mod tests;

/// Spaces packets out in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pacer {
    /// t_i of the last packet sent.
    last: Option<Instant>,
    /// t_ipi.
    interval: Duration,
    /// How far back missed send times can still be used.
    credit: Duration,
    /// t_delta.
    early: Duration,
    /// The least time between packets, however late the last one was.
    spacing: Duration,
    /// When the last packet really went.
    went: Instant,
}

impl Pacer {
    /// A pacer of packets `interval` apart that neither catches up nor is early.
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

    /// Sets t_ipi, the time over which unused send times stay valid (T), and t_delta. A new t_ipi
    /// applies to the wait that is going on, too.
    pub fn adjust(&mut self, interval: Duration, credit: Duration, early: Duration) {
        *self = Self { interval, credit, early, ..*self };
    }

    /// Sets the least time between packets, which nothing shortens: not a timer's grain, nor what was
    /// missed. Zero to begin with.
    pub fn set_spacing(&mut self, spacing: Duration) {
        self.spacing = spacing;
    }

    /// Send times missed until now are lost: the next packet may go when it is due, or at once.
    pub fn forget_missed(&mut self, now: Instant) {
        self.last = self.last.map(|last| last.max(now.saturating_sub(self.interval)));
    }

    /// t_ipi.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// The earliest instant at which the next packet may go: in the past if it may go at once.
    #[inline]
    pub fn next_send_time(&self) -> Instant {
        match self.last {
            None => Instant::ZERO,
            Some(last) => (last + self.interval).saturating_sub(self.early).max(self.went + self.spacing),
        }
    }

    /// A packet went.
    #[inline]
    pub fn on_sent(&mut self, now: Instant) {
        self.last = Some(match self.last {
            None => now,
            Some(last) => (last + self.interval).max(now.saturating_sub(self.credit)),
        });
        self.went = now;
    }
}
