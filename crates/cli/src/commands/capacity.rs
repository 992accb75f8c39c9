//! `whimbrel capacity`: estimates capacity and available bandwidth of 802.11 channels from a capture.

mod text;

use std::path::PathBuf;

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use whimbrel_control::capacity::Averaging;
use whimbrel_inspect::capacity::{CapacityAnalysis, CapacityConfig, CapacityReport};
use whimbrel_inspect::link::link_name;
use whimbrel_units::Duration;

use super::capture_file::{self, is_wanted};
use crate::exit::Failure;
use crate::print;
use crate::quantity::parse_seconds;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  whimbrel run examples/scenarios/mesh.toml --quiet --pcap air.pcapng\n  \
                  whimbrel capacity air.pcapng\n  \
                  whimbrel capacity air.pcapng --interval 5s --json\n\n\
                  The capture was taken in monitor mode: 802.11 frames, with radiotap headers for rates and channels.\n\
                  docs/explicit-rate.md describes the estimates and the --json output."
)]
pub(crate) struct CapacityArgs {
    /// A pcap or pcapng file of 802.11 frames, plain or compressed with gzip; `-` reads standard input.
    file: PathBuf,
    /// Estimate intervals of this length as well, such as 500ms.
    #[arg(long, value_name = "TIME", value_parser = parse_seconds)]
    interval: Option<Duration>,
    /// The exchanges from which a capacity is computed.
    #[arg(long, value_name = "WHICH", default_value = "latest")]
    exchanges: Exchanges,
    /// Read only this interface of a pcapng file, by name or number. May be repeated.
    #[arg(long, value_name = "NAME")]
    interface: Vec<String>,
    /// Maximum number of transmitters.
    #[arg(long, value_name = "N", default_value_t = CapacityConfig::default().max_stations)]
    max_stations: usize,
    /// Print the estimates as JSON, on one line.
    #[arg(long)]
    json: bool,
}

/// The exchanges from which a capacity is computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Exchanges {
    /// The latest one, as rt-Winf does.
    Latest,
    /// All of them: their bytes over their times.
    All,
}

/// Runs the verb.
pub(crate) fn run(args: &CapacityArgs) -> Result<(), Failure> {
    if args.interval.is_some_and(|interval| interval.is_zero()) {
        return Err(anyhow!("--interval 0: expected a time above zero").into());
    }
    let (name, mut reader) = capture_file::open(&args.file)?;
    let averaging = match args.exchanges {
        Exchanges::Latest => Averaging::Latest,
        Exchanges::All => Averaging::Total,
    };
    let config = CapacityConfig { interval: args.interval, averaging, max_stations: args.max_stations };
    let mut analysis = CapacityAnalysis::new(config);
    let failure = loop {
        match reader.next_record() {
            Ok(Some(record)) if is_wanted(&record, &args.interface) => analysis.on_record(&record),
            Ok(Some(_)) => {}
            Ok(None) => break None,
            Err(error) => break Some(anyhow!(error).context(name.clone())),
        }
    };
    let report = analysis.finish();
    if report.frames == 0 {
        return Err(failure.unwrap_or_else(|| no_frames(&name, &report)).into());
    }
    if args.json {
        print::line(serde_json::to_string(&report)?)?;
    } else {
        print::line(text::report(&name, &report).trim_end())?;
    }
    failure.map_or(Ok(()), |error| Err(error.into()))
}

/// The reason for which a capture has no estimates.
fn no_frames(name: &str, report: &CapacityReport) -> anyhow::Error {
    let expected = "expected a capture in monitor mode (link type 127, 802.11 with radiotap, or 105)";
    match report.other_link_type {
        Some(link) => anyhow!("{name}: no 802.11 frames, link type {link} ({}): {expected}", link_name(link)),
        None if report.records == 0 => anyhow!("{name}: no frames: {expected}"),
        None => anyhow!(
            "{name}: no 802.11 frames: {} malformed and {} damaged ones",
            report.malformed,
            report.damaged
        ),
    }
}
