//! Relays: the datagrams of other programs, such as a camera's RTP, over one encrypted DCCP connection.
//!
//! The near end ([`connect`]) takes datagrams at ports of its host and connects to the far end ([`listen`]),
//! which passes them to programs there; answers take the way back. All flows share a connection, and with it
//! one handshake, one estimate of the path and one rate. Commands and the newest values precede media, media
//! precede bulk data, and the oldest frame of any flow is dropped first. A program of this process takes part
//! as [`Embedded`]; [`pipe`] carries a stream of its own.
//! `whimbrel relay`, `whimbrel carry` and `whimbrel pipe` are these functions with options and output.
//!
//! ```no_run
//! use std::sync::Arc;
//! use whimbrel_relay::{Near, Notice, Options, Protection, Stop};
//!
//! # async fn run() -> anyhow::Result<()> {
//! let near = Near {
//!     options: Options::default(),
//!     host: "viewer.example:6511".parse()?,
//!     from: vec!["127.0.0.1:5004".parse::<std::net::SocketAddr>()?.into()].into(),
//!     ccid: whimbrel_net::Ccid::TFRC,
//!     freezes: false,
//!     follows: false,
//!     paths: Vec::new(),
//!     outages: tokio::sync::broadcast::channel(1).0,
//!     protection: Protection { is_plaintext_allowed: true, ..Protection::default() },
//! };
//! let observer = Arc::new(|_, notice: &Notice<'_>| {
//!     if let Notice::Figures(figures) = notice {
//!         println!("{} datagrams delivered", figures.sums.to_peer.delivered);
//!     }
//!     Ok(())
//! });
//! let (end, stop) = Stop::new();
//! tokio::spawn(async move {
//!     tokio::time::sleep(std::time::Duration::from_secs(60)).await;
//!     end.send_replace(true);
//! });
//! whimbrel_relay::connect(near, observer, stop).await
//! # }
//! ```
//!
//! # Design
//!
//! - `relay` and `measure` print nothing and listen to no signals: an observer takes what they say, `Stop`
//!   ends them, and the command turns both into lines, exit codes and Ctrl-C. `measure` uses the addresses
//!   and the settings for handovers of `relay`, and the places for clients of `live`.
//! - `relay` needs no agreement over TCP, unlike `perf`, and runs as a service. All flows share a connection:
//!   one handshake, one estimate of the path, and one queue. That queue is the relay's; DCCP's own holds four
//!   datagrams, so that the decision on what to send next is made late (`Socket::writable`). A peer with the
//!   key of a connected one replaces it, because a camera that lost its power does not close its connection.
//!   Inside, `ports` and `arrivals` read local datagrams, `link` is the connection over one path or several
//!   (`paths` follows the interfaces), `engine` forwards between them, and `pace` times the updates that
//!   `status` shows and `feedback` sends to encoders. Local programs are the matter of `relay::edge`:
//!   `carriage` is one connection sans I/O, so that a campaign of both ends runs without sockets. It holds
//!   the `queue` that drops stale frames, `flow_kind`, which asks `rtp::Recognizer` for evidence, and the
//!   `ledger`. The ledger keeps counts only: what is under way is the difference, so that no datagram needs
//!   an entry. Sent datagrams are settled by the peer's `report`, which states the number that had arrived
//!   when a number sent came with a report of this end; both count from the start, so a lost or overtaken
//!   report costs time alone. A report is a datagram for a port that no end has, as earlier versions discard
//!   those. `carry` is a relay of one flow. A program of the same process (`embedded`) has ports without
//!   sockets: the elements of `gst` are such programs, each a bin with an element of GStreamer's base classes
//!   for each stream. The state is served by `live` with hyper, whose parser faces other programs, without a
//!   framework on top.

