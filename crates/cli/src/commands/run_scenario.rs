//! `whimbrel run`: simulates a scenario.

mod account;
pub(crate) mod capture;
mod kept;
pub(crate) mod output;
#[cfg(feature = "parquet")]
mod parquet;
mod qlog;
pub(crate) mod tables;
mod watch;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, anyhow};
use clap::Args;
use indicatif::ProgressBar;
use whimbrel_lab::record::{Column, json};
use whimbrel_lab::{Document, Plan, Record, Run};
use whimbrel_units::Instant;

use crate::exit::Failure;
use crate::print;
use crate::progress;
use capture::CaptureFile;
use output::OutputDirectory;
use qlog::Qlogs;
use watch::WatchPage;

/// Said where the format is missing.
const NO_PARQUET: &str = "this first build is without; `make extension` makes the whole one";

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  whimbrel run examples/scenarios/wb.toml\n  \
                  whimbrel run examples/scenarios/wb.toml --seed 7 --set 'link.backbone.rate=1 Mbit/s' --json\n  \
                  whimbrel run examples/scenarios/wb.toml --pcap wb.pcapng --pcap-link backbone --out out/wb\n  \
                  whimbrel run examples/scenarios/mesh.toml --watch mesh.html\n  \
                  whimbrel run examples/scenarios/wb.toml --quiet --qlog logs\n\n\
                  The same scenario and seed give the same bytes on every machine.")]
pub(crate) struct RunArgs {
    /// The scenario: a TOML or JSON file.
    scenario: PathBuf,
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
    /// Write a page that replays the run: movements, routes, frames on the air.
    #[arg(long, value_name = "FILE")]
    watch: Option<PathBuf>,
    /// Frames that the page shows, from the beginning of the run.
    #[arg(long, value_name = "N", default_value_t = 200_000, requires = "watch")]
    watch_frames: usize,
    /// Write the packets, losses and congestion metrics of each flow to a qlog file in this directory.
    #[arg(long, value_name = "DIR")]
    qlog: Option<PathBuf>,
    /// Write the record's tables as CSV files into this directory, and the scenario with the seed, from which
    /// `whimbrel pack` repeats the run.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Write them as Parquet files, too.
    #[arg(long, requires = "out")]
    parquet: bool,
    /// Print all tables as JSON.
    #[arg(long)]
    json: bool,
    /// Show no progress bar.
    #[arg(long, short)]
    quiet: bool,
}

/// The page that replays a run, as `--watch` writes it; `None` unless the run records its replay.
pub fn replay_page(run: &Run<'_>, seed: u64) -> Option<String> {
    watch::page(run, seed)
}

/// Columns of equal length as a file in the Parquet format, as `--parquet` writes it.
///
/// # Errors
/// The columns cannot be written, or this build is without the format.
pub fn parquet_table(name: &str, columns: &[(String, Column)]) -> anyhow::Result<Vec<u8>> {
    #[cfg(feature = "parquet")]
    {
        let mut bytes = Vec::new();
        parquet::write_table(name, columns, &mut bytes)?;
        Ok(bytes)
    }
    #[cfg(not(feature = "parquet"))]
    {
        let _ = (name, columns);
        Err(anyhow!("{NO_PARQUET}"))
    }
}

/// Runs the verb.
pub(crate) fn run(args: &RunArgs) -> Result<(), Failure> {
    if args.parquet && !cfg!(feature = "parquet") {
        return Err(Failure::Usage(format!("--parquet: {NO_PARQUET}")));
    }
    let mut document = read_document(&args.scenario, &args.set)?;
    let mut plan = document.plan()?;
    plan.log_packets = args.qlog.is_some();
    let seed = args.seed.unwrap_or(plan.seed);
    // Before the run: a run that cannot be kept need not be made.
    let output = args.out.as_deref().map(OutputDirectory::claim).transpose()?;
    let page = args.watch.as_deref().map(WatchPage::claim).transpose()?;
    let Some(record) = simulate(args, &plan, seed, page.as_ref())? else { return Err(Failure::Interrupted) };
    if let (Some(mut output), Some(directory)) = (output, &args.out) {
        output.write(&record, args.parquet)?;
        document.set_value("simulation.seed", seed.into())?;
        let base = args.scenario.parent().unwrap_or(Path::new(""));
        kept::write(&document, base, directory)?;
    }
    if args.json {
        print::line(serde_json::to_string(&json(&record, &plan.title, seed))?)?;
    } else {
        print::line(tables::text(&record, &plan, seed)?.trim_end())?;
    }
    Ok(())
}

