//! Options for handovers of the link.

use clap::{Args, ValueEnum};
use whimbrel_measure::perf::Handovers;
use whimbrel_net::{DataRate, Duration, Lead, PathChange, RestoreLimit, Silence};
use whimbrel_units::quantity;

use crate::commands::transport::RestartRule;
use crate::quantity::{parse_rate, parse_seconds};

#[cfg(test)]
mod tests;

/// The heading of these options only: `next_help_heading` would also move options declared after them.
const HEADING: &str = "Handovers (DCCP)";

/// Handling of the state of the old path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum OnMove {
    Keep,
    Reset,
    Restore,
}

/// Reads a share of the old rate, such as `50%`, or a rate, such as `500k`.
fn parse_restore_limit(text: &str) -> Result<RestoreLimit, String> {
    let limit = match text.trim().ends_with('%') {
        true => quantity::share(text).map(RestoreLimit::Fraction),
        false => parse_rate(text).ok().filter(|rate| *rate < DataRate::INFINITE).map(RestoreLimit::Rate),
    };
    limit.filter(|limit| limit.is_valid()).ok_or_else(|| {
        format!("{text:?} is no limit of a rate: expected a share of the old one, such as 50%, or bit/s, such as 500k")
    })
}

/// Options for handovers of the link.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct HandoverArgs {
    /// Stop sending while the link is down, and resume at the old rate afterwards, from another address if
    /// necessary. Follows that interface, or the one that the routes select (Linux). SIGUSR1 freezes and
    /// SIGUSR2 unfreezes, with and without this option.
    #[arg(long, help_heading = HEADING, value_name = "IFACE", num_args = 0..=1, require_equals = true, default_missing_value = "", conflicts_with_all = ["udp", "tcp"])]
    freeze_on_link_loss: Option<String>,
    /// Like --freeze-on-link-loss, but without freezing: only move to the other address.
    #[arg(long, help_heading = HEADING, value_name = "IFACE", num_args = 0..=1, require_equals = true, default_missing_value = "", conflicts_with_all = ["udp", "tcp", "freeze_on_link_loss"])]
    follow_link: Option<String>,
    /// Lead time of a freeze before an announced outage: 1rtt, 200ms.
    #[arg(long, help_heading = HEADING, value_name = "TIME", default_value_t = Lead::default())]
    freeze_lead: Lead,
    /// Time between SIGUSR1 and the outage, such as 2s; by default, SIGUSR1 freezes at once.
    #[arg(long, help_heading = HEADING, value_name = "TIME", value_parser = parse_seconds)]
    freeze_notice: Option<Duration>,
    /// Treat a silence of the server as an unannounced outage, and resume at the old rate afterwards: a
    /// number of round-trip times, or a time (CCIDs 3 and 4) [default without a value: 4rtt]
    #[arg(long, help_heading = HEADING, value_name = "TIME", num_args = 0..=1, require_equals = true, default_missing_value = "4rtt", conflicts_with_all = ["udp", "tcp"])]
    freeze_on_silence: Option<Lead>,
    /// Restart of this end's data after a freeze (CCIDs 3 and 4) [default: following]
    #[arg(long, help_heading = HEADING, value_name = "RULE", value_enum, conflicts_with_all = ["udp", "tcp"])]
    restart: Option<RestartRule>,
    /// The most that is restored of this end's rate after a freeze, to protect other flows on a narrower
    /// path: a share of the old rate, such as 50%, or a rate, such as 500k (CCIDs 3 and 4).
    #[arg(long, help_heading = HEADING, value_name = "LIMIT", value_parser = parse_restore_limit, conflicts_with_all = ["udp", "tcp"])]
    restore_at_most: Option<RestoreLimit>,
    /// Handling of round-trip time, packet size and losses of the old path after a change of address: keep
    /// them, reset them, or restore earlier ones on the new path [default: keep]
    #[arg(long, help_heading = HEADING, value_name = "WHAT", value_enum, conflicts_with_all = ["udp", "tcp"])]
    on_move: Option<OnMove>,
}

impl HandoverArgs {
    /// Their values.
    pub(super) fn handovers(&self) -> Handovers {
        let named = self.freeze_on_link_loss.as_ref().or(self.follow_link.as_ref());
        Handovers {
            interface: named.map(|name| Some(name.clone()).filter(|name| !name.is_empty())),
            freezes_on_link_loss: self.freeze_on_link_loss.is_some(),
            lead: self.freeze_lead,
            notice: self.freeze_notice,
            silence: self.freeze_on_silence.map(|silence| match silence {
                Lead::RoundTrips(count) => Silence::RoundTrips(count),
                Lead::Time(time) => Silence::Time(time),
            }),
            restart: self.restart.map(Into::into),
            restore_at_most: self.restore_at_most.unwrap_or_default(),
            on_move: match self.on_move {
                Some(OnMove::Keep) | None => PathChange::Keep,
                Some(OnMove::Reset) => PathChange::Reset,
                Some(OnMove::Restore) => PathChange::Restore,
            },
        }
    }
}
