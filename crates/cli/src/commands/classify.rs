//! `whimbrel classify`: who lost these packets, the network's queues or the radio?

mod arrivals;
mod verdicts;

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;
use whimbrel_control::loss_differentiation::{Scheme, classify};

use crate::exit::Failure;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  whimbrel classify arrivals.csv --scheme zbs3\n  \
                  whimbrel classify arrivals.csv --scheme biaz --json\n\n\
                  The file has a line per packet that arrived, in order of arrival, under a heading with the columns\n\
                  sequence, received and, for all schemes but biaz and mbiaz, sent: numbers in seconds. The two\n\
                  clocks need not agree. A packet counts as lost once three later ones have arrived.")]
pub(crate) struct ClassifyArgs {
    /// Packets that arrived: a CSV file with the columns sequence, sent, received.
    file: PathBuf,
    /// The algorithm: biaz, mbiaz, spike, zigzag, zbs, zbs2, zbs3 or inherent.
    #[arg(long, default_value = "zbs3")]
    scheme: String,
    /// Print the verdicts as JSON.
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub(crate) fn run(args: &ClassifyArgs) -> Result<(), Failure> {
    let scheme: Scheme = args.scheme.parse().map_err(|known| anyhow!("--scheme {}: {known}", args.scheme))?;
    if scheme == Scheme::Omniscient {
        return Err(anyhow!("--scheme omniscient: nobody knows the truth about a recorded loss").into());
    }
    let arrivals = arrivals::read(&args.file, scheme.needs_send_times())?;
    let losses = classify(&mut *scheme.build(), arrivals.packets);
    verdicts::print(scheme, &arrivals.clock, &losses, args.json)
}
