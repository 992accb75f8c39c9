//! `whimbrel schema`: the JSON schema of scenarios.

use clap::Args;

use crate::exit::Failure;
use crate::print;

#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  whimbrel schema > scenario.schema.json\n\nEditors that know JSON schemas check a scenario with it as you type."
)]
pub(crate) struct SchemaArgs {
    /// The schema is JSON in any case; accepted for uniformity.
    #[arg(long)]
    json: bool,
}

/// Runs the verb.
pub(crate) fn run(_: &SchemaArgs) -> Result<(), Failure> {
    print::line(serde_json::to_string_pretty(&whimbrel_lab::schema())?)?;
    Ok(())
}
