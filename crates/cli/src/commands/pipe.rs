//! `whimbrel pipe`: standard input to standard output of another host, as encrypted datagrams.

use std::io::{BufRead, BufReader, Read, Write};
use std::sync::Arc;

use anyhow::Context;
use bytes::Bytes;
use clap::{Args, Subcommand};
use serde_json::json;
use tokio::sync::mpsc;
use whimbrel_net::HostPort;
use whimbrel_net::multipath::SchedulerKind;
use whimbrel_relay::address::{is_loopback, parse_server};
use whimbrel_relay::pipe::{Carried, PipeFar, PipeNear, Streams};
use whimbrel_relay::{Notice, Observer, PathSpec};

use super::relay::parse_scheduler_of;
use super::transport::{CongestionControl, OwnAddress, Reordering};
use crate::exit::Failure;
use crate::security::{ClientSecurityArgs, SecurityArgs, required};
use crate::{interrupt, print};

/// Datagrams that wait between a thread that reads or writes, and the connection.
const WAITING: usize = 64;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  whimbrel pipe server --secret-file pipe.secret > received.log\n  \
                  tail -f sensor.log | whimbrel pipe client 192.0.2.7 --lines --secret-file pipe.secret\n\n\
                  Datagrams may be lost or overtake each other, as on the path; --reorder puts them in order.")]
pub(crate) struct PipeArgs {
    #[command(subcommand)]
    end: End,
}

#[derive(Debug, Subcommand)]
enum End {
    /// Wait for a client; write what it sends to standard output, and end with it.
    #[command(alias = "listen")]
    Server(Box<ServerArgs>),
    /// Send standard input to a server; end with the input.
    #[command(alias = "connect")]
    Client(Box<ClientArgs>),
}

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  tail -f sensor.log | whimbrel pipe client 192.0.2.7 --lines --secret-file pipe.secret"
)]
struct ClientArgs {
    /// The server's name or address, with or without its port: host, 192.0.2.7:6511, [2001:db8::7]:6511.
    #[arg(value_name = "HOST[:PORT]", value_parser = parse_server)]
    host: HostPort,
    /// Use several paths at a time (MP-DCCP): the name or an address of a network interface; may be repeated,
    /// and may have priority=, weight= and cost=, as for whimbrel relay (Linux).
    #[arg(long, value_name = "INTERFACE|ADDRESS")]
    path: Vec<PathSpec>,
    #[command(flatten)]
    congestion: CongestionControl<2>,
    #[command(flatten)]
    common: CommonArgs,
    #[command(flatten)]
    security: ClientSecurityArgs,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  whimbrel pipe server --reorder 100ms --secret-file pipe.secret > received.log"
)]
struct ServerArgs {
    #[command(flatten)]
    own: OwnAddress,
    #[command(flatten)]
    order: Reordering,
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
    /// Chooses the path of each datagram of this end, if there are several. `coded` is for repair, which a
    /// pipe does not have.
    #[arg(long, value_name = "NAME", default_value = "lowest-rtt", value_parser = parse_scheduler_of(|kind| kind != SchedulerKind::Coded))]
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
        End::Client(args) => runtime.block_on(connect(*args)),
        End::Server(args) => runtime.block_on(listen(*args)),
    };
    // A thread may still wait for input.
    runtime.shutdown_background();
    result
}

async fn connect(args: ClientArgs) -> Result<(), Failure> {
    let near = PipeNear {
        protection: args.security.protection(&args.host).await?,
        host: args.host,
        paths: args.path,
        scheduler: args.common.scheduler,
        ccid: args.congestion.ccid(),
    };
    let _lines = print::in_background();
    let stop = interrupt::listen_as_service()?;
    let run = |program| whimbrel_relay::pipe::connect(near, program, observer(), stop.clone());
    let carried = with_standard_streams(args.common, run).await?;
    report(Failure::of(carried, &stop)?, args.common.json);
    Ok(())
}

async fn listen(args: ServerArgs) -> Result<(), Failure> {
    let protection = args.security.protection()?;
    let is_open = protection.security.is_some() || protection.is_plaintext_allowed;
    if let Some(at) = args.own.bind.filter(|at| !is_open && !is_loopback(at.ip())) {
        return Err(Failure::Usage(required(&at.to_string())));
    }
    let far = PipeFar {
        bind: args.own.bind,
        reorder: args.order.reorder,
        scheduler: args.common.scheduler,
        protection,
    };
    let _lines = print::in_background();
    let stop = interrupt::listen_as_service()?;
    let run = |program| whimbrel_relay::pipe::listen(far, program, observer(), stop.clone());
    let carried = with_standard_streams(args.common, run).await?;
    report(Failure::of(carried, &stop)?, args.common.json);
    Ok(())
}

/// Prints what a pipe says to standard error.
fn observer() -> Observer {
    Arc::new(|_, notice| {
        match notice {
            Notice::Listening { at, .. } => print::note(format_args!("listening at UDP {at}")),
            Notice::Path(line) => print::note(line),
            _ => {}
        }
        Ok(())
    })
}

/// Runs a pipe between standard input and output.
async fn with_standard_streams<F: Future<Output = anyhow::Result<Carried>>>(
    args: CommonArgs,
    run: impl FnOnce(Streams) -> F,
) -> Result<anyhow::Result<Carried>, Failure> {
    let (read, input) = mpsc::channel(WAITING);
    std::thread::spawn(move || read_input(args, &read));
    let (output, mut written) = mpsc::channel::<Bytes>(WAITING);
    let writer = tokio::task::spawn_blocking(move || -> std::io::Result<()> {
        #[allow(clippy::disallowed_methods, reason = "the peer's bytes are the output")]
        let mut out = std::io::stdout().lock();
        while let Some(data) = written.blocking_recv() {
            out.write_all(&data)?;
            // Data is shown, also if no more follows.
            if written.is_empty() {
                out.flush()?;
            }
        }
        out.flush()
    });
    let carried = run(Streams { input, output }).await;
    match writer.await.context("the writer")? {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(anyhow::Error::new(error).context("standard output").into())
        }
        _ => Ok(carried),
    }
}

/// Prints the figures at the end to standard error.
fn report(Carried { sent, received, sums }: Carried, json: bool) {
    let (to_peer, from_peer) = (sums.to_peer, sums.from_peer);
    if json {
        print::aside(
            json!({ "sent": sent, "received": received, "to_peer": to_peer, "from_peer": from_peer }),
        );
    } else if to_peer.lost.sum() + from_peer.lost.sum() > 0 {
        print::note(format_args!("sent {to_peer}; received {from_peer}"));
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
            // Available input, without waiting.
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
