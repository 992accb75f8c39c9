//! `whimbrel pipe`: standard input to standard output of another host, as encrypted datagrams.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration as StdDuration;

use anyhow::{Context, anyhow};
use bytes::Bytes;
use clap::{Args, Subcommand};
use serde_json::json;
use tokio::net::lookup_host;
use tokio::sync::mpsc;
use tokio::time::timeout;
use whimbrel_net::{
    Ccid, Config, ConnectionError, Listener, NetError, OverflowPolicy, SendError, SendQueueConfig,
    ServiceCode, Setup, Socket, TimerConfig,
};
use whimbrel_units::Duration;

use super::perf::handover::willing;
use super::perf::target::{Target, parse_target};
use crate::exit::Failure;
use crate::interrupt::Interrupt;
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
    #[arg(value_name = "HOST[:PORT]", value_parser = parse_target)]
    host: Target,
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
    #[arg(long, value_name = "ADDRESS:PORT")]
    bind: Option<SocketAddr>,
    /// Deliver datagrams in order: a datagram that arrives early waits for earlier ones, for at most this time.
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
    let host = args.host.host.as_str();
    let port = args.host.port.unwrap_or(whimbrel_net::DCCP_UDP_PORT);
    let found = lookup_host((host, port)).await.with_context(|| format!("{host} cannot be resolved"))?.next();
    let at = found.ok_or_else(|| anyhow!("{host} has no address"))?;
    let security = args.security.client(host, port, is_loopback(at.ip()))?;
    if security.security.is_none() && !args.security.both.is_insecure() && !is_loopback(at.ip()) {
        return Err(Failure::Usage(required(host)));
    }
    let ccid = Ccid(args.ccid);
    let config = config(security.security.is_some()).sender_ccids([ccid]).receiver_ccids([ccid]);
    let setup = Setup::new(config, security.security.clone());
    let opened = tokio::select! {
        opened = timeout(ANSWER_TIME, Socket::connect(at, DCCP_PORT, setup)) => opened,
        () = interrupt.raised() => return Err(Failure::Interrupted),
    };
    let socket = opened
        .unwrap_or(Err(NetError::Connection(ConnectionError::TimedOut)))
        .with_context(|| format!("no pipe at {at}"))?;
    security.established(socket.peer())?;
    forward(&socket, args.common, true, &mut interrupt).await
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
    let listener = Listener::bind(at, DCCP_PORT, Setup::new(config, security)).await;
    let listener = listener.with_context(|| format!("UDP {at}"))?;
    eprintln!("whimbrel: listening at UDP {}", listener.local());
    let socket = tokio::select! {
        accepted = listener.accept() => accepted?,
        () = interrupt.raised() => return Err(Failure::Interrupted),
    };
    // It serves one.
    drop(listener);
    forward(&socket, args.common, false, &mut interrupt).await
}

/// Forwards standard input to the connection, and its datagrams to standard output. `ends`: the connection ends with the input.
async fn forward(
    socket: &Socket,
    args: CommonArgs,
    ends: bool,
    interrupt: &mut Interrupt,
) -> Result<(), Failure> {
    let (read, mut input) = mpsc::channel(WAITING);
    std::thread::spawn(move || read_input(args, &read));
    let (output, mut written) = mpsc::channel::<Bytes>(WAITING);
    let writer = tokio::task::spawn_blocking(move || -> std::io::Result<()> {
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
    let mut has_input = true;
    let ended = loop {
        tokio::select! {
            data = input.recv(), if has_input => match data {
                Some(Ok(data)) => {
                    sent.add(&data);
                    send(socket, data).await?;
                }
                Some(Err(error)) => return Err(anyhow::Error::new(error).context("standard input").into()),
                None if ends => {
                    socket.close().await;
                    break None;
                }
                None => has_input = false,
            },
            received = socket.recv() => match received {
                // Without a reader of the output the connection is of no use.
                Ok(received) => {
                    received_here.add(&received.payload);
                    if output.send(received.payload).await.is_err() {
                        break None;
                    }
                }
                Err(error) => break Some(error),
            },
            () = interrupt.raised() => {
                socket.close().await;
                return Err(Failure::Interrupted);
            }
        }
    };
    // What arrived before the end.
    while let Ok(received) = socket.recv().await {
        received_here.add(&received.payload);
        if output.send(received.payload).await.is_err() {
            break;
        }
    }
    if args.json {
        eprintln!("{}", json!({ "sent": sent, "received": received_here }));
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

/// Sends data, in pieces if the path carries less than they take.
async fn send(socket: &Socket, mut data: Bytes) -> Result<(), Failure> {
    loop {
        match socket.send(data.clone()).await {
            Ok(()) => return Ok(()),
            Err(NetError::Send(SendError::TooLarge { limit, .. })) if (1..data.len()).contains(&limit) => {
                let piece = data.split_to(limit);
                match socket.send(piece).await {
                    // The path has become narrower in this moment: what does not fit is lost, as on the path.
                    Ok(()) | Err(NetError::Send(SendError::TooLarge { .. })) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            Err(error) => return Err(error.into()),
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
