//! IdleGap: the nominal rate times the share of idle time.

use whimbrel_units::{DataRate, Duration, Instant};

use super::{Estimate, FrameKind, Heard};

/// IdleGap (Lee et al., "Bandwidth estimation in wireless LANs for multimedia streaming services", Advances
/// in Multimedia 2007; paper `winf`, Section 2.1).
///
/// The idle rate is the share of the elapsed time in which neither a frame nor a NAV occupies the medium;
/// overlapping reservations count once. The capacity is assumed to be the `DataRate` of the header, taken
/// from the last data frame, without preambles, headers, spacing and backoff: the estimate is above any rate
/// that can be reached.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct IdleGap {
    data_rate: DataRate,
    start: Instant,
    /// Time until which the medium is known to be busy.
    busy_until: Instant,
    busy: Duration,
    /// Latest time observed.
    last: Instant,
}

impl IdleGap {
    /// A station that begins to observe at `start`, with the `DataRate` until a data frame reports another.
    pub fn new(data_rate: DataRate, start: Instant) -> Self {
        Self { data_rate, start, busy_until: start, busy: Duration::ZERO, last: start }
    }

    /// Processes a frame.
    pub fn on_heard(&mut self, heard: &Heard) {
        if let (FrameKind::Data, Some(rate)) = (heard.kind, heard.rate) {
            self.data_rate = rate;
        }
        let begin = heard.at.saturating_sub(heard.airtime).max(self.busy_until);
        let end = heard.at + heard.nav;
        self.busy += end.saturating_since(begin);
        self.busy_until = self.busy_until.max(end);
        self.last = self.last.max(heard.at);
    }

    /// The share of idle time from the start to `now`, in \[0, 1\]; 1 if no time has elapsed.
    pub fn idle_rate(&self, now: Instant) -> f64 {
        let now = now.max(self.last);
        let elapsed = now - self.start;
        // The part of a reservation that lies ahead.
        let busy = self.busy - self.busy_until.saturating_since(now);
        if elapsed.is_zero() { 1.0 } else { (1.0 - busy / elapsed).max(0.0) }
    }

    /// The estimate: `DataRate` and its idle share.
    pub fn estimate(&self, now: Instant) -> Estimate {
        Estimate { capacity: self.data_rate, available: self.data_rate * self.idle_rate(now) }
    }
}