mod arrivals;
mod connect;
mod edge;
mod embedded;
mod encoder;
mod engine;
mod feedback;
mod follow;
pub mod keys;
mod link;
mod listen;
mod live;
mod notices;
mod pace;
mod paths;
pub mod pipe;
mod ports;
mod repair;
mod status;
mod stop;
pub mod text;
#[cfg_attr(not(feature = "whep"), path = "whep/absent.rs")]
mod whep;

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use thiserror::Error;
use whimbrel_net::multipath::{MultipathConfig, SchedulerKind};
use whimbrel_net::{
    Ccid, CcidPreference, Config, Dscp, Fingerprint, MobilityConfig, OverflowPolicy, PathChange, Registry,
    RepairConfig, Restart, Security, SendQueueConfig, ServiceCode, Setup, TimerConfig,
};
use whimbrel_rtp::Codec;
use whimbrel_units::Duration;

pub use connect::{Near, connect};
pub use edge::address;
pub use edge::flow::{MAX_FLOWS, MAX_PORTS};
pub use edge::ledger::streams::{Direction, StreamFigures};
pub use edge::ledger::{Account, Losses, Reason, Sums};
pub use edge::parts::Room;
pub use embedded::{Embedded, Payload, Programs};
pub use follow::{Outage, Outages, next_outage};
pub use link::{PathState, PathView};
pub use listen::{Far, listen};
pub use notices::{Figures, Notice, Observer};
pub use paths::{PathSpec, PathSpecError};
pub use repair::RepairView;
pub use stop::Stop;
pub use whimbrel_live::Token;

/// The DCCP port behind the UDP port.
const DCCP_PORT: u16 = 5004;
/// The Service Codes, in the clear and with DTLS (RFC 5238, Section 3.6).
const SERVICE_CODES: [&str; 2] = ["wrly", "wrls"];
/// Silence after which the other end counts as dead.
const IDLE_LIMIT: Duration = Duration::from_secs(30);
/// Datagrams in DCCP's own queue: few, as the relay's queue decides what is sent next.
const QUEUE: usize = 4;
/// Longest time for which a datagram waits for earlier ones from a slower path, unless another is set.
const ACROSS_PATHS: Duration = Duration::from_millis(150);

/// A setting that cannot be used.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct Refused(pub String);

/// Checks the key of the other end once a connection is established; an error ends the connection.
pub type KeyCheck = Arc<dyn Fn(Option<Fingerprint>) -> anyhow::Result<()> + Send + Sync>;

/// Keys, and what is to happen without.
#[derive(Clone, Default)]
pub struct Protection {
    /// Keys of this end, and those that it trusts; `None`: data travels in the clear.
    pub security: Option<Security>,
    /// Data may travel in the clear to other hosts than this one.
    pub is_plaintext_allowed: bool,
    /// For a near end.
    pub key_check: Option<KeyCheck>,
}

impl fmt::Debug for Protection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Protection").field("is_secured", &self.security.is_some()).finish_non_exhaustive()
    }
}

impl Protection {
    /// Checks the key of the other end of an established connection.
    ///
    /// # Errors
    /// The key is refused.
    pub fn check(&self, peer: Option<Fingerprint>) -> anyhow::Result<()> {
        self.key_check.as_ref().map_or(Ok(()), |check| check(peer))
    }
}

