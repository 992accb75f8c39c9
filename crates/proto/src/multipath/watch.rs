//! The answers of a path.
//!
//! A path counts as failed when no data is acknowledged for a retransmission timeout (RFC 6298) while some
//! is outstanding. The time is measured between data and the acknowledgement that covers it, so that it
//! includes the time for which the peer's congestion control delays acknowledgements. A failed path is probed
//! by Syncs at growing intervals; a SyncAck, or an acknowledgement of data, shows that it works again in both
//! directions.

use whimbrel_control::window::rto::{RtoConfig, RttEstimator};
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::SeqNo;

/// Upper bound on the interval between probes.
const MAX_PROBE_INTERVAL: Duration = Duration::from_secs(4);

/// The outstanding data of a path, and its retransmission timeout.
#[derive(Debug)]
pub(super) struct PathWatch {
    estimator: RttEstimator,
    /// The oldest unacknowledged data.
    outstanding: Option<Outstanding>,
    /// The newest data sent.
    newest: SeqNo,
    /// The time at which they left; `None` once they are acknowledged.
    newest_at: Option<Instant>,
    /// The failure; `None` while the path is alive.
    failure: Option<Failure>,
}

#[derive(Clone, Copy, Debug)]
struct Outstanding {
    sequence: SeqNo,
    since: Instant,
    /// `true` if that packet left at `since`, so that its acknowledgement is a sample.
    is_fresh: bool,
}

#[derive(Clone, Copy, Debug)]
struct Failure {
    next_probe: Instant,
    interval: Duration,
}

impl PathWatch {
    pub(super) fn new(minimum: Duration) -> Self {
        let config = RtoConfig { minimum, ..RtoConfig::RFC6298 };
        Self {
            estimator: RttEstimator::new(config),
            outstanding: None,
            newest: SeqNo::ZERO,
            newest_at: None,
            failure: None,
        }
    }

    /// `true` unless the path has failed.
    pub(super) fn is_alive(&self) -> bool {
        self.failure.is_none()
    }

    /// Time by which the data under way has arrived, unless it is lost: a retransmission timeout
    /// after the newest.
    /// [`Instant::ZERO`] if all are acknowledged.
    pub(super) fn arrival_limit(&self) -> Instant {
        self.newest_at.map_or(Instant::ZERO, |sent| sent + self.timeout())
    }

    /// The current timeout.
    pub(super) fn timeout(&self) -> Duration {
        self.estimator.rto()
    }

    /// A sample of the round-trip time from the handshake.
    pub(super) fn on_handshake(&mut self, rtt: Duration) {
        self.estimator.on_sample(rtt);
    }

    /// Data is being sent in a packet with that number.
    pub(super) fn on_data_sent(&mut self, now: Instant, sequence: SeqNo) {
        (self.newest, self.newest_at) = (sequence, Some(now));
        if self.outstanding.is_none() {
            self.outstanding = Some(Outstanding { sequence, since: now, is_fresh: true });
        }
    }

    /// `true` if that number acknowledges no outstanding data.
    pub(super) fn has_unanswered(&self, acknowledged: SeqNo) -> bool {
        self.outstanding.is_none_or(|outstanding| acknowledged.is_before(outstanding.sequence))
    }

    /// All packets up to that number are acknowledged, or known to be lost. Returns `true` if the path had
    /// failed.
    #[must_use]
    pub(super) fn on_acknowledged(&mut self, now: Instant, acknowledged: SeqNo) -> bool {
        if !acknowledged.is_before(self.newest) {
            self.newest_at = None;
        }
        let Some(outstanding) = self.outstanding else { return false };
        if acknowledged.is_before(outstanding.sequence) {
            return false;
        }
        if outstanding.is_fresh {
            // After a failure that was none, the timeout has to grow, or each of the peer's delayed
            // acknowledgements would be another one. An outage must not raise it to its own length.
            let most = if self.failure.is_some() { self.timeout() * 2 } else { Duration::MAX };
            self.estimator.on_sample(now.saturating_since(outstanding.since).min(most));
        }
        let remains = acknowledged.is_before(self.newest);
        self.outstanding =
            remains.then(|| Outstanding { sequence: acknowledged.next(), since: now, is_fresh: false });
        self.failure.take().is_some()
    }

    /// The peer has answered a probe. Returns `true` if the path had failed.
    #[must_use]
    pub(super) fn on_probe_answered(&mut self) -> bool {
        let had_failed = self.failure.take().is_some();
        if had_failed {
            // Data of before are not going to be acknowledged.
            self.outstanding = None;
        }
        had_failed
    }

    /// Time at which [`PathWatch::on_timeout`] has work to do.
    pub(super) fn deadline(&self) -> Instant {
        match (self.failure, self.outstanding) {
            (Some(failure), _) => failure.next_probe,
            (None, Some(outstanding)) => outstanding.since + self.estimator.rto(),
            (None, None) => Instant::FAR_FUTURE,
        }
    }

    /// Returns the step that is due.
    #[must_use]
    pub(super) fn on_timeout(&mut self, now: Instant) -> Timeout {
        if self.deadline() > now {
            return Timeout::Early;
        }
        match &mut self.failure {
            Some(failure) => {
                failure.interval = (failure.interval * 2).min(MAX_PROBE_INTERVAL);
                failure.next_probe = now + failure.interval;
                Timeout::Probe
            }
            None => {
                let interval = self.estimator.rto().min(MAX_PROBE_INTERVAL);
                self.failure = Some(Failure { next_probe: now + interval, interval });
                Timeout::Failed
            }
        }
    }
}

/// The step due at [`PathWatch::deadline`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Timeout {
    /// None: the call came early.
    Early,
    /// The path has failed, and is probed.
    Failed,
    /// The failed path is probed again.
    Probe,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Data each two seconds, and their acknowledgements after `delay`. Returns the number of failures.
    fn failures(watch: &mut PathWatch, from: u64, delay: Duration) -> usize {
        let mut failures = 0;
        for n in from..from + 10 {
            let (sent, sequence) = (Instant::from_secs(2 * n), SeqNo::new(n));
            watch.on_data_sent(sent, sequence);
            while watch.deadline() < sent + delay {
                failures += usize::from(watch.on_timeout(watch.deadline()) == Timeout::Failed);
            }
            let _ = watch.on_acknowledged(sent + delay, sequence);
        }
        failures
    }

    /// The peer delays acknowledgements by 200 ms. Without samples of what comes after the timeout, each of
    /// them was a failure of the path.
    #[test]
    fn late_acknowledgements_raise_the_timeout() {
        let mut watch = PathWatch::new(Duration::from_millis(200));
        watch.on_handshake(Duration::from_millis(110));
        assert_eq!(failures(&mut watch, 1, Duration::from_millis(430)), 1);
        assert_eq!(failures(&mut watch, 11, Duration::from_millis(430)), 0);
    }

    #[test]
    fn an_outage_raises_the_timeout_to_less_than_its_length() {
        let mut watch = PathWatch::new(Duration::from_millis(200));
        watch.on_handshake(Duration::from_millis(110));
        assert_eq!(failures(&mut watch, 1, Duration::from_millis(110)), 0);
        watch.on_data_sent(Instant::from_secs(30), SeqNo::new(20));
        assert_eq!(watch.on_timeout(watch.deadline()), Timeout::Failed);
        assert!(watch.on_acknowledged(Instant::from_secs(50), SeqNo::new(20)));
        assert!(watch.timeout() < Duration::from_secs(1), "{:?}", watch.timeout());
    }
}
