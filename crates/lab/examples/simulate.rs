//! Runs a scenario and prints its tables: `simulate FILE [SEED] [KEY=VALUE]...`

use std::env;
use std::process::ExitCode;

use whimbrel_lab::record::csv;
use whimbrel_lab::{Document, ScenarioError, run};

fn main() -> ExitCode {
    match simulate() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn simulate() -> Result<(), ScenarioError> {
    let mut arguments = env::args().skip(1);
    let file = arguments.next().unwrap_or_else(|| "examples/scenarios/video_wb.toml".to_owned());
    let mut document = Document::from_file(&file)?;
    let mut seed = None;
    for argument in arguments {
        match argument.split_once('=') {
            Some((key, value)) => document.set(key, value)?,
            None => seed = argument.parse().ok(),
        }
    }
    let plan = document.plan()?;
    let record = run(&plan, seed.unwrap_or(plan.seed));
    for name in ["flows", "links"] {
        if let Some(table) = record.table(name) {
            println!("{}", csv(table));
        }
    }
    Ok(())
}
