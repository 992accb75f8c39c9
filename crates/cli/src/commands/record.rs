//! `whimbrel record`: measures a path in both directions and writes traces that scenarios replay.

mod live;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, Parser, Subcommand, ValueEnum};
use serde_json::json;
use whimbrel_measure::record::{
    self, LONGEST, Mode, Progress, RecordNotice, RecordObserver, RecordServer, Settings, prepare,
};
use whimbrel_net::HostPort;
use whimbrel_relay::address::{parse_own, parse_server};
use whimbrel_units::{DataRate, Duration};

use crate::exit::Failure;
use crate::quantity::{parse_rate, parse_seconds};
use crate::{interrupt, print, progress};

#[derive(Debug, Args)]
#[command(
    allow_external_subcommands = true,
    after_help = "Examples:\n  whimbrel record server\n  whimbrel record client 192.0.2.7 --time 60 --out lte\n  \
                  whimbrel run lte/scenario.toml\n  \
                  whimbrel record client 192.0.2.7 --mode gentle --rate 300k --out lte && whimbrel fit lte/down.losses.txt\n\n\
                  The directory has a trace per direction, the losses, the one-way delays and a scenario that replays them;\n\
                  docs/record.md describes the files and --json."
)]
pub(crate) struct RecordArgs {
    #[command(subcommand)]
    role: Role,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  whimbrel record client 192.0.2.7 --time 60 --out lte\n  \
                  whimbrel record client 192.0.2.7 --mode gentle --rate 300k --out lte")]
struct ClientArgs {
    /// The server's name or address, with or without its port.
    #[arg(value_name = "HOST[:PORT]", value_parser = parse_server)]
    host: HostPort,
    /// Load on the path.
    #[arg(long, value_name = "MODE", default_value = "saturate")]
    mode: Load,
    /// Time for which each direction is loaded. Ctrl-C ends a gentle recording early.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_seconds)]
    time: Duration,
    /// Rate of the probes, with their headers: of `gentle` [default: 200k], at most of `saturate` [default:
    /// 100M]
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    rate: Option<DataRate>,
    /// The directory to write.
    #[arg(long, value_name = "DIR", default_value = "recorded")]
    out: PathBuf,
    /// Serve a page with the rates, losses and delays so far, by HTTP.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = parse_own)]
    http: Option<SocketAddr>,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

/// Load on the path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Load {
    /// Keep a queue in front of the bottleneck, one direction after the other: every packet that the path can
    /// carry.
    Saturate,
    /// A constant rate in both directions, and a short train of packets per second for the capacity.
    Gentle,
}

impl From<Load> for Mode {
    fn from(load: Load) -> Self {
        match load {
            Load::Saturate => Self::Saturate,
            Load::Gentle => Self::Gentle,
        }
    }
}

#[derive(Debug, Subcommand)]
enum Role {
    /// Answer clients, one at a time, until interrupted.
    #[command(
        after_help = "Examples:\n  whimbrel record server\n  whimbrel record server --bind 192.0.2.7:6512 --max-rate 20M"
    )]
    Server(ServerArgs),
    /// Measure the path to a server.
    Client(ClientArgs),
    /// The same, with the server's name in place of `client`.
    #[command(external_subcommand)]
    Host(Vec<String>),
}

/// The client's arguments, without `client` before them.
#[derive(Debug, Parser)]
#[command(name = "whimbrel record client", disable_version_flag = true)]
struct Shorthand {
    #[command(flatten)]
    client: ClientArgs,
}

#[derive(Debug, Args)]
struct ServerArgs {
    /// Address and port of TCP and UDP [default: all addresses, port 6512]
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = parse_own)]
    bind: Option<SocketAddr>,
    /// The highest rate of probes that a client may request.
    #[arg(long, value_name = "RATE", default_value = "1G", value_parser = parse_rate)]
    max_rate: DataRate,
    /// Print each recording as JSON.
    #[arg(long)]
    json: bool,
}

impl ClientArgs {
    fn rate(&self) -> DataRate {
        self.rate.unwrap_or(match self.mode {
            Load::Saturate => DataRate::from_megabits_per_second(100.0),
            Load::Gentle => DataRate::from_bits_per_second(200e3),
        })
    }
}

/// Runs the verb.
pub(crate) fn run(args: RecordArgs) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match args.role {
        Role::Server(server) => runtime.block_on(serve(&server)),
        Role::Client(client) => runtime.block_on(record(&client)),
        Role::Host(words) => {
            let program = "whimbrel record client".to_owned();
            match Shorthand::try_parse_from([program].into_iter().chain(words)) {
                Ok(given) => runtime.block_on(record(&given.client)),
                Err(error) => {
                    let _ = error.print();
                    Err(Failure::Code(error.exit_code()))
                }
            }
        }
    }
}

async fn record(args: &ClientArgs) -> Result<(), Failure> {
    let host = &args.host;
    if args.time.is_zero() || args.time > LONGEST {
        return Err(Failure::Usage(format!(
            "--time {}: expected more than 0 and at most {} s",
            args.time,
            LONGEST.as_secs_f64()
        )));
    }
    if !args.rate().as_bits_per_second().is_finite() {
        return Err(Failure::Usage("--rate 0: expected a rate above 0".into()));
    }
    // An existing file in the way is reported before the path is loaded.
    prepare(&args.out)?;
    let settings =
        Settings { host: host.clone(), mode: args.mode.into(), time: args.time, rate: args.rate() };
    let page = match args.http {
        Some(at) => Some(live::Page::open(at, format!("recording of {host}")).await?),
        None => None,
    };
    let mut stop = interrupt::listen();
    let milliseconds = |time: Duration| time.as_nanos() / 1_000_000;
    let bar = progress::bar(milliseconds(args.time), "the recording");
    let show = |progress: &Progress| {
        bar.set_length(milliseconds(progress.whole));
        bar.set_position(milliseconds(progress.passed));
        if let Some(page) = &page {
            page.update(progress);
        }
    };
    let recorded = record::record(&settings, &show, &mut stop).await;
    bar.finish_and_clear();
    let Some(recording) = recorded? else { return Err(Failure::Interrupted) };
    recording.write(&args.out)?;
    if args.json {
        print::line(recording.document())?;
    } else {
        print::line(recording.text(&args.out))?;
    }
    Ok(())
}

async fn serve(args: &ServerArgs) -> Result<(), Failure> {
    let json = args.json;
    let observer: RecordObserver = Arc::new(move |notice| {
        let line = match notice {
            RecordNotice::Ready(at) if json => json!({ "event": "ready", "address": at.to_string() }).to_string(),
            RecordNotice::Ready(at) => format!("whimbrel record server on {at}, TCP and UDP"),
            RecordNotice::Recorded { client, received, sent } if json => {
                json!({ "event": "recorded", "client": client.to_string(), "received": received, "sent": sent })
                    .to_string()
            }
            RecordNotice::Recorded { client, received, sent } => {
                format!("\"{client}\": {received} probes received, {sent} sent")
            }
            RecordNotice::Failed { client, reason } => {
                print::note(format_args!("{client}: {reason}"));
                return Ok(());
            }
            _ => return Ok(()),
        };
        Ok(print::line(line)?)
    });
    let _lines = print::in_background();
    let stop = interrupt::listen();
    let server = RecordServer { bind: args.bind, max_rate: args.max_rate };
    Failure::of(record::serve(server, observer, stop.clone()).await, &stop)
}
