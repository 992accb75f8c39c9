//! `whimbrel record`: measures a path in both directions and writes traces that scenarios replay.
//!
//! A TCP connection carries the plan and the server's log of arrivals; the probes are datagrams of the same port number. The
//! server probes only an address from which a datagram with the token of the TCP connection has come, and echoes are shorter
//! than the probes that they answer, so that its traffic cannot be directed at third parties.

mod analysis;
mod clocks;
mod files;
mod probe;
mod prober;
mod protocol;
mod server;
mod session;

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use whimbrel_net::HostPort;
use whimbrel_relay::address::{parse_own, parse_server};
use whimbrel_units::{DataRate, Duration};

use crate::exit::Failure;
use crate::quantity::{parse_rate, parse_seconds};

/// The port of servers, TCP and UDP.
const PORT: u16 = 6512;
/// The longest load of a direction.
const LONGEST: Duration = Duration::from_secs(600);

#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Examples:\n  whimbrel record server\n  whimbrel record 192.0.2.7 --time 60 --out lte\n  \
                  whimbrel run lte/scenario.toml\n  \
                  whimbrel record 192.0.2.7 --mode gentle --rate 300k --out lte && whimbrel fit lte/down.losses.txt\n\n\
                  The directory has a trace per direction, the losses, the one-way delays and a scenario that replays them;\n\
                  docs/record.md describes the files and --json."
)]
pub(crate) struct RecordArgs {
    #[command(subcommand)]
    role: Option<Role>,
    /// The host of a `whimbrel record server`: a name or address, with or without a port.
    #[arg(required = true, value_name = "HOST", value_parser = parse_server)]
    host: Option<HostPort>,
    /// Load on the path.
    #[arg(long, value_name = "MODE", default_value = "saturate")]
    mode: Mode,
    /// Time for which each direction is loaded. Ctrl-C ends a gentle recording early.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_seconds)]
    time: Duration,
    /// Rate of the probes, with their headers: of `gentle` [default: 200k], at most of `saturate` [default: 100M]
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    rate: Option<DataRate>,
    /// The directory to write.
    #[arg(long, value_name = "DIR", default_value = "recorded")]
    out: PathBuf,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

/// Load on the path.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Mode {
    /// Keep a queue in front of the bottleneck, one direction after the other: every packet that the path can carry.
    Saturate,
    /// A constant rate in both directions, and a short train of packets per second for the capacity.
    Gentle,
}

#[derive(Debug, Subcommand)]
enum Role {
    /// Answer clients, one at a time, until interrupted.
    #[command(
        after_help = "Examples:\n  whimbrel record server\n  whimbrel record server --bind 192.0.2.7:6512 --max-rate 20M"
    )]
    Server(ServerArgs),
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

impl RecordArgs {
    fn rate(&self) -> DataRate {
        self.rate.unwrap_or(match self.mode {
            Mode::Saturate => DataRate::from_megabits_per_second(100.0),
            Mode::Gentle => DataRate::from_bits_per_second(200e3),
        })
    }
}

/// Runs the verb.
pub(crate) fn run(args: &RecordArgs) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match (&args.role, &args.host) {
        (Some(Role::Server(server)), _) => runtime.block_on(server::run(server)),
        (None, Some(host)) => {
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
            runtime.block_on(session::run(args, host))
        }
        (None, None) => Err(Failure::Usage("expected HOST or `server`".into())),
    }
}
