//! `whimbrel pipe`: standard input to standard output of another host, as encrypted datagrams.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration as StdDuration;

use anyhow::Context;
use bytes::Bytes;
use clap::{Args, Subcommand};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::timeout;
use whimbrel_net::multipath::SchedulerKind;
use whimbrel_net::{
    Ccid, Config, ConnectionError, HostOptions, HostPort, Listener, Mark, NetError, OverflowPolicy,
    SendError, SendQueueConfig, ServiceCode, Setup, Socket, TimerConfig, connect_any,
};
use whimbrel_units::Duration;

use super::perf::handover::willing;
use super::relay::{
    ACROSS_PATHS, Link, PathSpec, Paths, Watch, accept, check, parse_scheduler, several_paths,
};
use crate::edge::address::{joined, parse_own, parse_server, resolve};
use crate::edge::ledger::{Ledger, Reason};
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::print;
use crate::quantity::{accepted_ccids, mechanisms, parse_ccid, parse_delay};
use crate::security::{ClientSecurityArgs, SecurityArgs, is_loopback, required};

/// The DCCP port behind the UDP port, and the Service Codes: in the clear, and with DTLS (RFC 5238, Section 3.6).
const DCCP_PORT: u16 = 5006;
const SERVICE_CODE: &str = "wpip";
const SECURED_SERVICE_CODE: &str = "wpis";
/// Time limit for both handshakes.
const ANSWER_TIME: StdDuration = StdDuration::from_secs(35);
/// Silence after which the other end counts as dead.
const IDLE_LIMIT: Duration = Duration::from_secs(30);
/// Datagrams that wait between a thread that reads or writes, and the connection.
const WAITING: usize = 64;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  whimbrel pipe listen --secret-file pipe.secret > received.log\n  \
                  tail -f sensor.log | whimbrel pipe connect 192.0.2.7 --lines --secret-file pipe.secret\n\n\
                  Datagrams may be lost or overtake each other, as on the path; --reorder puts them in order.")]
pub(crate) struct PipeArgs {
    #[command(subcommand)]
    end: End,
}

#[derive(Debug, Subcommand)]
enum End {
    /// Connect to a listening pipe; end with standard input.
    Connect(Box<ConnectArgs>),
    /// Wait for a connecting pipe; end with it.
    Listen(Box<ListenArgs>),
}

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  tail -f sensor.log | whimbrel pipe connect 192.0.2.7 --lines --secret-file pipe.secret"
)]
struct ConnectArgs {
    /// The listening pipe's name or address, with or without its port: host, 192.0.2.7:6511, [2001:db8::7]:6511.
    #[arg(value_name = "HOST[:PORT]", value_parser = parse_server)]
    host: HostPort,
    /// Use several paths at a time (MP-DCCP): the name or an address of a network interface; may be repeated, and may have
    /// priority=, weight= and cost=, as for whimbrel relay (Linux).
    #[arg(long, value_name = "INTERFACE|ADDRESS")]
    path: Vec<PathSpec>,
    /// Congestion control: 2 (TCP-like), 3 (TFRC), 4 (TFRC for small packets), or an experiment: cubic, veno, westwood, prague, delay-aware.
    #[arg(long, default_value_t = 2, value_parser = parse_ccid)]
    ccid: u8,
    #[command(flatten)]
    common: CommonArgs,
    #[command(flatten)]
    security: ClientSecurityArgs,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  whimbrel pipe listen --reorder 100ms --secret-file pipe.secret > received.log"
)]
struct ListenArgs {
    /// Address and port for UDP; port 0: any free one [default: port 6511 of all IPv4 addresses]
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = parse_own)]
    bind: Option<SocketAddr>,
    /// Deliver datagrams in order: a datagram that arrives early waits for earlier ones, for at most this time
    /// [default: 150ms if the other end has several paths, otherwise no order]
    #[arg(long, value_name = "DELAY", value_parser = parse_delay)]
    reorder: Option<Duration>,
    #[command(flatten)]
    common: CommonArgs,
    #[command(flatten)]
    security: SecurityArgs,
}

