//! The `whimbrel` command: measure real paths, simulate scenarios.
//!
//! The Python package's command of the same name calls [`run`] for every verb that is not its own,
//! so each verb is implemented once.

mod command_tree;
mod commands;
mod exit;
mod interrupt;
mod lines;
mod live;
mod print;
mod progress;
mod quantity;
mod security;
mod service;
mod table;

use clap::{CommandFactory, Parser, Subcommand};

use crate::commands::{
    capacity, carry, classify, completion, emulate, fit, inspect, key, man, model, perf, pipe, record, relay,
    run_scenario, schedule, schema,
};
use crate::exit::Failure;
use crate::print::PrintError;
pub use quantity::parse_quantity;

/// Congestion-controlled datagrams for live media, and a laboratory that shows why they break.
#[derive(Debug, Parser)]
#[command(
    name = "whimbrel",
    version,
    propagate_version = true,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = "Examples:\n  whimbrel perf server\n  whimbrel perf client 192.0.2.7 --ccid 3 --time 10\n  \
                  whimbrel run examples/scenarios/wb.toml --seed 1\n\nThe Python package adds: examples, reproduce, sweep, report, compare, quality, testbed."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Explain the streams of a capture file.
    Inspect(inspect::InspectArgs),
    /// Measure a real path, like iperf: DCCP, UDP, TCP.
    Perf(perf::PerfArgs),
    /// Carry the datagrams of another program, such as a camera's video, over DCCP.
    Carry(carry::CarryArgs),
    /// Carry the datagrams of other programs, such as RTP, over one encrypted connection.
    Relay(relay::RelayArgs),
    /// Pass standard input to the standard output of another host, as encrypted datagrams.
    Pipe(pipe::PipeArgs),
    /// Make the keys by which the ends of connections authenticate each other.
    Key(key::KeyArgs),
    /// Simulate a scenario, faster than real time.
    Run(run_scenario::RunArgs),
    /// Run programs across a scenario's network, in real time.
    Emulate(emulate::EmulateArgs),
    /// Classify each loss in a list of arrivals as congestion or wireless.
    Classify(classify::ClassifyArgs),
    /// Measure a path in both directions, into traces that scenarios replay.
    Record(record::RecordArgs),
    /// Fit loss models to the losses of a capture.
    Fit(fit::FitArgs),
    /// Estimate capacity and available bandwidth of 802.11 channels from a capture.
    Capacity(capacity::CapacityArgs),
    /// Evaluate the equations of a paper, without simulation.
    Model(model::ModelArgs),
    /// Convert a video file or a capture to a schedule of datagrams.
    Schedule(schedule::ScheduleArgs),
    /// Print the JSON schema of scenarios.
    Schema(schema::SchemaArgs),
    /// Print the completion script of a shell.
    Completion(completion::CompletionArgs),
    /// Print a manual page, or write all of them.
    Man(man::ManArgs),
}

/// Runs the command line `args` (the program's name first) and returns its exit code: 0 for
/// success, 1 for a failure, 2 for wrong usage, 130 after an interruption.
pub fn run(args: Vec<String>) -> i32 {
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            return error.exit_code();
        }
    };
    let result = match cli.command {
        Command::Inspect(args) => inspect::run(&args),
        Command::Perf(args) => perf::run(args),
        Command::Carry(args) => carry::run(args),
        Command::Relay(args) => relay::run(args),
        Command::Pipe(args) => pipe::run(args),
        Command::Key(args) => key::run(&args),
        Command::Run(args) => run_scenario::run(&args),
        Command::Emulate(args) => emulate::run(&args),
        Command::Classify(args) => classify::run(&args),
        Command::Record(args) => record::run(&args),
        Command::Fit(args) => fit::run(&args),
        Command::Capacity(args) => capacity::run(&args),
        Command::Model(args) => model::run(&args),
        Command::Schedule(args) => schedule::run(&args),
        Command::Schema(args) => schema::run(&args),
        Command::Completion(args) => completion::run(&args, Cli::command()),
        Command::Man(args) => man::run(&args, Cli::command()),
    };
    match result {
        Ok(()) => 0,
        Err(Failure::Interrupted) => 130,
        Err(Failure::Code(code)) => code,
        Err(Failure::Usage(message)) => {
            print::note(message);
            2
        }
        // As with other filters, a closed pipe is no error to report.
        Err(Failure::Because(error)) if matches!(error.downcast_ref(), Some(PrintError::NobodyReads)) => 0,
        Err(Failure::Because(error)) => {
            print::note(brief(&format!("{error:#}")));
            1
        }
    }
}

/// A message of bounded length: it may quote a file.
fn brief(message: &str) -> String {
    const SHOWN: usize = 2_000;
    match message.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}... ({} bytes more)", &message[..end], message.len() - end),
        None => message.to_owned(),
    }
}
