//! The page that replays a run (`--watch`).

use std::path::{Path, PathBuf};

use anyhow::Context;
use whimbrel_lab::{Plan, Run};
use whimbrel_live::{Recording, document};

use crate::live::Network;

/// A page that was claimed before the run, and is written after it.
pub(super) struct WatchPage {
    path: PathBuf,
}

impl WatchPage {
    /// Checks that the file can be written.
    ///
    /// # Errors
    /// If it cannot.
    pub(super) fn claim(path: &Path) -> anyhow::Result<Self> {
        let existing = std::fs::OpenOptions::new().append(true).create(true).open(path);
        existing
            .with_context(|| format!("--watch {}: expected a file that can be written", path.display()))?;
        Ok(Self { path: path.to_owned() })
    }

    /// Writes the page of a run that has recorded its replay.
    pub(super) fn write(&self, run: &Run<'_>, plan: &Plan, seed: u64) -> anyhow::Result<()> {
        let Some(scene) = run.replay() else { return Ok(()) };
        let title = if plan.title.is_empty() { "a run" } else { &plan.title };
        let mut recording = Recording::new(title);
        recording.fact(format!("{} s", (plan.end.as_secs_f64() * 1e3).round() / 1e3));
        recording.fact(format!("seed {seed}"));
        let mut network = Network::new(&mut recording, plan, run.samples());
        network.mark_links(&mut recording, plan, run.link_events());
        let gaps = run.cell_gaps();
        for sample in run.samples() {
            network.push(&mut recording, sample, &gaps);
        }
        recording.scene(scene);
        std::fs::write(&self.path, document(&recording))
            .with_context(|| format!("--watch {}: the page was not written", self.path.display()))
    }
}
