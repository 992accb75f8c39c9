//! What the user wants to happen as the link comes and goes.

use clap::{Args, ValueEnum};
use whimbrel_net::{
    Config, DataRate, Duration, Lead, MobilityConfig, PathChange, Restart, RestoreLimit, Silence,
};

use crate::quantity::{parse_rate, parse_seconds};

#[cfg(test)]
mod tests;

/// What becomes of the knowledge of a path that is left.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum OnMove {
    Keep,
    Reset,
    Restore,
}

/// How the client's sender goes on after a freeze.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum RestartRule {
    /// At the old rate, probing until the receive rate no longer follows.
    Following,
    /// At the old rate, probing until the loss event rate tells of a loss: the paper's.
    LossRate,
    /// The same, by the rule of the paper's authors' Linux code.
    AuthorsCode,
    /// At half of the old rate, after a round-trip time at the initial one.
    CarefulResume,
}

impl From<RestartRule> for Restart {
    fn from(rule: RestartRule) -> Self {
        match rule {
            RestartRule::Following => Self::Following,
            RestartRule::LossRate => Self::LossRate,
            RestartRule::AuthorsCode => Self::AuthorsCode,
            RestartRule::CarefulResume => Self::CarefulResume,
        }
    }
}

/// Reads a part of the old rate, such as `50%`, or a rate, such as `500k`.
fn parse_restore_limit(text: &str) -> Result<RestoreLimit, String> {
    let limit = match text.trim().strip_suffix('%') {
        Some(percent) => {
            percent.trim().parse().ok().map(|percent: f64| RestoreLimit::Fraction(percent / 100.0))
        }
        None => parse_rate(text).ok().filter(|rate| *rate < DataRate::INFINITE).map(RestoreLimit::Rate),
    };
    limit.filter(|limit| limit.is_valid()).ok_or_else(|| {
        format!("{text:?} is no limit of a rate: expected a part of the old one, such as 50%, or bit/s, such as 500k")
    })
}

/// What the user wants to happen as the link comes and goes.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "Handovers (DCCP)")]
pub(crate) struct HandoverArgs {
    /// Send nothing while there is no link, and go on at the old rate afterwards; from another address, if need be.
    /// Follows that interface, or whichever the routes choose (Linux). SIGUSR1 freezes and SIGUSR2 unfreezes,
    /// with and without this option.
    #[arg(long, value_name = "IFACE", num_args = 0..=1, require_equals = true, default_missing_value = "", conflicts_with_all = ["udp", "tcp"])]
    freeze_on_link_loss: Option<String>,
    /// As --freeze-on-link-loss, but without freezing: only moves to the other address.
    #[arg(long, value_name = "IFACE", num_args = 0..=1, require_equals = true, default_missing_value = "", conflicts_with_all = ["udp", "tcp", "freeze_on_link_loss"])]
    follow_link: Option<String>,
    /// How long before an announced outage to freeze: 1rtt, 200ms.
    #[arg(long, value_name = "TIME", default_value_t = Lead::default())]
    freeze_lead: Lead,
    /// SIGUSR1 comes so many seconds before the outage; without this, it comes when it is time to freeze.
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    freeze_notice: Option<Duration>,
    /// Take a silence of the server for an outage that nobody announced, and go on at the old rate afterwards: so
    /// many round-trip times, or so long (CCIDs 3 and 4) [default without a value: 4rtt]
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, default_missing_value = "4rtt", conflicts_with_all = ["udp", "tcp"])]
    freeze_on_silence: Option<Lead>,
    /// How this end's data go on after a freeze (CCIDs 3 and 4) [default: following]
    #[arg(long, value_name = "RULE", value_enum, conflicts_with_all = ["udp", "tcp"])]
    restart: Option<RestartRule>,
    /// The most that is restored of this end's rate after a freeze, for the sake of others on a narrower path: a part of the old
    /// rate, such as 50%, or a rate, such as 500k (CCIDs 3 and 4).
    #[arg(long, value_name = "LIMIT", value_parser = parse_restore_limit, conflicts_with_all = ["udp", "tcp"])]
    restore_at_most: Option<RestoreLimit>,
    /// What to do with round-trip time, packet size and losses of the old path once at another address: keep them,
    /// reset them, or restore those of an earlier time on the new one [default: keep]
    #[arg(long, value_name = "WHAT", value_enum, conflicts_with_all = ["udp", "tcp"])]
    on_move: Option<OnMove>,
}

impl HandoverArgs {
    /// The interface to follow, if it is to be one, where a link is to be followed at all.
    pub(super) fn interface(&self) -> Option<Option<&str>> {
        let named = self.freeze_on_link_loss.as_ref().or(self.follow_link.as_ref())?;
        Some(Some(named.as_str()).filter(|name| !name.is_empty()))
    }

    pub(super) fn freezes_on_link_loss(&self) -> bool {
        self.freeze_on_link_loss.is_some()
    }

    /// Whether handovers are what the test is about.
    pub(super) fn wants_any(&self) -> bool {
        self.interface().is_some() || self.freeze_on_silence.is_some() || self.freeze_notice.is_some()
    }

    /// How long the two ends should wait for each other, where the user does not say.
    pub(crate) fn patience(&self) -> Duration {
        if self.wants_any() { Duration::from_secs(60) } else { Duration::ZERO }
    }

    pub(super) fn lead(&self) -> Lead {
        self.freeze_lead
    }

    pub(super) fn notice(&self) -> Option<Duration> {
        self.freeze_notice
    }

    pub(super) fn on_move(&self) -> PathChange {
        match self.on_move {
            Some(OnMove::Keep) | None => PathChange::Keep,
            Some(OnMove::Reset) => PathChange::Reset,
            Some(OnMove::Restore) => PathChange::Restore,
        }
    }

    /// How long a silence is taken for an outage.
    fn silence(&self) -> Option<Silence> {
        self.freeze_on_silence.map(|silence| match silence {
            Lead::RoundTrips(count) => Silence::RoundTrips(count),
            Lead::Time(time) => Silence::Time(time),
        })
    }

    /// That configuration, with what handovers need.
    pub(crate) fn configure(&self, config: Config) -> Config {
        let mut config = willing(config);
        config.freeze.silence = self.silence();
        if let Some(rule) = self.restart {
            config.freeze.restart = rule.into();
        }
        config.freeze.restore_at_most = self.restore_at_most.unwrap_or_default();
        config
    }
}

/// That configuration, of an end that takes part in handovers.
pub(crate) fn willing(config: Config) -> Config {
    let mobility = Some(MobilityConfig::default().on_move(PathChange::Keep));
    let freeze = config.freeze.offer(true);
    config.freeze(freeze).mobility(mobility)
}
