//! The two ends of a test, as the client knows them.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration as StdDuration;

use whimbrel_net::{Config, Dscp, Duration, HostPort, Lead, PathChange, Restart, RestoreLimit, Silence};
use whimbrel_relay::{Outages, Protection, willing};

use super::native::Native;
use super::plan::Plan;

/// Time limit for the server's answers.
pub(super) const ANSWER_TIME: StdDuration = StdDuration::from_secs(5);

/// A client's reaction to link loss and changes.
#[derive(Clone, Debug)]
pub struct Handovers {
    /// The link to follow: `None` if none, `Some(None)` for the route's interface, otherwise the named
    /// interface.
    pub interface: Option<Option<String>>,
    /// Freeze while the link is down.
    pub freezes_on_link_loss: bool,
    /// Lead time of a freeze before an announced outage.
    pub lead: Lead,
    /// Time between the announcement of an outage and the outage; by default, an announcement freezes at
    /// once.
    pub notice: Option<Duration>,
    /// The silence that counts as an outage.
    pub silence: Option<Silence>,
    /// Restart of this end's data after a freeze.
    pub restart: Option<Restart>,
    /// The most that is restored of this end's rate after a freeze.
    pub restore_at_most: RestoreLimit,
    /// Handling of the state of the old path.
    pub on_move: PathChange,
}

impl Default for Handovers {
    fn default() -> Self {
        Self {
            interface: None,
            freezes_on_link_loss: false,
            lead: Lead::default(),
            notice: None,
            silence: None,
            restart: None,
            restore_at_most: RestoreLimit::default(),
            on_move: PathChange::Keep,
        }
    }
}

impl Handovers {
    /// `true` if anything is set.
    pub(super) fn wants_any(&self) -> bool {
        self.interface.is_some() || self.silence.is_some() || self.notice.is_some()
    }

    /// The default time for which the two ends wait for each other.
    pub fn patience(&self) -> Duration {
        if self.wants_any() { Duration::from_secs(60) } else { Duration::ZERO }
    }

    /// The configuration with the settings for handovers.
    pub fn configure(&self, config: Config) -> Config {
        let mut config = willing(config);
        config.freeze.silence = self.silence;
        if let Some(rule) = self.restart {
            config.freeze.restart = rule;
        }
        config.freeze.restore_at_most = self.restore_at_most;
        config
    }
}

/// A client's test.
#[derive(Debug)]
pub struct Client {
    /// The server.
    pub server: HostPort,
    /// The test to run.
    pub plan: Plan,
    /// DCCP without UDP.
    pub native: Native,
    /// DSCP of the packets that this end sends.
    pub dscp: Dscp,
    /// This end's reaction to link loss and changes.
    pub handover: Handovers,
    /// Outages that the program knows of.
    pub outages: Outages,
    /// Keys, and what is to happen without.
    pub protection: Protection,
}

/// The addresses of the server.
pub(super) struct Server {
    /// Address of its TCP port, which is also the UDP port of DCCP.
    pub(super) at: SocketAddr,
    pub(super) udp_ports: Vec<u16>,
    pub(super) dccp_port: u16,
    /// Addresses of DCCP without UDP.
    pub(super) native: Vec<IpAddr>,
    /// This end's address towards it.
    pub(super) local: IpAddr,
}
