//! `whimbrel inspect`: reports the streams of a capture file, or the tables of a record.

mod fecframe;
mod flows;
mod packets;
mod record;
mod tables;
mod text;
mod traffic;
mod watch;

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::Args;
use whimbrel_inspect::traffic::TrafficReport;
use whimbrel_inspect::{FollowConfig, Inspector};
use whimbrel_units::Duration;

use super::capture_file::{self, is_wanted};
use crate::exit::Failure;
use crate::print;
use crate::quantity::parse_seconds;
use packets::Lister;
use record::StoredRecord;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  whimbrel inspect examples/captures/call.pcapng.gz\n  \
                  whimbrel inspect examples/captures/call.pcapng.gz --interval 0.1s --connection 2\n  \
                  whimbrel inspect examples/captures/call.pcapng.gz --packets | less\n  \
                  whimbrel inspect examples/captures/call.pcapng.gz --packets --json | jq 'select(.type == \"Reset\")'\n  \
                  tcpdump -i eth0 -w - udp port 6511 | whimbrel inspect - --json\n  \
                  whimbrel emulate examples/scenarios/lte.toml --seed 1 --out out -- true && \
                  whimbrel inspect out/lte/records/emulation-1.record\n\n\
                  docs/inspect.md describes the report and the --json output.")]
pub(crate) struct InspectArgs {
    /// A pcap or pcapng file, plain or compressed with gzip; `-` reads standard input. Or the record of a
    /// run, a campaign or an emulation.
    file: PathBuf,
    /// Length of an interval of the tables, such as 100ms.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_seconds)]
    interval: Duration,
    /// Report only this DCCP connection. May be repeated.
    #[arg(long, value_name = "N")]
    connection: Vec<usize>,
    /// Print one line per DCCP packet, before the report: with --json one object.
    #[arg(long)]
    packets: bool,
    /// A UDP port that carries DCCP, in addition to 6511. May be repeated.
    #[arg(long, value_name = "PORT")]
    udp_port: Vec<u16>,
    /// Read only this interface of a pcapng file, by name or number. May be repeated.
    #[arg(long, value_name = "NAME")]
    interface: Vec<String>,
    /// Maximum number of connections and flows to follow.
    #[arg(long, value_name = "N", default_value_t = FollowConfig::default().max_connections)]
    max_connections: usize,
    /// Write a page that shows the streams over time, with a sentence that explains each moment.
    #[arg(long, value_name = "FILE")]
    watch: Option<PathBuf>,
    /// Report what the repair packets of FECFRAME restore: an SDP file that describes the flows (RFC 6364).
    #[arg(long, value_name = "FILE")]
    fec: Option<PathBuf>,
    /// Print the report as JSON, on one line.
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub(crate) fn run(args: &InspectArgs) -> Result<(), Failure> {
    if let Some(record) = record::open(&args.file)? {
        return print_record(args, &record);
    }
    let (name, mut reader) = capture_file::open(&args.file)?;
    let config = FollowConfig {
        interval: args.interval,
        max_connections: args.max_connections,
        ..FollowConfig::default()
    };
    let mut inspector = Inspector::new(config, &args.udp_port);
    if let Some(file) = &args.fec {
        inspector.follow_repair(fecframe::read(file)?);
    }
    let mut lister = args.packets.then(|| Lister::new(&args.connection, args.json));
    let read = inspector.read(
        &mut reader,
        |record| is_wanted(record, &args.interface),
        |inspector, seen| {
            if let Some(lister) = &mut lister {
                lister.print(inspector.zero(), seen);
            }
        },
    );
    if let Some(lister) = lister {
        lister.finish()?;
    }
    let failure = read.err().map(|error| {
        inspector.on_error(&error);
        anyhow!(error).context(name.clone())
    });
    let mut report = inspector.report();
    if !args.connection.is_empty() {
        if let Some(missing) =
            args.connection.iter().find(|number| **number == 0 || **number > report.connections.len())
        {
            return Err(
                anyhow!("--connection {missing}: the capture has {}", report.connections.len()).into()
            );
        }
        report.connections.retain(|connection| args.connection.contains(&connection.number));
        report.flows.clear();
        report.fecframe.clear();
        report.wireless = TrafficReport::default();
    }
    if let Some(page) = &args.watch {
        let title = Path::new(&name).file_name().map_or(name.clone().into(), |name| name.to_string_lossy());
        watch::write(page, &title, &report)?;
    }
    if args.json {
        print::line(serde_json::to_string(&report)?)?;
    } else {
        print::line(text::report(&name, &report).trim_end())?;
    }
    failure.map_or(Ok(()), |error| Err(error.into()))
}

fn print_record(args: &InspectArgs, record: &StoredRecord) -> Result<(), Failure> {
    let name = args.file.display().to_string();
    for (option, is_given) in [
        ("--packets", args.packets),
        ("--connection", !args.connection.is_empty()),
        ("--udp-port", !args.udp_port.is_empty()),
        ("--interface", !args.interface.is_empty()),
        ("--watch", args.watch.is_some()),
        ("--fec", args.fec.is_some()),
    ] {
        if is_given {
            return Err(
                anyhow!("{option}: {name} is a record, which has no packets: expected a capture").into()
            );
        }
    }
    if args.json {
        print::line(record.json().to_string())?;
    } else {
        print::line(record.text(&name)?.trim_end())?;
    }
    Ok(())
}
