//! `whimbrel model`: predictions of the papers' equations, without simulation.

mod handover;

use clap::{Args, Subcommand};

use crate::exit::Failure;

#[derive(Debug, Args)]
#[command(after_help = "Example:\n  whimbrel model handover --network home=1.2MB/s,50ms")]
pub(crate) struct ModelArgs {
    #[command(subcommand)]
    model: Model,
}

#[derive(Debug, Subcommand)]
enum Model {
    /// Predict the cost of a handover between two networks for a TFRC sender: packets lost, capacity wasted.
    Handover(handover::HandoverArgs),
}

/// Runs the verb.
pub(crate) fn run(args: &ModelArgs) -> Result<(), Failure> {
    match &args.model {
        Model::Handover(args) => handover::run(args),
    }
}
