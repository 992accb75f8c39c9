//! `whimbrel carry`: carries the UDP datagrams of another program, such as a camera's RTP, over DCCP.

mod follow;
mod forward;
mod output;

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration as StdDuration;

use anyhow::{Context, anyhow};
use clap::{Args, Subcommand};
use tokio::net::{UdpSocket, lookup_host};
use tokio::time::{sleep, timeout};
use whimbrel_net::{
    Ccid, Config, Differentiation, Listener, NetError, OverflowPolicy, Scheme, SendQueueConfig, ServiceCode,
    Socket, TimerConfig,
};
use whimbrel_units::Duration;

use super::perf::handover::{RestartRule, willing};
use super::perf::target::{Target, parse_target};
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::quantity::{accepted_ccids, mechanisms, parse_ccid, parse_delay, parse_seconds};
use follow::Follow;
use forward::{Ending, Forwarding};
use output::Lines;

/// The DCCP port behind the UDP port.
const DCCP_PORT: u16 = 5004;
/// Time limit for the handshake.
const ANSWER_TIME: StdDuration = StdDuration::from_secs(10);
/// Time between two attempts to connect again.
const RETRY_TIME: StdDuration = StdDuration::from_secs(1);
/// Silence after which the other end counts as dead.
const IDLE_LIMIT: Duration = Duration::from_secs(30);
/// Datagrams that may wait in the send queue; they become stale long before they fill it.
const QUEUE: usize = 4096;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  whimbrel carry receive --to 127.0.0.1:5004\n  \
                  whimbrel carry send 192.0.2.7 --from 127.0.0.1:5004")]
pub(crate) struct CarryArgs {
    #[command(subcommand)]
    end: End,
}

#[derive(Debug, Subcommand)]
enum End {
    /// Send the datagrams that arrive at a UDP port of this host.
    Send(Box<SendArgs>),
    /// Pass the datagrams of a sender to a UDP port.
    Receive(ReceiveArgs),
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  whimbrel carry send 192.0.2.7 --from 127.0.0.1:5004\n  \
                  whimbrel carry send 192.0.2.7 --from 127.0.0.1:5004 --stale 100ms --freeze-on-link-loss\n\n\
                  Datagrams that come back are sent to the program whose datagram arrived last. After a lost connection it\n\
                  connects again. Data are neither encrypted nor authenticated: use SRTP, or another protocol that is.\n\
                  SIGUSR1, sent a round-trip time before an outage, freezes both directions; SIGUSR2, or the link's return,\n\
                  unfreezes them.\n\
                  docs/carry.md has complete commands for a camera.")]
struct SendArgs {
    /// The receiver's name or address, with or without its port: host, 192.0.2.7:6511, [2001:db8::7]:6511.
    #[arg(value_name = "HOST[:PORT]", value_parser = parse_target)]
    host: Target,
    /// The address and port at which the program's datagrams arrive.
    #[arg(long, value_name = "ADDRESS:PORT")]
    from: SocketAddr,
    /// Congestion control: 2 (TCP-like), 3 (TFRC), 4 (TFRC for small packets), or an experiment: cubic, veno, westwood, prague, delay-aware.
    #[arg(long, default_value_t = 3, value_parser = parse_ccid)]
    ccid: u8,
    /// Freeze while there is no route to the receiver, and follow the route to another address (Linux).
    #[arg(long)]
    freeze_on_link_loss: bool,
    /// Follow the route to another address without freezing (Linux).
    #[arg(long, conflicts_with = "freeze_on_link_loss")]
    follow_link: bool,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  whimbrel carry receive --to 127.0.0.1:5004\n  \
                  whimbrel carry receive --to 127.0.0.1:5004 --bind 0.0.0.0:6511 --lda zbs3 --reorder 30ms\n\n\
                  It serves one sender; a new one replaces it.")]
struct ReceiveArgs {
    /// The address and port of the program that takes the datagrams.
    #[arg(long, value_name = "ADDRESS:PORT")]
    to: SocketAddr,
    /// Address and port for UDP; port 0: any free one [default: port 6511 of all addresses]
    #[arg(long, value_name = "ADDRESS:PORT")]
    bind: Option<SocketAddr>,
    /// Distinguish losses on a radio from congestion losses, and slow down for the latter only (CCIDs 3 and 4):
    /// biaz, mbiaz, spike, zigzag, zbs, zbs2, zbs3 or inherent. A guard limits its effect.
    #[arg(long, value_name = "SCHEME")]
    lda: Option<Scheme>,
    /// Deliver datagrams in order: a datagram that arrives early waits for earlier ones, for at most this time.
    #[arg(long, value_name = "DELAY", value_parser = parse_delay)]
    reorder: Option<Duration>,
    /// End when the first sender has ended.
    #[arg(long)]
    one_off: bool,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Debug, Args)]
struct CommonArgs {
    /// Drop a datagram that congestion control holds back for longer.
    #[arg(long, value_name = "DELAY", default_value = "200ms", value_parser = parse_delay)]
    stale: Duration,
    /// Restart of this end's data after a freeze (CCIDs 3 and 4) [default: following]
    #[arg(long, value_name = "RULE", value_enum)]
    restart: Option<RestartRule>,
    /// Seconds between two report lines.
    #[arg(long, short = 'i', default_value = "1", value_parser = parse_seconds)]
    interval: Duration,
    /// Print JSON objects instead of lines.
    #[arg(long)]
    json: bool,
}

impl CommonArgs {
    /// The configuration with these options.
    fn configure(&self, mut config: Config) -> Config {
        if let Some(rule) = self.restart {
            config.freeze.restart = rule.into();
        }
        config
    }
}

/// Runs the verb.
pub(crate) fn run(args: CarryArgs) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match args.end {
        End::Send(args) => runtime.block_on(send(*args)),
        End::Receive(args) => runtime.block_on(receive(args)),
    }
}

