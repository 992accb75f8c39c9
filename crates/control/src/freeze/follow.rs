//! The second way to end probing: the receive rate no longer follows the send rate.
//!
//! A path that is not full delivers what it is given, so that X_recv is the rate of the packets that a report covers,
//! whatever single ones were lost on the way. A full one delivers its capacity. Each doubling asks the question anew: was the
//! double carried? X_recv is then somewhere between half the rate, where nothing of it was, and the whole. The threshold
//! is halfway between, as a ratio: 1/sqrt(2). A report of few packets may be one packet off, which is added.
//!
//! A report can only answer for packets sent at the new rate, so that the sender keeps when it raised its rate and
//! goes back by as much as the receiver measures over: to the last report at least a round-trip time before this one, as
//! [`ReceiveRateMeter`](crate::tfrc::receive_rate::ReceiveRateMeter) does, and from what that covered.
//!
//! An application may send less than the rate allows. X_recv is then compared with what it did send in that time: a path narrower
//! than that is found as well, before its queue has overflowed for long.

use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

use super::sent_curve::SentCurve;

#[cfg(test)]
mod tests;

/// 1/sqrt(2): halfway between all of a doubling and nothing of it.
pub(super) const CARRIED: f64 = core::f64::consts::FRAC_1_SQRT_2;

/// X_recv as a part of what was sent, from which on a path is taken to carry all of it.
const ALL: f64 = 0.9;

/// Reports come by the receiver's clock: one that is early by this part of a round-trip time covers one all the same.
const GRACE: u64 = 16;

/// How much of what was sent the receive rate shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Coverage {
    /// All of it.
    Whole,
    /// More than the line, and not clearly all.
    Most,
    /// Less: the path is full.
    Part,
}

/// Whether the receive rate follows the send rate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Follow {
    /// When the allowed rate was changed, and to what; the newest last.
    steps: [(Instant, DataRate); Self::KEPT],
    step_count: usize,
    /// When the latest reports came, and when the last packets that they covered were sent; the newest last.
    reported: [(Instant, Instant); Self::KEPT],
    report_count: usize,
    sent: SentCurve,
}

impl Follow {
    const KEPT: usize = 8;
    /// How finely sending times are told apart.
    const GRAIN: Duration = Duration::from_millis(1);

    /// From `now` on, packets leave at `rate`.
    pub fn new(now: Instant, rate: DataRate) -> Self {
        Self {
            steps: [(now, rate); Self::KEPT],
            step_count: 1,
            reported: [(now, now); Self::KEPT],
            report_count: 0,
            sent: SentCurve::new(now, Self::GRAIN),
        }
    }

    /// A packet with `size` of application data is being sent.
    pub fn on_sent(&mut self, now: Instant, size: ByteCount) {
        self.sent.on_sent(now, size);
    }

    /// The allowed rate is another from `now` on.
    pub fn on_rate(&mut self, now: Instant, rate: DataRate) {
        if self.steps[self.step_count - 1].1 != rate {
            push(&mut self.steps, &mut self.step_count, (now, rate));
        }
    }

    /// A report came at `now` that covers packets up to one sent at `sent`, with that X_recv. How much was carried; `None`
    /// as long as the report also covers packets from before.
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

    /// The rate of the packets sent after `from`, up to `to`. They arrived over at least a round-trip time; where they left within
    /// much less, the path has spread them.
    fn offered(&self, from: Instant, to: Instant, rtt: Duration) -> DataRate {
        self.sent.between(from, to) / (to - from).max(rtt / 2)
    }

    /// The lowest rate in force since `from`, where all of that is known.
    fn least_since(&self, from: Instant) -> Option<DataRate> {
        let steps = &self.steps[..self.step_count];
        let first = steps.iter().rposition(|(at, _)| *at <= from)?;
        // A step that was forgotten cannot matter: there are fewer within a round-trip time.
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
