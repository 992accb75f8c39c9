//! Second criterion for the end of probing: the receive rate no longer follows the send rate.
//!
//! A path that is not full delivers all packets, so that X_recv is the rate of the packets that a report
//! covers, apart from single losses. A full path delivers its capacity. Each doubling of the rate tests this
//! again: X_recv is between half of the rate, if nothing of the increase was carried, and the whole. The
//! threshold is the geometric mean: 1/sqrt(2). The receive rate in a report of few packets may be short by
//! one packet, which is added.
//!
//! A report must cover packets sent at the new rate only, so that the sender records its rate changes and
//! looks back by as much as the receiver measures over: to the last report at least a round-trip time before
//! this one, as [`ReceiveRateMeter`](crate::tfrc::receive_rate::ReceiveRateMeter) does, and from the last
//! packet covered by it.
//!
//! An application may send less than the rate allows. X_recv is then compared with the data sent in that
//! time: a narrower path is detected as well, before its queue has overflowed for long.

use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

use super::sent_curve::SentCurve;

#[cfg(test)]
mod tests;

/// 1/sqrt(2): geometric mean of all and of half of a doubled rate.
pub(super) const CARRIED: f64 = core::f64::consts::FRAC_1_SQRT_2;

/// Ratio of X_recv to the rate sent from which a path is assumed to carry all of it.
const ALL: f64 = 0.9;

/// Reports are timed by the receiver's clock: one that is early by this fraction of a round-trip time still
/// covers one.
const GRACE: u64 = 16;

/// Share of the sent data that the receive rate shows as carried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coverage {
    /// All of it.
    Whole,
    /// More than the threshold, but not clearly all.
    Most,
    /// Less than the threshold: the path is full.
    Part,
}

/// Compares the receive rate with the send rate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Follow {
    /// Times and values of the changes of the allowed rate; the newest last.
    steps: [(Instant, DataRate); Self::KEPT],
    step_count: usize,
    /// Arrival times of the latest reports, and send times of the last packets that they covered; the newest
    /// last.
    reported: [(Instant, Instant); Self::KEPT],
    report_count: usize,
    sent: SentCurve,
}

impl Follow {
    const KEPT: usize = 8;
    /// Resolution of sending times.
    const GRAIN: Duration = Duration::from_millis(1);

    /// Starts at `now` with packets sent at `rate`.
    pub fn new(now: Instant, rate: DataRate) -> Self {
        Self {
            steps: [(now, rate); Self::KEPT],
            step_count: 1,
            reported: [(now, now); Self::KEPT],
            report_count: 0,
            sent: SentCurve::new(now, Self::GRAIN),
        }
    }

    /// Processes the sending of a packet with `size` of application data.
    pub fn on_sent(&mut self, now: Instant, size: ByteCount) {
        self.sent.on_sent(now, size);
    }

    /// Sets the allowed rate from `now` on.
    pub fn on_rate(&mut self, now: Instant, rate: DataRate) {
        if self.steps[self.step_count - 1].1 != rate {
            push(&mut self.steps, &mut self.step_count, (now, rate));
        }
    }

    /// Processes a report that arrived at `now` and covers packets up to the one sent at `sent`. Returns the
    /// share that was carried; `None` as long as the report also covers packets from before the start.
    pub fn on_report(
        &mut self,
        now: Instant,
        sent: Instant,
        receive_rate: DataRate,
        rtt: Duration,
        packet: ByteCount,
    ) -> Option<Coverage> {
        let long_ago = |(came, _): &&(Instant, Instant)| *came + rtt <= now + rtt / GRACE;
        let from = self.reported[..self.report_count].iter().rev().find(long_ago).copied();
        push(&mut self.reported, &mut self.report_count, (now, sent));
        let from = from?.1;
        let asked = self.least_since(from)?.min(self.offered(from, sent, rtt));
        Some(if receive_rate >= asked * ALL {
            Coverage::Whole
        } else if receive_rate + packet / rtt >= asked * CARRIED {
            Coverage::Most
        } else {
            Coverage::Part
        })
    }

    /// Rate of the packets sent after `from`, up to `to`. They arrived over at least a round-trip time; if
    /// they were sent within much less, the path has spread them.
    fn offered(&self, from: Instant, to: Instant, rtt: Duration) -> DataRate {
        self.sent.between(from, to) / (to - from).max(rtt / 2)
    }

    /// The lowest rate in force since `from`; `None` if it is not completely recorded.
    fn least_since(&self, from: Instant) -> Option<DataRate> {
        let steps = &self.steps[..self.step_count];
        let first = steps.iter().rposition(|(at, _)| *at <= from)?;
        // Dropped steps have no effect: there are fewer than this within a round-trip time.
        Some(steps[first..].iter().fold(DataRate::INFINITE, |least, (_, rate)| least.min(*rate)))
    }
}

fn push<T: Copy, const N: usize>(list: &mut [T; N], len: &mut usize, item: T) {
    if *len == N {
        list.copy_within(1.., 0);
        *len -= 1;
    }
    list[*len] = item;
    *len += 1;
}
