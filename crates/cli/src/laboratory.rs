//! The commands that relays do without: measurements, captures and simulations.

use clap::Subcommand;

use crate::commands::{
    capacity, classify, emulate, fit, inspect, model, perf, record, run_scenario, schedule, schema,
};
use crate::exit::Failure;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure rate, losses and delays to another host, like iperf.
    Perf(perf::PerfArgs),
    /// Explain a capture file: what each stream did, lost, and why it ended.
    Inspect(inspect::InspectArgs),
    /// Simulate a scenario, faster than real time.
    Run(run_scenario::RunArgs),
    /// Run real programs over the network of a scenario, in real time.
    Emulate(emulate::EmulateArgs),
    /// Say of each loss in a capture whether the radio or congestion lost it.
    Classify(classify::ClassifyArgs),
    /// Record a path to another host, for simulations over the same path.
    Record(record::RecordArgs),
    /// Find the loss model for a scenario from a capture's losses.
    Fit(fit::FitArgs),
    /// Estimate how much a Wi-Fi channel could carry, from its captured frames.
    Capacity(capacity::CapacityArgs),
    /// Predict what a handover costs, by a paper's equations.
    Model(model::ModelArgs),
    /// Turn a video or a capture into a list of datagrams that perf and scenarios send.
    Schedule(schedule::ScheduleArgs),
    /// Print the JSON schema of scenarios.
    Schema(schema::SchemaArgs),
}

impl Command {
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self {
            Self::Inspect(args) => inspect::run(&args),
            Self::Perf(args) => perf::run(args),
            Self::Run(args) => run_scenario::run(&args),
            Self::Emulate(args) => emulate::run(&args),
            Self::Classify(args) => classify::run(&args),
            Self::Record(args) => record::run(args),
            Self::Fit(args) => fit::run(&args),
            Self::Capacity(args) => capacity::run(&args),
            Self::Model(args) => model::run(&args),
            Self::Schedule(args) => schedule::run(&args),
            Self::Schema(args) => schema::run(&args),
        }
    }
}
