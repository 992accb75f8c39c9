//! Scenario keys of freezing: the behaviour of a flow's ends in a handover.

use schemars::JsonSchema;
use serde::Deserialize;
use whimbrel_proto::FreezeScope;
use whimbrel_proto::config::{FreezeConfig, Restart, RestoreLimit, Silence};

use whimbrel_scenario::quantity::{Probability, Rate, Time};
use whimbrel_scenario::signals::Scope;

use super::station::CellNotice;

/// Handling of handovers by the ends of a DCCP flow (`control::freeze`, paper `freeze`).
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Freeze {
    /// If true, both ends negotiate the feature: they freeze each other, and support each other in restoring
    /// and probing. Without it, a frozen end merely stops and resumes.
    pub agreed: Agreed,
    /// The restart mode of a sender.
    pub restart: RestartMode,
    /// The most that a restored rate may be, as a share of the old one.
    pub restore_share: Option<Probability>,
    /// The most that a restored rate may be.
    pub restore_rate: Option<Rate>,
    /// A silence of the receiver for this time counts as an unannounced freeze.
    pub silence: Option<Time>,
    /// The same, in round-trip times.
    pub silence_in_rtt: Option<f64>,
    /// If true, the sender is frozen from the time at which its 802.11 station leaves its access point until
    /// packets for the station go to the next one (`distribution_delay` after the association). An end at a
    /// terminal follows its cell: the sender is frozen, by the receiver if that is the terminal, from
    /// `cell_notice` until a cell serves.
    pub follows_station: bool,
    /// When a handover between cells is noticed: `preparation` or `interruption`.
    pub cell_notice: CellNotice,
    /// The longest freeze requested by the end's own application.
    pub local_limit: Option<Time>,
    /// The longest freeze requested by the other end.
    pub remote_limit: Option<Time>,
}

/// A flag that is true by default.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Agreed(pub bool);

impl Default for Agreed {
    fn default() -> Self {
        Self(true)
    }
}

/// The restart of a sender after a freeze.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RestartMode {
    /// Restores its rate and probes until p indicates a loss, as in the paper.
    #[default]
    LossRate,
    /// The same by the rule of the authors' Linux code: probing ends once p changes by more than a tenth.
    AuthorsCode,
    /// Restores its rate and probes until the receive rate no longer follows.
    Following,
    /// Goes to half of the old rate after a round-trip time at the initial one.
    CarefulResume,
    /// Goes to the capacity that rt-Winf estimates at the sender's 802.11 station, and does not probe.
    LinkCapacity,
    /// The same with the available bandwidth.
    LinkAvailable,
}

impl Freeze {
    /// The configuration of the protocol code.
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
                RestartMode::LinkCapacity => Restart::LinkCapacity,
                RestartMode::LinkAvailable => Restart::LinkAvailable,
            })
            .restore_at_most(rate.or(share).unwrap_or_default())
            .silence(self.silence.map(|time| Silence::Time(time.0)).or(rounds))
            .local_limit(self.local_limit.map(|limit| limit.0))
            .remote_limit(self.remote_limit.map_or(standard.remote_limit, |limit| limit.0))
    }
}

/// The half-connections that a command concerns, as the protocol code names them.
pub(super) const fn of_protocol(scope: Scope) -> FreezeScope {
    match scope {
        Scope::Local => FreezeScope::Local,
        Scope::Remote => FreezeScope::Remote,
        Scope::Both => FreezeScope::Both,
    }
}