#[derive(Clone, Copy, Debug, Args)]
struct CommonArgs {
    /// A datagram for each line of standard input, with its end; longer lines take several.
    #[arg(long)]
    lines: bool,
    /// Chooses the path of each datagram of this end, if there are several.
    #[arg(long, value_name = "NAME", default_value = "lowest-rtt", value_parser = parse_scheduler())]
    scheduler: SchedulerKind,
    /// The most bytes of a datagram.
    #[arg(long, value_name = "BYTES", default_value_t = 1200, value_parser = clap::value_parser!(u16).range(1..=16_000))]
    chunk: u16,
    /// Print the figures at the end to standard error as JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub(crate) fn run(args: PipeArgs) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let result = match args.end {
        End::Connect(args) => runtime.block_on(connect(*args)),
        End::Listen(args) => runtime.block_on(listen(*args)),
    };
    // A thread may still wait for input.
    runtime.shutdown_background();
    result
}

fn config(is_secured: bool) -> Config {
    let letters = if is_secured { SECURED_SERVICE_CODE } else { SERVICE_CODE };
    willing(
        Config::default()
            .ccids(mechanisms())
            .service_code(ServiceCode::from_letters(letters).unwrap_or_default())
            .send_queue(SendQueueConfig::default().overflow(OverflowPolicy::Refuse))
            .timers(TimerConfig::default().idle(Some(IDLE_LIMIT))),
    )
}

async fn connect(args: ConnectArgs) -> Result<(), Failure> {
    let mut interrupt = Interrupt::listen_as_service()?;
    let host = args.host.host();
    if !args.path.is_empty() {
        check(&args.path)?;
    }
    let port = args.host.port().unwrap_or(whimbrel_net::DCCP_UDP_PORT);
    let addresses = resolve(&args.host, port).await?;
    let is_local = addresses.iter().all(|at| is_loopback(at.ip()));
    let security = args.security.client(host, port, is_local)?;
    if security.security.is_none() && !args.security.both.is_insecure() && !is_local {
        return Err(Failure::Usage(required(host)));
    }
    let ccid = Ccid(args.ccid);
    let config = config(security.security.is_some()).sender_ccids([ccid]).receiver_ccids([ccid]);
    let setup = Setup::new(config, security.security.clone());
    let opening = connect_any(&addresses, |at| open(&args, at, setup.clone()));
    let opened = tokio::select! {
        opened = timeout(ANSWER_TIME, opening) => opened,
        () = interrupt.raised() => return Err(Failure::Interrupted),
    };
    let opened = match opened {
        Ok(opened) => opened.map_err(joined),
        Err(_) => Err(NetError::Connection(ConnectionError::TimedOut).into()),
    };
    let (_, (link, watch)) = opened.with_context(|| format!("no pipe at {}", args.host.or_port(port)))?;
    security.established(link.peer())?;
    forward(&link, watch, args.common, true, &mut interrupt).await
}

/// Opens a connection over the system's route, or over the requested paths.
async fn open(args: &ConnectArgs, at: SocketAddr, setup: Setup) -> anyhow::Result<(Link, Watch)> {
    if args.path.is_empty() {
        return Ok((Link::Single(Socket::connect(at, DCCP_PORT, setup).await?), Watch::Events));
    }
    let scheduler = args.common.scheduler;
    let setup = setup.map_config(|mut config| {
        config.receive.reorder_delay = Some(ACROSS_PATHS);
        config
    });
    let (setup, options) = (setup.over_paths([], several_paths(scheduler)), HostOptions::default());
    let (mut paths, socket) = Paths::connect(&args.path, at, DCCP_PORT, setup, options).await?;
    paths.join_all(&socket).iter().for_each(print::note);
    Ok((Link::several(socket, scheduler), Watch::Paths(Box::new(paths))))
}

