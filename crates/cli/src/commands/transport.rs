//! Options of the transport, declared once for all commands that have connections.

use std::net::SocketAddr;

use clap::{Args, ValueEnum};
use whimbrel_net::{Ccid, Dscp, Restart, Scheme};
use whimbrel_relay::address::parse_own;
use whimbrel_relay::mechanisms;
use whimbrel_units::Duration;

use crate::quantity::{parse_ccid, parse_delay};

/// Congestion control of the data; `DEFAULT` is the number of a CCID.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct CongestionControl<const DEFAULT: u8> {
    #[arg(long, value_name = "CCID", default_value_t = DEFAULT, value_parser = parse_ccid, help = ccids())]
    ccid: u8,
}

impl<const DEFAULT: u8> CongestionControl<DEFAULT> {
    pub(super) fn ccid(self) -> Ccid {
        Ccid(self.ccid)
    }
}

fn ccids() -> String {
    format!("Congestion control of the DCCP data: {}", mechanisms().describe(|_| true))
}

/// The treatment of losses.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct LossDifferentiation {
    #[arg(long, value_name = "SCHEME", help = schemes())]
    pub(super) lda: Option<Scheme>,
}

fn schemes() -> String {
    let real = Scheme::ALL.into_iter().filter(|scheme| *scheme != Scheme::Omniscient);
    let names: Vec<_> = real.map(Scheme::name).collect();
    format!(
        "Distinguish losses on a radio from congestion losses, and slow down for the latter only (CCIDs 3 and 4): {}. \
         A guard limits its effect [default: standing with repair, none without]",
        names.join(", ")
    )
}

/// The order of delivery.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct Reordering {
    /// Deliver datagrams in order: a datagram that arrives early waits for earlier ones, for at most this
    /// time, such as 50ms. CCIDs 3 and 4 declare no datagram lost before then [default: 150ms from an end
    /// with several paths, otherwise no order]
    #[arg(long, value_name = "DELAY", value_parser = parse_delay)]
    pub(super) reorder: Option<Duration>,
}

/// The marking of sent packets.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct Marking {
    /// DSCP of the packets that this end sends: 0 to 63, or a name such as EF, AF41, CS5 or LE (Linux).
    #[arg(long, value_name = "CODEPOINT", default_value_t = Dscp::DEFAULT, hide_default_value = true)]
    pub(super) dscp: Dscp,
}

/// The address of an end that waits for others.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct OwnAddress {
    /// Address and port; port 0: any free one [default: port 6511 of all addresses]
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = parse_own)]
    pub(super) bind: Option<SocketAddr>,
}

/// The restart of an end's sender after a freeze.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(super) enum RestartRule {
    /// At the old rate, probing until the receive rate no longer follows.
    Following,
    /// At the old rate, probing until the loss event rate indicates a loss: the paper's.
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
