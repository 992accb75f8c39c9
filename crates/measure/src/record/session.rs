//! The client: runs a recording.

use std::cell::Cell;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration as StdDuration;

use anyhow::{Context, anyhow, bail};
use tokio::time::timeout;
use whimbrel_net::{Clock, HostPort, WatchedSocket};
use whimbrel_relay::Stop;
use whimbrel_relay::address::{connect_tcp, resolve};
use whimbrel_relay::text::quoted;
use whimbrel_units::{DataRate, Duration};

use super::analysis::Direction;
use super::clocks::ClockFit;
use super::files::Recording;
use super::probe::{Arrival, Class, Header, Kind, PING};
use super::prober::{DRAIN, Figures, Prober, bind, send_to};
use super::protocol::{Lines, MAX_PROBES, Message, Plan, VERSION};
use super::server::patience;
use super::{Mode, PORT};

/// Time limit of the connection and of the server's answers before the start.
const ANSWER_TIME: StdDuration = StdDuration::from_secs(6);
/// Time between two updates of the progress.
const PROGRESS_INTERVAL: StdDuration = StdDuration::from_millis(200);
/// Time between two datagrams that announce this end's address.
const HELLO_INTERVAL: StdDuration = StdDuration::from_millis(50);

/// Recording settings.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The server.
    pub host: HostPort,
    /// Load on the path.
    pub mode: Mode,
    /// Time for which each direction is loaded.
    pub time: Duration,
    /// Rate of the probes, with their headers: constant, or the most under saturation.
    pub rate: DataRate,
}

/// State of a recording.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Progress {
    /// The time that has passed.
    pub passed: Duration,
    /// The whole.
    pub whole: Duration,
    /// Totals of this end so far.
    pub figures: Figures,
}

/// The token of a recording, its plan, its control connection, its socket and the server's address.
struct Agreed {
    name: String,
    token: u64,
    plan: Plan,
    lines: Lines,
    udp: WatchedSocket,
    peer: SocketAddr,
}

/// Records a path. If it is stopped before both directions were probed, a recording at a constant rate has
/// what there is, and there is none of another kind. `progress` is told several times a second.
///
/// # Errors
/// The server is not reached, refuses the plan, or is lost.
pub async fn record(
    settings: &Settings,
    progress: &(dyn Fn(&Progress) + Sync),
    stop: &mut Stop,
) -> anyhow::Result<Option<Recording>> {
    let mut agreed = tokio::select! {
        agreed = agree(settings) => agreed?,
        () = stop.raised() => return Ok(None),
    };
    let Some((down, up_sent)) = probe(&mut agreed, progress, stop).await? else { return Ok(None) };
    let Agreed { name, plan, mut lines, .. } = agreed;
    // From here on, the recording cannot be stopped.
    let log = timeout(patience(&plan), lines.receive_log(&plan)).await;
    let (up, down_sent) = log.with_context(|| format!("{name}: no log of arrivals"))??;
    assemble(&name, &plan, (up, up_sent), (down, down_sent)).map(Some)
}

/// Agrees on a plan with the server, which then knows the address of this end.
async fn agree(Settings { host, mode, time, rate }: &Settings) -> anyhow::Result<Agreed> {
    let plan = Plan {
        version: VERSION,
        mode: *mode,
        load_ms: time.as_nanos() / 1_000_000,
        rate_bps: rate.as_bits_per_second(),
    };
    if plan.probes() > MAX_PROBES {
        bail!("{} probes are more than {MAX_PROBES}: choose a lower --rate or --time", plan.probes());
    }
    let port = host.port().unwrap_or(PORT);
    let name = format!("{host}");
    let addresses = resolve(host, PORT).await?;
    let stream = timeout(ANSWER_TIME, connect_tcp(&addresses))
        .await
        .with_context(|| format!("{name}: no answer on TCP port {port}"))?
        .with_context(|| format!("{name}: TCP port {port}: is `whimbrel record server` running there?"))?;
    let peer = stream.peer_addr()?;
    let mut lines = Lines::new(stream);
    lines.send(&Message::Plan(plan)).await?;
    let token =
        match timeout(ANSWER_TIME, lines.next()).await.with_context(|| format!("{name}: no answer"))?? {
            Some(Message::Accepted { token }) => token,
            Some(Message::Refused { reason }) => bail!("{name} refuses: {}", quoted(&reason)),
            Some(other) => {
                bail!("{name}: expected an answer to the plan, found {}", quoted(&format!("{other:?}")))
            }
            None => bail!("{name} has closed the connection"),
        };
    let udp = bind(match peer {
        SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    })?;
    timeout(ANSWER_TIME, announce(&udp, peer, token, &mut lines))
        .await
        .with_context(|| format!("{name}: the server receives no datagrams on UDP port {port}"))??;
    Ok(Agreed { name, token, plan, lines, udp, peer })
}

