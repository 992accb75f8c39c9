//! A scenario that is checked, and a run of it.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use serde_json::{Value, json};
use whimbrel_lab::record;
use whimbrel_lab::runner::RunOutcome;
use whimbrel_lab::scenario::{Files, places};
use whimbrel_lab::{Document, Plan, Run, ScenarioError};
use whimbrel_live::simulation::{self, Network};
use whimbrel_live::{Position, Recording, document};

use crate::completion::{Completion, completion};
use crate::knobs::knobs;

/// The folder that the names of files in scenarios start from.
pub const FOLDER: &str = "scenarios";

/// Files, and a run at a time.
#[derive(Default)]
pub struct Session {
    files: BTreeMap<String, Vec<u8>>,
    schema: Option<Value>,
    running: Option<Running>,
}

/// A run, and what the live page knows of it.
struct Running {
    run: Run<'static>,
    seed: u64,
    captures: bool,
    recording: Recording,
    network: Network,
    /// Samples in the recording.
    told: usize,
    known: Option<Position>,
}

impl Session {
    /// Adds a file that scenarios may name, by its path: `scenarios/clip.csv` is `clip.csv` in a scenario.
    pub fn add_file(&mut self, path: &str, content: &[u8]) {
        self.files.insert(path.to_owned(), content.to_owned());
    }

    fn document(&self, text: &str) -> Result<Document, ScenarioError> {
        let files = self.files.iter().map(|(path, content)| (path, content.as_slice()));
        Ok(Document::from_toml(text)?.with_files(Files::in_memory(files).relative_to(FOLDER)))
    }

    /// Title, seed, duration and knobs of a scenario; or its error, with the line.
    pub fn check(&mut self, text: &str) -> Value {
        let checked = self.document(text).and_then(|document| Ok((document.plan()?, document)));
        match checked {
            Ok((plan, document)) => {
                let schema = self.schema();
                let mut facts = facts(&plan);
                facts["knobs"] = json!(knobs(text, document.as_json(), schema));
                facts
            }
            Err(error) => refusal(text, &error),
        }
    }

    /// Proposals for a place of a text, in UTF-16 code units.
    pub fn complete(&mut self, text: &str, place: usize) -> Completion {
        completion(text, place, self.schema())
    }

    fn schema(&mut self) -> &Value {
        self.schema.get_or_insert_with(whimbrel_lab::schema)
    }

    /// Starts a run that records up to `frames` frames of each 802.11 medium, and captures all packets if
    /// `captures`.
    pub fn start(&mut self, text: &str, seed: u64, frames: usize, captures: bool) -> Value {
        let plan = match self.document(text).and_then(|document| document.plan()) {
            Ok(plan) => plan,
            Err(error) => return refusal(text, &error),
        };
        let facts = facts(&plan);
        // An instance of the module has one run, and ends with it.
        let plan: &'static Plan = Box::leak(Box::new(plan));
        let mut run = Run::new(plan, seed);
        run.record_replay(frames);
        if captures {
            run.capture(|_| true);
        }
        let mut recording = simulation::titled(plan, seed);
        let network = Network::new(&mut recording, plan, &[]);
        network.mark_links(&mut recording, plan, run.link_events());
        self.running = Some(Running { run, seed, captures, recording, network, told: 0, known: None });
        facts
    }

    /// Advances the run until its observer has looked so often; `true` if it has ended, or there is none.
    pub fn advance(&mut self, looks: u32) -> bool {
        let Some(running) = &mut self.running else { return true };
        let mut left = looks;
        let outcome = running.run.execute(|_| {
            left = left.saturating_sub(1);
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        outcome == RunOutcome::Finished
    }

    /// The simulated time in seconds.
    pub fn now(&self) -> f64 {
        self.running.as_ref().map_or(0.0, |running| running.run.simulator().now().as_secs_f64())
    }

    /// The next event of the live page; empty if there is none.
    pub fn event(&mut self) -> String {
        let Some(Running { run, recording, network, told, known, .. }) = &mut self.running else {
            return String::new();
        };
        let gaps = run.cell_gaps();
        for sample in &run.samples()[*told..] {
            network.push(recording, sample, &gaps);
        }
        *told = run.samples().len();
        recording.event(known).map_or_else(String::new, |event| json!(event).to_string())
    }

    /// The packets captured since the last call; nothing in a run without a capture.
    pub fn capture(&mut self) -> Vec<u8> {
        match &mut self.running {
            Some(running) if running.captures => running.run.take_capture(),
            _ => Vec::new(),
        }
    }

    /// The page that replays the run.
    pub fn page(&self) -> String {
        self.running
            .as_ref()
            .map_or_else(String::new, |running| document(&simulation::recording(&running.run, running.seed)))
    }

    /// Ends the run. Returns its record, as `whimbrel run --json` prints it.
    pub fn record(&mut self) -> String {
        self.running.take().map_or_else(String::new, |Running { run, seed, .. }| {
            let plan = run.plan();
            format!("{}\n", record::json(&run.into_record(), &plan.title, seed))
        })
    }
}

fn facts(plan: &Plan) -> Value {
    json!({ "title": plan.title, "seed": plan.seed, "end": plan.end.as_secs_f64() })
}

/// An error of a scenario: the command's message, and the line.
fn refusal(text: &str, error: &ScenarioError) -> Value {
    json!({ "error": error.to_string(), "key": error.key, "line": places::line_of(text, error) })
}

#[cfg(test)]
mod tests;
