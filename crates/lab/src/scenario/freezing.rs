//! What a scenario says about freezing: how a flow's ends come through a handover, and who tells them.

use schemars::JsonSchema;
use serde::Deserialize;
use whimbrel_proto::FreezeScope;
use whimbrel_proto::config::{FreezeConfig, Restart, RestoreLimit, Silence};

use super::quantity::{Probability, Rate, Time};

/// How the ends of a DCCP flow come through a handover (`control::freeze`, paper `freeze`).
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Freeze {
    /// Whether both ends agree on it: that they freeze each other, and help each other to restore and probe. Without, an end that
    /// is frozen merely stops and goes on.
    pub agreed: Agreed,
    /// How a sender comes back.
    pub restart: RestartMode,
    /// The most that a restored rate may be, as a share of the old one.
    pub restore_share: Option<Probability>,
    /// The most that a restored rate may be.
    pub restore_rate: Option<Rate>,
    /// A silence of the receiver that is so long counts as a freeze that nobody announced.
    pub silence: Option<Time>,
    /// The same, in round-trip times.
    pub silence_in_rtt: Option<f64>,
    /// How long a freeze lasts at most that the end's own application asked for.
    pub local_limit: Option<Time>,
    /// How long a freeze lasts at most that the other end asked for.
    pub remote_limit: Option<Time>,
}

/// A choice that is made by default.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Agreed(pub bool);

impl Default for Agreed {
    fn default() -> Self {
        Self(true)
    }
}

/// How a sender comes back from a freeze.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RestartMode {
    /// Restores its rate and probes until p says that there was a loss: the paper.
    #[default]
    LossRate,
    /// The same by the rule of the authors' Linux code: probing ends where p rose or fell by more than a tenth.
    AuthorsCode,
    /// Restores its rate and probes until the receive rate no longer follows.
    Following,
    /// Goes to half of the old rate after a round-trip time at the initial one.
    CarefulResume,
}

impl Freeze {
    /// What the protocol code is told.
    pub(crate) fn config(&self) -> FreezeConfig {
        let standard = FreezeConfig::default();
        let share = self.restore_share.map(|share| RestoreLimit::Fraction(share.0));
        let rate = self.restore_rate.map(|rate| RestoreLimit::Rate(rate.0));
        let rounds = self.silence_in_rtt.map(Silence::RoundTrips);
        FreezeConfig::default()
            .offer(self.agreed.0)
            .restart(match self.restart {
                RestartMode::LossRate => Restart::LossRate,
                RestartMode::AuthorsCode => Restart::AuthorsCode,
                RestartMode::Following => Restart::Following,
                RestartMode::CarefulResume => Restart::CarefulResume,
            })
            .restore_at_most(rate.or(share).unwrap_or_default())
            .silence(self.silence.map(|time| Silence::Time(time.0)).or(rounds))
            .local_limit(self.local_limit.map(|limit| limit.0))
            .remote_limit(self.remote_limit.map_or(standard.remote_limit, |limit| limit.0))
    }
}

/// What somebody tells an end of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Command {
    /// There will be no path for a while.
    Freeze,
    /// There is a path again.
    Unfreeze,
    /// Packets take another path, which may carry more.
    Probe,
}

/// Which end of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FlowEnd {
    /// The one that sends the data.
    #[default]
    Sender,
    /// The one that receives them.
    Receiver,
}

/// Whose data it is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// That end's.
    #[default]
    Local,
    /// The other end's, which has to be told over the path.
    Remote,
    /// Both.
    Both,
}

impl Scope {
    pub(crate) const fn of_protocol(self) -> FreezeScope {
        match self {
            Self::Local => FreezeScope::Local,
            Self::Remote => FreezeScope::Remote,
            Self::Both => FreezeScope::Both,
        }
    }
}

/// Which flows a handover freezes, and when.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HandoverFreeze {
    /// The flows.
    pub flows: Vec<String>,
    /// How long before the link goes down they are frozen; the paper has a round-trip time.
    pub lead: Time,
    /// How long after it is back they are unfrozen; the paper has 0.1 ms.
    #[serde(default)]
    pub lag: Time,
    /// Which end is told.
    #[serde(default)]
    pub at: FlowEnd,
    /// Whose data it is about.
    #[serde(default)]
    pub scope: Scope,
}