/// Options of both ends of a relay.
#[derive(Clone, Debug)]
pub struct Options {
    /// Age at which a datagram is not worth sending.
    pub stale: Duration,
    /// Lost datagrams are repaired within this time; `None`: none are.
    pub latency: Option<Duration>,
    /// Restart of the rate after a freeze; `None` for the default.
    pub restart: Option<Restart>,
    /// The codec of the videos, if it is known.
    pub video: Option<Codec>,
    /// Send encoders the rate by RTCP.
    pub remb: bool,
    /// Identifier of the extension with transport-wide sequence numbers, whose arrivals are reported.
    pub transport_cc: Option<u8>,
    /// The most flows.
    pub flows: usize,
    /// Address at which the state is served.
    pub http: Option<SocketAddr>,
    /// The token that requests need there; without one, a new token at an address that other hosts can reach.
    pub http_token: Option<Token>,
    /// DSCP of the packets that this end sends.
    pub dscp: Dscp,
    /// Chooses the paths of this end's datagrams in a multipath connection.
    pub scheduler: SchedulerKind,
    /// Time between two figures.
    pub interval: Duration,
    /// The room for incomplete datagrams of all connections.
    pub room: Room,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            stale: Duration::from_millis(200),
            latency: None,
            restart: None,
            video: None,
            remb: false,
            transport_cc: None,
            flows: 64,
            http: None,
            http_token: None,
            dscp: Dscp::DEFAULT,
            scheduler: SchedulerKind::default(),
            interval: Duration::from_secs(1),
            room: Room::default(),
        }
    }
}

/// The congestion controls of relays: the standard CCIDs, and the experiments but CCID 250.
pub fn mechanisms() -> Registry {
    Registry::default().with_window_laws().with_delay_aware()
}

/// The CCIDs that a far end accepts, in order of preference. The near end chooses by offering one.
pub fn accepted_ccids() -> CcidPreference {
    let standard = [Ccid::TFRC, Ccid::TCP_LIKE, Ccid::TFRC_SP];
    let is_other = move |ccid: &Ccid| !standard.contains(ccid);
    let others: Vec<Ccid> = mechanisms().ccids().filter(is_other).collect();
    standard.into_iter().chain(others).collect()
}

/// The configuration of an end that takes part in handovers.
pub fn willing(config: Config) -> Config {
    let mobility = Some(MobilityConfig::default().on_move(PathChange::Keep));
    let freeze = config.freeze.offer(true);
    config.freeze(freeze).mobility(mobility)
}

/// The configuration that both ends share.
fn configured(service_code: &str, restart: Option<Restart>, queue: SendQueueConfig) -> Config {
    let mut config = willing(
        Config::default()
            .ccids(mechanisms())
            .service_code(ServiceCode::from_letters(service_code).unwrap_or_default())
            .send_queue(queue.overflow(OverflowPolicy::Refuse))
            .timers(TimerConfig::default().idle(Some(IDLE_LIMIT))),
    );
    if let Some(rule) = restart {
        config.freeze.restart = rule;
    }
    config
}

fn config(is_secured: bool, restart: Option<Restart>) -> Config {
    let queue = SendQueueConfig::default().max_datagrams(QUEUE);
    configured(SERVICE_CODES[usize::from(is_secured)], restart, queue)
}

/// The configuration, and what is above a connection. The relay's queue decides what is too late to be sent.
fn setup(config: Config, security: Option<Security>, latency: Option<Duration>) -> Setup {
    let setup = Setup::new(config, security).with_latency(latency);
    setup.map_repair(|repair| RepairConfig { drops_late: false, ..repair })
}

/// The configuration of a multipath connection.
fn several_paths(scheduler: SchedulerKind) -> MultipathConfig {
    MultipathConfig::default().scheduler(scheduler).orphan_timeout(IDLE_LIMIT)
}

/// A port is one byte on the connection.
fn few(what: &str, places: &[address::ProgramAddress]) -> Result<(), Refused> {
    match places.len() {
        0..=MAX_PORTS => Ok(()),
        n => Err(Refused(format!("--{what}: {n} ports, expected {MAX_PORTS} at most"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_take_part_in_handovers_and_keep_the_rate_of_the_old_path() {
        let config = config(false, None);
        assert!(config.freeze.offer);
        assert_eq!(config.mobility.map(|mobility| mobility.on_move), Some(PathChange::Keep));
    }

    #[test]
    fn encrypted_relays_have_a_service_code_of_their_own() {
        assert_ne!(config(false, None).service_code, config(true, None).service_code);
        assert_ne!(config(true, None).service_code, ServiceCode::default());
    }
}
