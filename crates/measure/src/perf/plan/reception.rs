//! The part of a plan that applies to receivers of DCCP.

use serde::{Deserialize, Serialize};
use whimbrel_net::{Config, Differentiation, LatePolicy, LossDetection, Scheme};
use whimbrel_units::Duration;

/// The loss detection of a receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Detection {
    /// By the reorder buffer if there is one, otherwise after three later packets.
    #[default]
    Automatic,
    /// After three later packets (RFC 5348, Section 5.1).
    Packets,
    /// After a time that adapts to the reordering seen (RACK, RFC 8985).
    Rack,
}

/// Classification of losses, order and loss detection at the ends that receive.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Reception {
    /// The name of the scheme by which receivers classify losses.
    #[serde(default)]
    pub lda: Option<String>,
    /// The longest time for which receivers hold datagrams for earlier ones, in seconds.
    #[serde(default)]
    pub reorder_s: Option<f64>,
    /// `true` if that delay is an upper bound, below which receivers follow the lateness that they measure.
    #[serde(default)]
    pub reorder_adapts: bool,
    /// `true` if receivers deliver later datagrams, out of order, rather than discard them.
    #[serde(default)]
    pub deliver_late: bool,
    /// The loss detection of receivers.
    #[serde(default)]
    pub loss_detection: Detection,
    /// The time within which lost datagrams are repaired, in seconds; `None`: they are not.
    #[serde(default)]
    pub latency_s: Option<f64>,
}

impl Reception {
    /// The scheme by which receivers classify losses.
    pub(super) fn scheme(&self) -> Option<Scheme> {
        self.lda.as_ref()?.parse().ok()
    }

    /// The time within which lost datagrams are repaired.
    pub fn latency(&self) -> Option<Duration> {
        self.latency_s.map(Duration::from_secs_f64)
    }

    /// `true` if the receiving end needs a configuration other than its usual one.
    pub(crate) fn is_special(&self) -> bool {
        let is_set = self.lda.is_some() || self.reorder_s.is_some() || self.latency_s.is_some();
        is_set || self.loss_detection != Detection::Automatic
    }

    /// The configuration by which a test's data is received at an end whose usual one is `config`.
    pub(crate) fn applied_to(&self, mut config: Config) -> Config {
        config.tune_tfrc(|tfrc| tfrc.differentiation = self.scheme().map(Differentiation::guarded));
        config.receive.reorder_delay = self.reorder_s.map(Duration::from_secs_f64);
        config.receive.reorder_adapts = self.reorder_adapts;
        config.receive.late = if self.deliver_late { LatePolicy::Deliver } else { LatePolicy::Discard };
        config.receive.loss_detection = match self.loss_detection {
            Detection::Automatic => LossDetection::Automatic,
            Detection::Packets => LossDetection::Packets,
            Detection::Rack => LossDetection::Rack,
        };
        config
    }
}