/// Sends and receives probes. A stop ends a load of both directions early; the plan then has its length.
async fn probe(
    agreed: &mut Agreed,
    progress: &(dyn Fn(&Progress) + Sync),
    stop: &mut Stop,
) -> anyhow::Result<Option<Log>> {
    let Agreed { token, lines, udp, peer, .. } = agreed;
    let (clock, plan, figures) = (Clock::start(), Cell::new(agreed.plan), Cell::default());
    let start = clock.now();
    let probing = Prober::new(udp, *peer, (*token, false), &plan, &figures, clock).run();
    let stopping = async {
        stop.raised().await;
        let Some(shorter) = plan.get().shortened(clock.now() - start) else { return Ok(None) };
        plan.set(shorter);
        match lines.send(&Message::Stop { load_ms: shorter.load_ms }).await {
            Ok(()) => std::future::pending().await,
            Err(error) => Err(error),
        }
    };
    let showing = async {
        loop {
            let (passed, whole) = (clock.now() - start, plan.get().length() + DRAIN);
            progress(&Progress { passed, whole, figures: figures.get() });
            tokio::time::sleep(PROGRESS_INTERVAL).await;
        }
    };
    let log = tokio::select! {
        probed = probing => probed?,
        stopped = stopping => return stopped,
        () = showing => unreachable!("it shows the progress until the end"),
    };
    agreed.plan = plan.get();
    Ok(Some(log))
}

/// Announces this end's address until the server starts.
async fn announce(
    udp: &WatchedSocket,
    peer: SocketAddr,
    token: u64,
    lines: &mut Lines,
) -> anyhow::Result<()> {
    let mut hello = [0; PING];
    Header { kind: Kind::Hello, token, number: 0, sent_us: 0 }.write(&mut hello);
    loop {
        // Refused datagrams are reported by the time limit.
        let _ = send_to(udp, &hello, peer);
        match timeout(HELLO_INTERVAL, lines.next()).await {
            Err(_) => {}
            Ok(Ok(Some(Message::Start))) => return Ok(()),
            Ok(Ok(None)) => bail!("the server has received no datagram of this end: UDP may be blocked"),
            Ok(Ok(other)) => bail!("expected the start, found {}", quoted(&format!("{other:?}"))),
            Ok(Err(error)) => return Err(error),
        }
    }
}

/// A log of arrivals, and the numbers of probes sent by class.
type Log = (Vec<Arrival>, [u64; 3]);

/// Puts both directions on the client's clock.
fn assemble(name: &str, plan: &Plan, up: Log, down: Log) -> anyhow::Result<Recording> {
    let seconds = |us: i64| us as f64 * 1e-6;
    let delay = |packet: &Arrival| seconds(packet.arrived_us - packet.sent_us);
    let up_points: Vec<_> = up.0.iter().map(|packet| (seconds(packet.sent_us), delay(packet))).collect();
    let down_points: Vec<_> =
        down.0.iter().map(|packet| (seconds(packet.arrived_us), delay(packet))).collect();
    let clocks = ClockFit::new(&up_points, &down_points).ok_or_else(|| {
        let silent = if up.0.is_empty() { "to" } else { "from" };
        anyhow!("no probe has passed {silent} {name}: UDP may be blocked")
    })?;
    // The server's time of an event less its lead at that event; the lead changes by nanoseconds within a
    // packet's delay. A peer's times may be any.
    let ahead = |at_us: i64| (clocks.ahead(seconds(at_us)) * 1e6).clamp(-1e15, 1e15).round() as i64;
    let micros = |time_us: i64, at_us: i64| time_us - ahead(at_us);
    let up_packets =
        up.0.iter()
            .map(|packet| Arrival { arrived_us: micros(packet.arrived_us, packet.sent_us), ..*packet });
    let down_packets =
        down.0.iter().map(|packet| Arrival { sent_us: micros(packet.sent_us, packet.arrived_us), ..*packet });
    let direction = |packets: Vec<Arrival>, sent: [u64; 3]| {
        let loads = packets.iter().filter(|packet| packet.class == Class::Load);
        let begin = loads.map(|packet| packet.sent_us).min().unwrap_or(0);
        let shifted = packets.into_iter().map(|packet| Arrival {
            sent_us: packet.sent_us - begin,
            arrived_us: packet.arrived_us - begin,
            ..packet
        });
        let load_us = i64::try_from(plan.load_ms * 1000).unwrap_or(i64::MAX);
        Direction { mode: plan.mode, packets: shifted.collect(), sent, load_us }
    };
    Ok(Recording {
        host: name.to_owned(),
        mode: plan.mode,
        load_s: plan.load_ms as f64 * 1e-3,
        rate_limit_bps: plan.rate().as_bits_per_second(),
        clocks,
        up: direction(up_packets.collect(), up.1),
        down: direction(down_packets.collect(), down.1),
    })
}
