//! The command: a campaign of trials, or one trial repeated with a capture file.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use anyhow::Context;
use clap::Parser;
use whimbrel_faults::{
    Campaign, Kind, MultipathPlan, Plan, RepairPlan, Trial, run_multipath_trial, run_plan, run_repair_trial,
};

/// Runs two DCCP endpoints over a hostile path and checks the laws that must hold.
#[derive(Parser, Debug)]
#[command(
    name = "faults",
    after_help = "Examples:\n  faults --seeds 20000 --jobs 2\n  faults --seed 1234 --pcap faults.pcapng\n  \
                  faults --multipath --seed 1234 --pcap faults.pcapng --log faults.log"
)]
struct Arguments {
    /// Number of trials to run.
    #[arg(long, default_value_t = 20_000)]
    seeds: u64,
    /// The number of the first trial.
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Number of trials to run in parallel.
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Run only the trial with this number, and print all its counts.
    #[arg(long, conflicts_with_all = ["seeds", "first"])]
    seed: Option<u64>,
    /// Trials of multipath connections (RFC 9897).
    #[arg(long, conflicts_with = "plain")]
    multipath: bool,
    /// Trials of connections that repair losses.
    #[arg(long, conflicts_with_all = ["plain", "multipath"])]
    repair: bool,
    /// Draw that trial without sequence numbers that wrap, coalesced receives, crowds and steady ends.
    #[arg(long, requires = "seed")]
    plain: bool,
    /// Write the packets that the trial's hosts sent and received to this file (pcapng).
    #[arg(long, requires = "seed")]
    pcap: Option<PathBuf>,
    /// Write a line for each packet, event and action of the trial to this file.
    #[arg(long, requires = "seed")]
    log: Option<PathBuf>,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    // A broken law is a result, printed below.
    std::panic::set_hook(Box::new(|_| {}));
    let records = arguments.pcap.is_some() || arguments.log.is_some();
    match arguments.seed {
        Some(seed) if arguments.multipath => {
            println!("{:#?}", MultipathPlan::draw(seed));
            write_and_report(&arguments, run_multipath_trial(seed, records))
        }
        Some(seed) if arguments.repair => {
            println!("{:#?}", RepairPlan::draw(seed));
            write_and_report(&arguments, run_repair_trial(seed, records))
        }
        Some(seed) => {
            let plan = if arguments.plain { Plan::draw_plain(seed) } else { Plan::draw(seed) };
            println!("{plan:#?}");
            write_and_report(&arguments, run_plan(plan, records))
        }
        None => campaign(&arguments),
    }
}

/// Writes the requested files of a trial, and reports its result.
fn write_and_report(arguments: &Arguments, trial: Trial) -> anyhow::Result<()> {
    let log = trial.log.as_deref().map(str::as_bytes);
    let files = [(&arguments.pcap, trial.capture.as_deref()), (&arguments.log, log)];
    for (path, content) in files {
        if let (Some(path), Some(content)) = (path, content) {
            std::fs::write(path, content).with_context(|| format!("cannot write {}", path.display()))?;
        }
    }
    report(trial)
}

/// Prints the counts of a trial, and the law that it broke.
fn report(trial: Trial) -> anyhow::Result<()> {
    print!("{}", trial.tally);
    println!("digest {:016x}", trial.digest);
    if let Some(law) = trial.broken {
        eprintln!("seed {}: {law}", trial.seed);
        std::process::exit(1);
    }
    Ok(())
}

#[allow(clippy::disallowed_methods, reason = "all of the text is its own")]
fn campaign(arguments: &Arguments) -> anyhow::Result<()> {
    let campaign = Campaign {
        first: arguments.first,
        trials: arguments.seeds,
        jobs: arguments.jobs,
        kind: match (arguments.multipath, arguments.repair) {
            (true, _) => Kind::Multipath,
            (_, true) => Kind::Repair,
            _ => Kind::Endpoints,
        },
    };
    let shows = std::io::stderr().is_terminal();
    let step = (campaign.trials / 100).max(1);
    let summary = campaign.run(|done, trial| {
        // A campaign may take hours: a broken law is printed when it is found.
        if let Some(law) = &trial.broken {
            eprintln!("{}seed {}: {law}", if shows { "\r" } else { "" }, trial.seed);
            let kind = match campaign.kind {
                Kind::Endpoints => "",
                Kind::Multipath => " --multipath",
                Kind::Repair => " --repair",
            };
            eprintln!(
                "  cargo run --release -p whimbrel-faults -- --seed {}{kind} --pcap faults.pcapng",
                trial.seed
            );
        }
        if shows && done % step == 0 {
            eprint!("\r{done} of {} trials", campaign.trials);
            let _ = std::io::stderr().flush();
        }
    });
    if shows {
        eprintln!();
    }
    print!("{}", summary.tally);
    println!("{} trials from {}, digest {:016x}", campaign.trials, campaign.first, summary.digest);
    if summary.broken.is_empty() {
        return Ok(());
    }
    eprintln!("{} of {} trials broke a law", summary.broken.len(), campaign.trials);
    std::process::exit(1)
}
