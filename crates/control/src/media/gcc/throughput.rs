//! The acknowledged rate, by the estimator that is configured.

use whimbrel_units::{DataRate, Instant};

use super::ThroughputRule;
use super::acknowledged_rate::AcknowledgedRate;
use super::robust_rate::RobustRate;
use crate::media::PacketReport;

/// The estimator.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Throughput {
    Robust(RobustRate),
    Bayesian(AcknowledgedRate),
}

impl Throughput {
    pub(super) const fn new(rule: ThroughputRule) -> Self {
        match rule {
            ThroughputRule::Robust => Self::Robust(RobustRate::new()),
            ThroughputRule::Bayesian => Self::Bayesian(AcknowledgedRate::new()),
        }
    }

    /// Records the packets of a report that arrived, in the order of arrival.
    pub(super) fn record(&mut self, packets: &[PacketReport]) {
        match self {
            Self::Robust(rate) => rate.record(packets),
            Self::Bayesian(rate) => packets.iter().for_each(|packet| rate.record(packet)),
        }
    }

    /// An application-limited period ended.
    pub(super) const fn on_limit_ended(&mut self, now: Instant) {
        if let Self::Bayesian(rate) = self {
            rate.on_limit_ended(now);
        }
    }

    /// The estimate; `None` while too little has arrived.
    pub(super) fn rate(&self) -> Option<DataRate> {
        match self {
            Self::Robust(rate) => rate.rate(),
            Self::Bayesian(rate) => rate.rate(),
        }
    }

    /// The estimate, possibly from an incomplete window.
    pub(super) fn peek(&self) -> Option<DataRate> {
        match self {
            Self::Robust(rate) => rate.rate(),
            Self::Bayesian(rate) => rate.rate().or_else(|| rate.peek()),
        }
    }
}
