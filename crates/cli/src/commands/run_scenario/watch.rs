//! The page that replays a run (`--watch`).

use std::path::{Path, PathBuf};

use anyhow::Context;
use whimbrel_lab::Run;
use whimbrel_live::{document, simulation};

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
    pub(super) fn write(&self, run: &Run<'_>, seed: u64) -> anyhow::Result<()> {
        std::fs::write(&self.path, document(&simulation::recording(run, seed)))
            .with_context(|| format!("--watch {}: the page was not written", self.path.display()))
    }
}

/// The page of a run; `None` if it has not recorded its replay.
pub(super) fn page(run: &Run<'_>, seed: u64) -> Option<String> {
    run.replay().map(|_| document(&simulation::recording(run, seed)))
}
