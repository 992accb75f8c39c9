//! `whimbrel relay`: carries the UDP datagrams of other programs, such as RTP, over one encrypted DCCP connection.
//!
//! All flows share a connection, so that they share one handshake, one estimate of the path and one queue, in which the
//! oldest frame is dropped whichever flow it is of; with a connection each, they would compete with each other.

mod args;
mod arrivals;
mod connect;
mod encoder;
mod engine;
mod feedback;
mod follow;
mod http;
mod link;
mod listen;
mod output;
mod pace;
mod paths;
mod ports;
mod repair;
mod status;

use std::net::SocketAddr;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use whimbrel_net::multipath::{MultipathConfig, SchedulerKind};
use whimbrel_net::{Config, Dscp, OverflowPolicy, SendQueueConfig, ServiceCode, TimerConfig};
use whimbrel_rtp::Codec;
use whimbrel_units::Duration;

use super::perf::handover::{RestartRule, willing};
use crate::edge::parts::Room;
use crate::exit::Failure;
use crate::quantity::mechanisms;
pub(super) use connect::{Near, connect};
pub(super) use engine::Watch;
pub(super) use follow::LinkArgs;
pub(super) use link::Link;
pub(super) use listen::{Far, accept, listen};
pub(super) use paths::{PathSpec, Paths, check};

/// The DCCP port behind the UDP port.
const DCCP_PORT: u16 = 5004;
/// The Service Codes, in the clear and with DTLS (RFC 5238, Section 3.6).
const SERVICE_CODE: &str = "wrly";
const SECURED_SERVICE_CODE: &str = "wrls";
/// Silence after which the other end counts as dead.
const IDLE_LIMIT: Duration = Duration::from_secs(30);
/// Age at which a datagram is dropped where nothing is repaired.
const STALE: Duration = Duration::from_millis(200);
/// Datagrams in DCCP's own queue: few, as the relay's queue decides what is sent next.
const QUEUE: usize = 4;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  whimbrel relay listen --to 127.0.0.1:5004 --secret-file relay.secret\n  \
                  whimbrel relay connect 192.0.2.7 --from 127.0.0.1:5004 --video h264 --secret-file relay.secret\n\n\
                  docs/relay.md has complete commands for ffmpeg, GStreamer and VLC, docs/multipath.md for two radios."
)]
pub(crate) struct RelayArgs {
    #[command(subcommand)]
    end: End,
}

#[derive(Debug, Subcommand)]
enum End {
    /// Carry the datagrams that arrive at UDP ports of this host to a listening relay.
    Connect(Box<args::ConnectArgs>),
    /// Wait for connecting relays, and pass their datagrams to UDP ports.
    Listen(Box<args::ListenArgs>),
}

/// Options of both ends of a relay.
#[derive(Clone, Debug)]
pub(super) struct Options {
    /// Age at which a datagram is not worth sending.
    pub(super) stale: Duration,
    /// Repair of lost datagrams: time from the arrival of the fastest datagrams to the delivery.
    pub(super) latency: Option<Duration>,
    /// Restart of the rate after a freeze; `None` for the default.
    pub(super) restart: Option<RestartRule>,
    /// The codec of the videos, if it is known.
    pub(super) video: Option<Codec>,
    /// Tell encoders the rate by RTCP.
    pub(super) remb: bool,
    /// Identifier of the extension with transport-wide sequence numbers, whose arrivals are reported.
    pub(super) transport_cc: Option<u8>,
    /// The most flows.
    pub(super) flows: usize,
    /// Address at which the state is served.
    pub(super) http: Option<SocketAddr>,
    pub(super) dscp: Dscp,
    /// Chooses the paths of this end's datagrams in a multipath connection.
    pub(super) scheduler: SchedulerKind,
    /// Time between two report lines.
    pub(super) interval: Duration,
    pub(super) json: bool,
    /// The room for incomplete datagrams of all connections.
    pub(super) room: Room,
}

/// Runs the verb.
pub(crate) fn run(args: RelayArgs) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match args.end {
        End::Connect(args) => runtime.block_on(connect((*args).into_near()?)),
        End::Listen(args) => runtime.block_on(listen((*args).into_far()?)),
    }
}

/// The configuration that both ends share.
fn config(is_secured: bool, restart: Option<RestartRule>) -> Config {
    let letters = if is_secured { SECURED_SERVICE_CODE } else { SERVICE_CODE };
    let config = Config::default()
        .ccids(mechanisms())
        .service_code(ServiceCode::from_letters(letters).unwrap_or_default())
        .send_queue(SendQueueConfig::default().max_datagrams(QUEUE).overflow(OverflowPolicy::Refuse))
        .timers(TimerConfig::default().idle(Some(IDLE_LIMIT)));
    let mut config = willing(config);
    if let Some(rule) = restart {
        config.freeze.restart = rule.into();
    }
    config
}

/// The configuration of a multipath connection.
pub(super) fn several_paths(scheduler: SchedulerKind) -> MultipathConfig {
    MultipathConfig::default().scheduler(scheduler).orphan_timeout(IDLE_LIMIT)
}

/// The latency of repair; 0 is none.
pub(super) fn repair(latency: Duration) -> Option<Duration> {
    Some(latency).filter(|latency| !latency.is_zero())
}

/// Age at which a datagram is dropped: if none is given, the latency of repair, or [`STALE`].
pub(super) fn stale(given: Option<Duration>, latency: Duration) -> Duration {
    given.or(repair(latency)).unwrap_or(STALE)
}

/// Reads the name of a codec.
pub(super) fn parse_codec() -> impl TypedValueParser<Value = Codec> {
    PossibleValuesParser::new(Codec::ALL.map(Codec::name))
        .try_map(|name| Codec::from_name(&name).ok_or("a codec"))
}

/// Reads the name of a scheduler.
pub(super) fn parse_scheduler() -> impl TypedValueParser<Value = SchedulerKind> {
    PossibleValuesParser::new(SchedulerKind::ALL.map(SchedulerKind::name))
        .map(|name| SchedulerKind::from_name(&name).unwrap_or_default())
}

/// Longest time for which a datagram waits for earlier ones from a slower path, unless --reorder is given.
pub(super) const ACROSS_PATHS: Duration = Duration::from_millis(150);

#[cfg(test)]
mod tests {
    use whimbrel_net::PathChange;

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
