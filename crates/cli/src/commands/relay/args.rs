//! Options of `whimbrel relay`.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use whimbrel_net::HostPort;
use whimbrel_net::multipath::SchedulerKind;
use whimbrel_relay::address::{ProgramAddress, parse_from, parse_own, parse_server, parse_to};
use whimbrel_relay::{Far, MAX_FLOWS, Near, Options, PathSpec, Token, keys};
use whimbrel_rtp::Codec;
use whimbrel_units::Duration;

use super::{connect, listen, parse_codec, parse_scheduler};
use crate::commands::transport::{
    CongestionControl, LossDifferentiation, Marking, OwnAddress, Reordering, RestartRule,
};
use crate::exit::Failure;
use crate::interrupt::outages;
use crate::quantity::{parse_delay, parse_latency, parse_seconds};
use crate::security::{ClientSecurityArgs, SecurityArgs};

/// The most clients of a server, unless another number is given.
const PEERS: u16 = 8;
/// The most flows of a connection, unless another number is given; of one program's datagrams.
const FLOWS: u16 = 64;
const FLOWS_OF_ONE: u16 = 16;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  whimbrel relay client 192.0.2.7 --from 127.0.0.1:5004 --secret-file relay.secret\n  \
                  whimbrel relay client 192.0.2.7 --from 127.0.0.1:5004 --from 127.0.0.1:5005 --video h264 \\\n      \
                  --http 127.0.0.1:9611 --freeze-on-link-loss --secret-file relay.secret\n  \
                  whimbrel relay client 192.0.2.7 --from 127.0.0.1:5004 --path wlan0 --path wwan0 --secret-file relay.secret\n\n\
                  After a lost connection it connects again, after 1 s at first and 30 s at most. SIGUSR1, sent a round-trip time before\n\
                  an outage, freezes both directions; SIGUSR2, or the link's return, unfreezes them."
)]
pub(super) struct ClientArgs {
    /// The server's name or address, with or without its port: host, 192.0.2.7:6511, [2001:db8::7]:6511.
    #[arg(value_name = "HOST[:PORT]", value_parser = parse_server)]
    host: HostPort,
    /// The address and port at which a program's datagrams arrive; may be repeated. The first goes to the
    /// first --to of the server, and so on. A multicast group is joined, and may have interface= and source=:
    /// 239.1.2.3:5004,interface=eth0,source=192.0.2.9. What arrives there may be stream=command,
    /// stream=newest or stream=bulk.
    #[arg(long, value_name = "ADDRESS:PORT", required = true, value_parser = parse_from)]
    from: Vec<ProgramAddress>,
    #[command(flatten)]
    congestion: CongestionControl<3>,
    /// Use several paths at a time (MP-DCCP): the name or an address of a network interface; may be repeated,
    /// and may have priority= (0 to 15), weight= and cost= for the scheduler: wlan0 or wwan0,cost=10. Paths
    /// come and go with their interfaces (Linux).
    #[arg(long, value_name = "INTERFACE|ADDRESS", conflicts_with_all = ["freeze_on_link_loss", "follow_link"])]
    path: Vec<PathSpec>,
    #[command(flatten)]
    link: LinkArgs,
    #[command(flatten)]
    common: CommonArgs,
    #[command(flatten)]
    security: ClientSecurityArgs,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  whimbrel relay server --to 127.0.0.1:5004 --secret-file relay.secret\n  \
                  whimbrel relay server --to 127.0.0.1:5004 --to 127.0.0.1:5005 --reorder 30ms --lda zbs3 \\\n      \
                  --key viewer.pem --peers cameras"
)]
pub(super) struct ServerArgs {
    /// The address and port of a program that takes datagrams; may be repeated. A multicast group may have
    /// interface= and ttl=: 239.1.2.3:5004,interface=eth0,ttl=4. What it answers may be stream=command,
    /// stream=newest or stream=bulk.
    #[arg(long, value_name = "ADDRESS:PORT", required = true, value_parser = parse_to)]
    to: Vec<ProgramAddress>,
    #[command(flatten)]
    own: OwnAddress,
    #[command(flatten)]
    losses: LossDifferentiation,
    #[command(flatten)]
    order: Reordering,
    /// Clients at a time; a further one takes the place of the oldest [default: 8]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..))]
    max_peers: Option<u16>,
    /// End when the first client has ended.
    #[arg(long)]
    one_off: bool,
    #[command(flatten)]
    common: CommonArgs,
    #[command(flatten)]
    security: SecurityArgs,
}

/// Options of the end that follows its link.
#[derive(Clone, Copy, Debug, Args)]
struct LinkArgs {
    /// Freeze while there is no route to the other end, and follow the route to another address (Linux).
    #[arg(long)]
    freeze_on_link_loss: bool,
    /// Follow the route to another address without freezing (Linux).
    #[arg(long, conflicts_with = "freeze_on_link_loss")]
    follow_link: bool,
}

