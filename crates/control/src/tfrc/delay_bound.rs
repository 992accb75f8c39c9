//! The [delay-aware rate](DelayAware) as an upper bound of the rate of a [`TfrcSender`].
//!
//! The rate is the lesser of TFRC's X and the law's, which is at most twice the receive rate. X varies with
//! the loss events; if it were the ceiling of the law, the rate would be near the least X of the last minute,
//! since the law grows slowly while the queue is empty.
//!
//! In the law's slow start TFRC alone determines the rate, in slow start or not. It ends when the queueing
//! delay passes a quarter of the target, or with a mark. A loss without a queue does not end it: it is TFRC's
//! to answer.
//!
//! # Queueing delay
//!
//! A report gives one round-trip time sample, from the newest packet. [`QueueingDelay`] estimates the
//! queueing delay from these samples, with a baseline of 30 s. This has limits:
//!
//! - A queue of the reverse path counts. If other traffic keeps more than the target in it, the rate falls to
//!   one packet per round-trip time.
//! - The transmission time of a packet is part of the sample: sizes that vary are jitter.
//! - A medium that delays packets at random, such as 802.11 under contention, makes the mean cover more
//!   samples, each of which takes a round-trip time: the rate follows the path more slowly.
//! - A receiver can conceal a queue by an Elapsed Time that is too long, as it can from TFRC.
//!
//! # Interruptions
//!
//! The law begins anew, in slow start, after each restoration of the rate (a freeze has ended) and after a
//! time without reports, since the path may be another one, and TFRC's rate, which was reduced in the
//! meantime, grows by doubling. While the rate is being restored, it is not bounded.

use whimbrel_units::{DataRate, Duration, Instant};

use super::{DelayAware, DelayAwareConfig, DelayReport, QueueEstimate, QueueingDelay, TfrcSender};

#[cfg(test)]
mod tests;

/// Period of the baseline of the round-trip time samples: three reductions of the rate that empty the queue.
const BASE_PERIOD: Duration = Duration::from_secs(30);

/// Weight of a sample in the smoothed interval between reports.
const SMOOTHING: f64 = 1.0 / 8.0;

/// The part of a report that [`TfrcSender::on_feedback`] does not process.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BoundReport {
    /// Time of the report at the sender.
    pub now: Instant,
    /// Send time of the newest packet reported.
    pub last_data_sent: Instant,
    /// Its round-trip time sample, if there is one.
    pub sample: Option<Duration>,
    /// X_recv.
    pub receive_rate: DataRate,
    /// Share of the packets reported that were marked.
    pub marked: f64,
    /// Number of restorations of the rate so far.
    pub restorations: u64,
    /// `true` while the rate is being restored.
    pub is_restoring: bool,
}

/// The bound of a [`TfrcSender`].
#[derive(Clone, Debug)]
pub struct DelayBound {
    law: DelayAware,
    delay: QueueingDelay,
    /// Queueing delay at the last sample.
    estimate: QueueEstimate,
    /// Interval between reports, in seconds.
    interval: Option<f64>,
    last_report: Option<Instant>,
    /// `true` since an expiration of the nofeedback timer.
    is_silent: bool,
    /// Arrival time of the first report after that: the delay of packets sent before is no measure of the
    /// queue.
    resumed: Instant,
    restorations: u64,
}

impl DelayBound {
    /// The bound before any report: none.
    pub fn new(config: DelayAwareConfig) -> Self {
        Self {
            law: DelayAware::new(config, DataRate::ZERO),
            delay: QueueingDelay::new(config.target, BASE_PERIOD),
            estimate: QueueEstimate::EMPTY,
            interval: None,
            last_report: None,
            is_silent: false,
            resumed: Instant::ZERO,
            restorations: 0,
        }
    }

    /// Queueing delay of the last report.
    pub const fn queueing_delay(&self) -> Duration {
        self.estimate.queueing
    }

    /// `true` while the rate is not bounded.
    pub const fn is_in_slow_start(&self) -> bool {
        self.law.is_in_slow_start()
    }

    /// Processes a report that `sender` has processed, and bounds its rate.
    pub fn on_report(&mut self, sender: &mut TfrcSender, report: &BoundReport) {
        let now = report.now;
        if core::mem::replace(&mut self.restorations, report.restorations) != report.restorations {
            self.on_path_change(sender);
        }
        if core::mem::take(&mut self.is_silent) {
            self.law.restart(sender.unbounded_rate());
            self.resumed = now;
            sender.set_bound(DataRate::INFINITE);
        }
        let elapsed = self.last_report.replace(now).map(|last| now.saturating_since(last).as_secs_f64());
        let Some(rtt) = sender.rtt() else { return };
        // The first report has no receive rate.
        if report.is_restoring || report.last_data_sent < self.resumed || report.receive_rate.is_zero() {
            return;
        }
        let interval = match (self.interval, elapsed) {
            (Some(interval), Some(elapsed)) => interval + SMOOTHING * (elapsed - interval),
            _ => rtt.as_secs_f64(),
        };
        self.interval = Some(interval);
        self.estimate = match report.sample {
            Some(sample) => self.delay.on_sample(now, i64::try_from(sample.as_nanos()).unwrap_or(i64::MAX)),
            None => QueueEstimate { change: 0.0, ..self.estimate },
        };
        if self.law.is_in_slow_start() {
            // TFRC doubles X once per round-trip time, and Faster Restart increases it fourfold: the law
            // follows.
            self.law.restart(sender.unbounded_rate());
        }
        let report = DelayReport {
            now,
            rtt,
            interval: Duration::from_secs_f64(interval),
            queueing: self.estimate.queueing,
            change: self.estimate.change,
            lag: Duration::from_secs_f64(self.estimate.lag * interval),
            received: report.receive_rate,
            marked: report.marked,
            loss_event: false,
            ceiling: sender.receive_limit(),
            packet_size: sender.packet_size(),
        };
        let rate = self.law.on_report(&report, least(sender, rtt), DataRate::INFINITE);
        sender.set_bound(if self.law.is_in_slow_start() { DataRate::INFINITE } else { rate });
    }

    /// Processes an expiration of the nofeedback timer that has reduced the rate of `sender`: X_recv limits X
    /// to twice the rate at most, so that half of X is no reduction.
    pub fn on_nofeedback(&mut self, sender: &mut TfrcSender) {
        self.is_silent = true;
        if let (false, Some(rtt)) = (self.law.is_in_slow_start(), sender.rtt()) {
            sender.set_bound(self.law.halve(least(sender, rtt)));
        }
    }

    /// Forgets the path: the law begins anew, in slow start.
    pub fn on_path_change(&mut self, sender: &mut TfrcSender) {
        self.delay.clear();
        self.estimate = QueueEstimate::EMPTY;
        self.law.on_path_change();
        self.law.restart(sender.allowed_rate());
        sender.set_bound(DataRate::INFINITE);
    }
}

/// The least rate of the law: a packet per round-trip time. TFRC's X may be lower.
fn least(sender: &TfrcSender, rtt: Duration) -> DataRate {
    sender.packet_size() / rtt
}
