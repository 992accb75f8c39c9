//! Was the sender's rate what the application asked, or what it was allowed?
//!
//! A feedback's receive rate says little about the network if, over the whole interval it covers,
//! the sender had less to send than it was allowed to. RFC 5348, Section 8.2.1, remembers two
//! instants at which the sender was *not* so limited, one for the interval covered by the next
//! feedback and one for the time after, and asks whether either falls into the interval.

use whimbrel_units::{Duration, Instant};

#[cfg(test)]
mod tests;

/// The last instants at which the sender had sent all it might.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DataLimit {
    /// NotLimited1: meant for the interval that the next feedback covers.
    first: Option<Instant>,
    /// NotLimited2: meant for the time after that interval.
    second: Option<Instant>,
    /// t_new: when the newest packet reported so far was sent.
    reported: Option<Instant>,
    /// t_next: when the last feedback arrived.
    feedback: Option<Instant>,
}

impl DataLimit {
    /// A packet was sent, and with it all that may be sent at `now`.
    #[inline]
    pub fn on_allowance_used(&mut self, now: Instant) {
        if self.first <= self.reported {
            self.first = Some(now);
        } else if self.second <= self.feedback {
            self.second = Some(now);
        }
    }

    /// A feedback arrived, which covers the packets sent in the `rtt` up to and at `reported`. Says
    /// whether the sender was data-limited all that time.
    pub fn on_feedback(&mut self, now: Instant, reported: Instant, rtt: Duration) -> bool {
        // Of an instant as early as the clock's epoch, t_old is before the epoch.
        let begin = (reported.as_nanos() >= rtt.as_nanos()).then(|| reported.saturating_sub(rtt));
        let covered = |at: Option<Instant>| at.is_some() && begin < at && at <= Some(reported);
        let limited = !covered(self.first) && !covered(self.second);
        self.reported = Some(reported);
        self.feedback = Some(now);
        if self.first <= self.reported && self.second > self.reported {
            self.first = self.second;
        }
        limited
    }
}
