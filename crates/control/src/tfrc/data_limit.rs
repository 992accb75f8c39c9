//! Detection of data-limited intervals.
//!
//! The receive rate in a feedback is no measure of the network if the sender had less data than it was
//! allowed to send over the whole interval covered. RFC 5348, Section 8.2.1, records two instants at which
//! the sender was *not* data-limited, one for the interval covered by the next feedback and one for the time
//! after, and checks if either falls into the interval.

use whimbrel_units::{Duration, Instant};

#[cfg(test)]
mod tests;

/// Last instants at which the sender had sent all that was allowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DataLimit {
    /// NotLimited1: for the interval covered by the next feedback.
    first: Option<Instant>,
    /// NotLimited2: for the time after that interval.
    second: Option<Instant>,
    /// t_new: send time of the newest packet reported so far.
    reported: Option<Instant>,
    /// t_next: arrival time of the last feedback.
    feedback: Option<Instant>,
}

impl DataLimit {
    /// Processes the sending of a packet that used up all that is allowed at `now`.
    #[inline]
    pub fn on_allowance_used(&mut self, now: Instant) {
        if self.first <= self.reported {
            self.first = Some(now);
        } else if self.second <= self.feedback {
            self.second = Some(now);
        }
    }

    /// Processes a feedback that covers the packets sent in the `rtt` up to and at `reported`. Returns `true`
    /// if the sender was data-limited during all of that time.
    pub fn on_feedback(&mut self, now: Instant, reported: Instant, rtt: Duration) -> bool {
        // If `reported` is close to the epoch of the clock, t_old is before the epoch.
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
