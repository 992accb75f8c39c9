//! `whimbrel emulate`: programs across a scenario's network.

#[cfg(target_os = "linux")]
mod ends;
#[cfg(target_os = "linux")]
mod stored;
#[cfg(target_os = "linux")]
mod summary;
#[cfg(target_os = "linux")]
mod view;
#[cfg(target_os = "linux")]
mod watcher;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use whimbrel_units::Duration;

use crate::exit::Failure;
use crate::quantity::parse_seconds_or_none;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  whimbrel emulate examples/scenarios/lte.toml --end server='iperf3 -s' -- iperf3 -c server\n  \
                  whimbrel emulate examples/scenarios/wb.toml -- ping -c 10 receiver\n  \
                  whimbrel emulate examples/scenarios/handoff.toml --at phone --for 60s\n\n\
                  The programs replace the scenario's flows, except those in the background; links, media, queues, losses, movements and events are those of\n\
                  `whimbrel run`. Each node at which a flow begins or ends becomes a network namespace, in which the names of\n\
                  these nodes resolve. Linux only; root, or a user that may make user namespaces."
)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "the command needs Linux"))]
pub(crate) struct EmulateArgs {
    /// The scenario: a TOML or JSON file.
    scenario: PathBuf,
    /// The command to run, with its arguments; a shell by default. The emulation ends when it does.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
    /// The node at which it runs; by default the source of the first flow.
    #[arg(long, value_name = "NODE")]
    at: Option<String>,
    /// Run another command at a node at the same time: NODE=COMMAND, for the shell. May be repeated.
    #[arg(long = "end", value_name = "NODE=COMMAND")]
    ends_with_commands: Vec<String>,
    /// The nodes that become namespaces, separated by commas; by default those at which flows begin or end.
    #[arg(long, value_name = "NODES", value_delimiter = ',')]
    ends: Vec<String>,
    /// Keep this flow simulated, in addition to those in the background. May be repeated.
    #[arg(long, value_name = "FLOW")]
    simulate: Vec<String>,
    /// Make these nodes the interfaces of one host, in the order of preference: HOST=NODE,NODE. May be
    /// repeated. The interfaces have the names of the nodes, and are up while a link of the node is.
    #[arg(long = "interfaces", value_name = "HOST=NODES")]
    hosts: Vec<String>,
    /// Make this node the present host: a device here leads to the network, which leads to this host's
    /// networks. Needs root, or a program in another emulation: so emulations nest.
    #[arg(long, value_name = "NODE")]
    host: Option<String>,
    /// Use the addresses 10.N.0.0/16; by default the number of emulations around this one.
    #[arg(long, value_name = "N")]
    level: Option<u8>,
    /// End the emulation after this time, or `scenario` for the scenario's duration.
    #[arg(long = "for", value_name = "TIME")]
    limit: Option<String>,
    /// Seed of all randomness; the scenario's own if not given.
    #[arg(long)]
    seed: Option<u64>,
    /// Change a value of the scenario: key.path=value. May be repeated.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Write the packets that arrive over the links, and the frames on 802.11 media, to a pcapng file.
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Capture only this link (its name, in either direction) or 802.11 medium. May be repeated.
    #[arg(long, value_name = "LINK", requires = "pcap")]
    pcap_link: Vec<String>,
    /// Write the record's tables (the same as `whimbrel run`'s) as CSV files into this directory, and the
    /// record for `whimbrel report` and Python; runs with other seeds are added to it.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print all tables as JSON. The command's standard output goes to standard error.
    #[arg(long)]
    json: bool,
    /// Show the live view also where programs print to the same terminal, as a line per second.
    #[arg(long)]
    view: bool,
    /// Show the live page by HTTP at this address: rates, losses, delays, queues and events while the
    /// emulation runs.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = whimbrel_relay::address::parse_own)]
    http: Option<std::net::SocketAddr>,
    /// Show no live view and no summary.
    #[arg(long, short)]
    quiet: bool,
    /// The longest packet of the programs (MTU), in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 1_500, value_parser = clap::value_parser!(u32).range(1_280..=65_535))]
    mtu: u32,
    /// Do not sleep during this time before an event, which takes a processor and makes events more precise.
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = parse_seconds_or_none)]
    spin: Duration,
    /// Run before all processes of normal priority (SCHED_FIFO). Needs CAP_SYS_NICE.
    #[arg(long)]
    realtime: bool,
    /// The longest time to wait until the commands of --end listen.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_seconds_or_none)]
    wait: Duration,
    /// Warn if more than 1 % of the events are handled later than this.
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = parse_seconds_or_none)]
    late: Duration,
}

/// Runs the verb.
#[cfg(not(target_os = "linux"))]
pub(crate) fn run(_: &EmulateArgs) -> Result<(), Failure> {
    Err(whimbrel_emu::EmulateError::Unsupported.into())
}

/// Runs the verb.
#[cfg(target_os = "linux")]
pub(crate) fn run(args: &EmulateArgs) -> Result<(), Failure> {
    use anyhow::Context;
    use whimbrel_emu::session::{self, Ending};

    use crate::commands::run_scenario::output::OutputDirectory;
    use crate::commands::run_scenario::read_document;
    use crate::print;

    let plan = read_document(&args.scenario, &args.set)?.plan()?;
    let settings = ends::settings(args, &plan)?;
    let output = args.out.as_deref().map(OutputDirectory::claim).transpose()?;
    if args.realtime {
        session::run_in_real_time().context("--realtime: needs CAP_SYS_NICE (run as root)")?;
    }
    let mut watcher = watcher::Watcher::new(args, &plan)?;
    let outcome = session::emulate(&plan, &settings, &mut watcher)?;
    watcher.finish()?;
    if let Some(mut output) = output {
        output.write(&outcome.record, false)?;
    }
    if let Some(directory) = &args.out {
        let group = args.scenario.file_stem().unwrap_or_default().to_string_lossy();
        let stored = stored::Stored {
            group: &group,
            title: if plan.title.is_empty() { &group } else { &plan.title },
            seed: settings.seed,
            changes: &args.set,
            summary: summary::json(&outcome),
        };
        stored.write(directory, &outcome.record)?;
    }
    if !args.quiet {
        print::aside(summary::text(&plan, &outcome, settings.seed)?.trim_end());
    }
    if !args.quiet || outcome.events.p99 > args.late {
        summary::warnings(&plan, &outcome, args.late).iter().for_each(print::note);
    }
    if args.json {
        let mut json = whimbrel_lab::record::json(&outcome.record, &plan.title, settings.seed);
        json["emulation"] = summary::json(&outcome);
        print::line(serde_json::to_string(&json)?)?;
    }
    match outcome.ended_by {
        Some(Ending::Interrupted) => Err(Failure::Interrupted),
        Some(Ending::Limit) => Ok(()),
        None if outcome.exit_code == 0 => Ok(()),
        None => Err(Failure::Code(outcome.exit_code)),
    }
}