/// Reads a scenario and applies settings, `KEY=VALUE`.
pub(crate) fn read_document(scenario: &Path, settings: &[String]) -> anyhow::Result<Document> {
    let mut document = Document::from_file(scenario)?;
    for setting in settings {
        let (key, value) = setting.split_once('=').ok_or_else(|| {
            anyhow!("--set {setting}: expected KEY=VALUE, such as simulation.duration='10 s'")
        })?;
        document.set(key.trim(), value.trim()).with_context(|| format!("--set {setting}"))?;
    }
    Ok(document)
}

/// Runs the plan; `None` if Ctrl-C was pressed, which a note has said.
fn simulate(
    args: &RunArgs,
    plan: &Plan,
    seed: u64,
    page: Option<&WatchPage>,
) -> anyhow::Result<Option<Record>> {
    let mut run = Run::new(plan, seed);
    if page.is_some() {
        run.record_replay(args.watch_frames);
    }
    let mut capture = match &args.pcap {
        Some(path) => {
            CaptureFile::check(plan, &args.pcap_link)?;
            Some(CaptureFile::open(path, &mut run, &args.pcap_link)?)
        }
        None => None,
    };
    let mut qlogs = match &args.qlog {
        Some(directory) => Some(Qlogs::start(directory, plan, seed)?),
        None => None,
    };
    let interrupted = interrupt_flag()?;
    let bar = progress_bar(args, plan);
    let mut failure = None;
    // With a capture or logs, the run is resumed after each piece is on disk: memory stays bounded.
    let in_pieces = capture.is_some() || qlogs.is_some();
    loop {
        let outcome = run.execute(|now| {
            bar.set_position(now.as_nanos() / 1_000_000);
            if interrupted.load(Ordering::Relaxed) || in_pieces {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        if let Some(file) = &mut capture {
            failure = file.write(run.take_capture()).err();
        }
        if let Some(qlogs) = qlogs.as_mut().filter(|_| failure.is_none()) {
            failure = qlogs.append(&run.take_flow_events()).err();
        }
        if failure.is_some()
            || interrupted.load(Ordering::Relaxed)
            || outcome == whimbrel_lab::runner::RunOutcome::Finished
        {
            break;
        }
    }
    bar.finish_and_clear();
    if let Some(error) = failure {
        return Err(error);
    }
    if interrupted.load(Ordering::Relaxed) {
        let done = run.simulator().now() - Instant::ZERO;
        let kept = match &args.qlog {
            Some(directory) => format!("the logs in {} end there", directory.display()),
            None => "nothing was written".to_owned(),
        };
        let (done, end) = (done.as_secs_f64(), plan.end.as_secs_f64());
        print::note(format_args!("interrupted at {done:.1} s of {end:.1} s simulated; {kept}"));
        return Ok(None);
    }
    if let Some(file) = capture {
        file.finish()?;
    }
    if let Some(qlogs) = qlogs {
        qlogs.finish()?;
    }
    if let Some(page) = page {
        page.write(&run, seed)?;
    }
    Ok(Some(run.into_record()))
}

/// Becomes true at Ctrl-C. A second Ctrl-C ends the process as usual.
fn interrupt_flag() -> anyhow::Result<Arc<AtomicBool>> {
    let flag = Arc::new(AtomicBool::new(false));
    let raised = flag.clone();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::Builder::new().name("interrupt".into()).spawn(move || {
        runtime.block_on(async {
            while tokio::signal::ctrl_c().await.is_ok() {
                if raised.swap(true, Ordering::Relaxed) {
                    std::process::exit(130);
                }
            }
        });
    })?;
    Ok(flag)
}

fn progress_bar(args: &RunArgs, plan: &Plan) -> ProgressBar {
    if args.quiet || args.json {
        return ProgressBar::hidden();
    }
    progress::bar(plan.end.as_nanos() / 1_000_000, "the simulated time")
}