/// The options of both ends.
#[derive(Debug, Args)]
struct CommonArgs {
    /// Drop a datagram that congestion control holds back for longer, and the frame of which it is a part
    /// [default: the latency, 200ms without repair]
    #[arg(long, value_name = "DELAY", value_parser = parse_delay)]
    stale: Option<Duration>,
    /// Repair lost datagrams within this time, and deliver in order; without losses nothing waits. Three to
    /// four round-trip times are enough; the shorter latency of both ends limits repair. 0 repairs nothing.
    #[arg(long, value_name = "DELAY", default_value = "150ms", value_parser = parse_latency)]
    latency: Duration,
    /// Restart of this end's data after a freeze (CCIDs 3 and 4) [default: following]
    #[arg(long, value_name = "RULE", value_enum)]
    restart: Option<RestartRule>,
    /// Seconds between two report lines.
    #[arg(long, short = 'i', default_value = "1", value_parser = parse_seconds)]
    interval: Duration,
    /// The codec of the RTP streams to send: keep parameter sets, and drop frames without references first.
    #[arg(long, value_name = "CODEC", value_parser = parse_codec())]
    video: Option<Codec>,
    /// Send encoders the allowed rate by RTCP (REMB), at the port from which they send.
    #[arg(long)]
    remb: bool,
    /// Report the arrivals of RTP packets at this end to the encoders that sent them (transport-wide
    /// congestion control): the identifier, 1 to 255, of the header extension with their sequence numbers.
    #[arg(long, value_name = "ID", value_parser = clap::value_parser!(u8).range(1..))]
    transport_cc: Option<u8>,
    /// Serve the state by HTTP at this address: /rate for encoders, /metrics for Prometheus, / for all of it.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = parse_own)]
    http: Option<SocketAddr>,
    /// The token that each request to --http needs, for programs that ask again and again: 16 to 256 letters,
    /// digits and - . _ ~ + / = [default: a new one at each start, at an address that other hosts can reach]
    #[arg(long, value_name = "FILE", requires = "http")]
    http_token_file: Option<PathBuf>,
    /// Chooses the path of each datagram of this end, if there are several.
    #[arg(long, value_name = "NAME", default_value = "lowest-rtt", value_parser = parse_scheduler())]
    scheduler: SchedulerKind,
    /// The most flows of a connection: programs at the --from ports. Beyond, the one that is silent for
    /// longest ends [default: 64]
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..=MAX_FLOWS as i64))]
    flows: Option<u16>,
    #[command(flatten)]
    marking: Marking,
    /// Print JSON objects instead of lines.
    #[arg(long)]
    json: bool,
}

impl CommonArgs {
    fn options(&self) -> Result<Options, Failure> {
        let latency = Some(self.latency).filter(|latency| !latency.is_zero());
        if latency.is_none() && self.scheduler == SchedulerKind::Coded {
            let text =
                "--scheduler coded: it spreads repeats and coded packets, which --latency 0 switches off";
            return Err(Failure::Usage(text.into()));
        }
        let default = Options::default();
        let token = self.http_token_file.as_deref().map(read_token).transpose();
        Ok(Options {
            stale: self.stale.or(latency).unwrap_or(default.stale),
            latency,
            restart: self.restart.map(Into::into),
            interval: self.interval,
            http_token: token.map_err(|error| Failure::Usage(format!("--http-token-file {error:#}")))?,
            video: self.video,
            remb: self.remb,
            transport_cc: self.transport_cc,
            flows: usize::from(self.flows.unwrap_or(FLOWS)),
            http: self.http,
            dscp: self.marking.dscp,
            scheduler: self.scheduler,
            ..default
        })
    }
}

/// The token in a file that only its owner can read.
fn read_token(path: &Path) -> anyhow::Result<Token> {
    let text = keys::read_private(path)?;
    Token::chosen(text.trim_end_matches(['\n', '\r'])).with_context(|| path.display().to_string())
}

impl ClientArgs {
    /// Makes the defaults fit one program.
    pub(super) fn carry_one(&mut self) {
        self.common.flows.get_or_insert(FLOWS_OF_ONE);
    }

    pub(super) async fn run(self) -> Result<(), Failure> {
        let near = Near {
            options: self.common.options()?,
            protection: self.security.protection(&self.host).await?,
            host: self.host,
            from: self.from.into(),
            ccid: self.congestion.ccid(),
            freezes: self.link.freeze_on_link_loss,
            follows: self.link.follow_link,
            paths: self.path,
            outages: outages()?,
        };
        connect(near, self.common.json).await
    }
}

impl ServerArgs {
    /// Makes the defaults fit one program; a new client replaces the one before.
    pub(super) fn serve_one(&mut self) {
        self.common.flows.get_or_insert(FLOWS_OF_ONE);
        self.max_peers.get_or_insert(1);
    }

    pub(super) async fn run(self) -> Result<(), Failure> {
        let far = Far {
            options: self.common.options()?,
            to: self.to.into(),
            bind: self.own.bind,
            socket: None,
            lda: self.losses.lda,
            reorder: self.order.reorder,
            max_peers: usize::from(self.max_peers.unwrap_or(PEERS)),
            one_off: self.one_off,
            protection: self.security.protection()?,
        };
        listen(far, self.common.json).await
    }
}