/// The configuration that both ends share.
fn config() -> Config {
    let config = Config::default()
        .ccids(mechanisms())
        .service_code(ServiceCode::RTP_VIDEO)
        .send_queue(SendQueueConfig::default().max_datagrams(QUEUE).overflow(OverflowPolicy::Refuse))
        .timers(TimerConfig::default().idle(Some(IDLE_LIMIT)));
    willing(config)
}

async fn open_udp(at: SocketAddr) -> anyhow::Result<UdpSocket> {
    UdpSocket::bind(at).await.with_context(|| format!("UDP {at}"))
}

async fn send(args: SendArgs) -> Result<(), Failure> {
    let mut interrupt = Interrupt::listen_as_service()?;
    let port = args.host.port.unwrap_or(whimbrel_net::DCCP_UDP_PORT);
    let at = lookup_host((args.host.host.as_str(), port))
        .await
        .with_context(|| format!("{} cannot be resolved", args.host.host))?
        .next()
        .ok_or_else(|| anyhow!("{} has no address", args.host.host))?;
    let udp = open_udp(args.from).await?;
    let ccid = Ccid(args.ccid);
    let config = args.common.configure(config()).sender_ccids([ccid]).receiver_ccids([ccid]);
    let mut lines = Lines::new(args.common.json, args.common.interval);
    lines.waiting(&format!("datagrams at UDP {} go to {at}", udp.local_addr()?))?;
    let mut has_connected = false;
    loop {
        let opening = timeout(ANSWER_TIME, Socket::connect(at, DCCP_PORT, config.clone()));
        let opened = tokio::select! {
            opened = opening => opened,
            () = interrupt.raised() => return Err(Failure::Interrupted),
        };
        let socket = match opened {
            Ok(Ok(socket)) => socket,
            failed => {
                let error = match failed {
                    Ok(Err(error)) => anyhow::Error::new(error).context(format!("DCCP connection to {at}")),
                    _ => anyhow!(
                        "no DCCP answer from UDP {at}: is `whimbrel carry receive` running there, and UDP allowed?"
                    ),
                };
                if !has_connected {
                    return Err(error.into());
                }
                tokio::select! {
                    () = sleep(RETRY_TIME) => continue,
                    () = interrupt.raised() => return Err(Failure::Interrupted),
                }
            }
        };
        has_connected = true;
        lines.connected(at)?;
        let follow = Follow::start(at.ip(), args.freeze_on_link_loss, args.follow_link)?;
        let forwarding = Forwarding { socket: &socket, udp: &udp, target: None, stale: args.common.stale };
        match forwarding.run(&mut lines, &mut interrupt, Some(follow), None).await? {
            Ending::Interrupted => {
                socket.close().await;
                lines.end()?;
                return Err(Failure::Interrupted);
            }
            Ending::Over(error) => lines.ended(&error.to_string())?,
            Ending::Replaced(_) => {}
        }
    }
}

async fn receive(args: ReceiveArgs) -> Result<(), Failure> {
    let mut interrupt = Interrupt::listen_as_service()?;
    let mut config =
        args.common.configure(config()).sender_ccids(accepted_ccids()).receiver_ccids(accepted_ccids());
    config.tune_tfrc(|tfrc| tfrc.differentiation = args.lda.map(Differentiation::guarded));
    config.receive.reorder_delay = args.reorder;
    let listener = listen(args.bind, &config).await?;
    // Datagrams of the program go back to the sender.
    let any: SocketAddr = match args.to {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let udp = open_udp(any).await?;
    let mut lines = Lines::new(args.common.json, args.common.interval);
    lines.waiting(&format!("listening at UDP {}; datagrams go to {}", listener.local(), args.to))?;
    let mut next = None;
    loop {
        let socket = match next.take() {
            Some(socket) => socket,
            None => tokio::select! {
                accepted = listener.accept() => accepted?,
                () = interrupt.raised() => return Err(Failure::Interrupted),
            },
        };
        lines.connected(socket.remote())?;
        let forwarding =
            Forwarding { socket: &socket, udp: &udp, target: Some(args.to), stale: args.common.stale };
        match forwarding.run(&mut lines, &mut interrupt, None, Some(&listener)).await? {
            Ending::Interrupted => {
                socket.close().await;
                lines.end()?;
                return Err(Failure::Interrupted);
            }
            Ending::Over(error) => lines.ended(&error.to_string())?,
            Ending::Replaced(newer) => {
                lines.ended("another sender has connected")?;
                socket.abort();
                next = Some(newer);
            }
        }
        if args.one_off {
            return Ok(());
        }
    }
}

/// Listens at the requested address, by default at any address of either family, or of IPv4 if there is no IPv6.
async fn listen(wanted: Option<SocketAddr>, config: &Config) -> anyhow::Result<Listener> {
    let port = whimbrel_net::DCCP_UDP_PORT;
    let bind = |at: SocketAddr| async move {
        let bound: Result<Listener, NetError> = Listener::bind(at, DCCP_PORT, config.clone()).await;
        bound.with_context(|| format!("UDP {at}"))
    };
    match wanted {
        Some(at) => bind(at).await,
        None => match bind((Ipv6Addr::UNSPECIFIED, port).into()).await {
            Ok(listener) => Ok(listener),
            Err(_) => bind((Ipv4Addr::UNSPECIFIED, port).into()).await,
        },
    }
}

#[cfg(test)]
mod tests;