async fn listen(args: ListenArgs) -> Result<(), Failure> {
    let mut interrupt = Interrupt::listen_as_service()?;
    let security = args.security.server()?;
    let local_only = security.is_none() && !args.security.is_insecure();
    let any = if local_only { Ipv4Addr::LOCALHOST } else { Ipv4Addr::UNSPECIFIED };
    let at = args.bind.unwrap_or((any, whimbrel_net::DCCP_UDP_PORT).into());
    if local_only && !is_loopback(at.ip()) {
        return Err(Failure::Usage(required(&at.to_string())));
    }
    let mut config =
        config(security.is_some()).sender_ccids(accepted_ccids()).receiver_ccids(accepted_ccids());
    config.receive.reorder_delay = args.reorder;
    let mut over_paths = config.clone();
    over_paths.receive.reorder_delay = Some(args.reorder.unwrap_or(ACROSS_PATHS));
    let listener = Listener::bind(at, DCCP_PORT, Setup::new(config, security.clone())).await;
    let listener = listener.with_context(|| format!("UDP {at}"))?;
    let scheduler = args.common.scheduler;
    listener.listen(DCCP_PORT, Setup::new(over_paths, security).over_paths([], several_paths(scheduler)))?;
    print::note(format_args!("listening at UDP {}", listener.local()));
    let link = tokio::select! {
        accepted = accept(&listener, scheduler) => accepted?,
        () = interrupt.raised() => return Err(Failure::Interrupted),
    };
    // It serves one.
    drop(listener);
    forward(&link, Watch::Events, args.common, false, &mut interrupt).await
}

/// Forwards standard input to the connection, and its datagrams to standard output. `ends`: the connection ends with the input.
async fn forward(
    link: &Link,
    mut watch: Watch,
    args: CommonArgs,
    ends: bool,
    interrupt: &mut Interrupt,
) -> Result<(), Failure> {
    let (read, mut input) = mpsc::channel(WAITING);
    std::thread::spawn(move || read_input(args, &read));
    let (output, mut written) = mpsc::channel::<Bytes>(WAITING);
    let writer = tokio::task::spawn_blocking(move || -> std::io::Result<()> {
        #[allow(clippy::disallowed_methods, reason = "the peer's bytes are the output")]
        let mut out = std::io::stdout().lock();
        while let Some(data) = written.blocking_recv() {
            out.write_all(&data)?;
            // What has arrived is seen, also if no more follows.
            if written.is_empty() {
                out.flush()?;
            }
        }
        out.flush()
    });
    let (mut sent, mut received_here) = (Count::default(), Count::default());
    let ledger = Ledger::default();
    let mut has_input = true;
    let mut arrived = Vec::new();
    let ended = loop {
        tokio::select! {
            data = input.recv(), if has_input => match data {
                Some(Ok(data)) => {
                    sent.add(&data);
                    send(link, data, &ledger).await?;
                }
                Some(Err(error)) => return Err(anyhow::Error::new(error).context("standard input").into()),
                None if ends => {
                    link.observed().into_iter().for_each(|observed| ledger.observe_without_deadlines(observed));
                    break link.close().await.err();
                }
                None => has_input = false,
            },
            received = link.recv_many(&mut arrived, WAITING) => {
                if let Err(error) = received {
                    break Some(error);
                }
                // Without a reader of the output the connection is of no use.
                if !write(&mut arrived, &output, &mut received_here, &ledger).await {
                    break None;
                }
            }
            change = watch.next(link) => {
                watch.apply(change?, link).await.iter().for_each(print::note);
            }
            () = interrupt.raised() => {
                // The interruption is the result, however the connection ends.
                let _ = link.close().await;
                return Err(Failure::Interrupted);
            }
        }
    };
    // What arrived before the end.
    while link.recv_many(&mut arrived, WAITING).await.is_ok() {
        if !write(&mut arrived, &output, &mut received_here, &ledger).await {
            break;
        }
    }
    link.observed().into_iter().for_each(|observed| ledger.observe_without_deadlines(observed));
    let sums = ledger.sums();
    if args.json {
        let (to_peer, from_peer) = (sums.to_peer, sums.from_peer);
        print::aside(
            json!({ "sent": sent, "received": received_here, "to_peer": to_peer, "from_peer": from_peer }),
        );
    } else if sums.to_peer.lost.sum() + sums.from_peer.lost.sum() > 0 {
        print::note(format_args!("sent {}; received {}", sums.to_peer, sums.from_peer));
    }
    drop(output);
    match writer.await.context("the writer")? {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            return Err(anyhow::Error::new(error).context("standard output").into());
        }
        _ => {}
    }
    match ended {
        None | Some(NetError::Connection(ConnectionError::ClosedByPeer)) => Ok(()),
        Some(error) => Err(error.into()),
    }
}

/// Passes datagrams to the writer. Returns `false` if it has ended.
async fn write(
    arrived: &mut Vec<Bytes>,
    output: &mpsc::Sender<Bytes>,
    count: &mut Count,
    ledger: &Ledger,
) -> bool {
    for data in arrived.drain(..) {
        count.add(&data);
        ledger.on_arrived();
        if output.send(data).await.is_err() {
            return false;
        }
    }
    true
}

/// Sends data, in pieces if the path carries less than they take.
async fn send(link: &Link, mut data: Bytes, ledger: &Ledger) -> Result<(), Failure> {
    loop {
        match send_whole(link, &data, ledger).await {
            Ok(()) => return Ok(()),
            Err(NetError::Send(SendError::TooLarge { limit, .. })) if (1..data.len()).contains(&limit) => {
                let piece = data.split_to(limit);
                match send_whole(link, &piece, ledger).await {
                    Ok(()) => {}
                    // The path has become narrower in this moment: what does not fit is lost, as on the path.
                    Err(NetError::Send(SendError::TooLarge { .. })) => {
                        ledger.on_sent();
                        ledger.lose(Reason::TooLarge, 1);
                    }
                    Err(error) => return Err(error.into()),
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// Sends data as one datagram, once the queue has room.
async fn send_whole(link: &Link, data: &Bytes, ledger: &Ledger) -> Result<(), NetError> {
    loop {
        link.writable(data.len()).await?;
        match link.try_send(data.clone(), None, Mark::SINGLE) {
            Err(NetError::Send(SendError::QueueFull)) => {}
            Ok(()) => {
                ledger.on_sent();
                ledger.on_handed();
                return Ok(());
            }
            Err(error) => return Err(error),
        }
    }
}

/// Reads standard input to its end.
fn read_input(args: CommonArgs, read: &mpsc::Sender<std::io::Result<Bytes>>) {
    let chunk = usize::from(args.chunk);
    let mut input = BufReader::with_capacity(1 << 16, std::io::stdin().lock());
    loop {
        let mut data = Vec::new();
        let result = if args.lines {
            (&mut input).take(chunk as u64).read_until(b'\n', &mut data)
        } else {
            // What there is, without waiting for more.
            input.fill_buf().map(|buffer| {
                data.extend_from_slice(&buffer[..buffer.len().min(chunk)]);
                data.len()
            })
        };
        if !args.lines {
            input.consume(data.len());
        }
        let next = match result {
            Ok(0) => return,
            Ok(_) => Ok(Bytes::from(data)),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        if read.blocking_send(next).is_err() {
            return;
        }
    }
}

/// Datagrams and their bytes; one that was sent in pieces counts once.
#[derive(Clone, Copy, Debug, Default, serde::Serialize)]
struct Count {
    datagrams: u64,
    bytes: u64,
}

impl Count {
    fn add(&mut self, data: &Bytes) {
        self.datagrams += 1;
        self.bytes += data.len() as u64;
    }
}
