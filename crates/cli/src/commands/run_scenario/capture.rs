//! A capture file that appears whole or not at all.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use whimbrel_lab::{Plan, Run};

/// A capture file being written.
#[derive(Debug)]
pub(crate) struct CaptureFile {
    path: PathBuf,
    /// The file that is written until it is complete; `None` if `path` is a pipe or a device.
    temporary: Option<PathBuf>,
    writer: BufWriter<File>,
}

impl CaptureFile {
    /// Checks the names of the links to be captured.
    pub(crate) fn check(plan: &Plan, links: &[String]) -> anyhow::Result<()> {
        let names = plan.links.iter().map(|link| &link.name).chain(plan.wifi.iter().map(|wifi| &wifi.name));
        let known: Vec<&str> = names.map(String::as_str).collect();
        match links.iter().find(|name| !known.iter().any(|link| matches(link, name))) {
            Some(name) => bail!(
                "--pcap-link {name}: the scenario has no such link; expected one of: {}",
                known.join(", ")
            ),
            None => Ok(()),
        }
    }

    /// Makes the run capture `links` (all of them, if none is named) and opens the file.
    pub(crate) fn open(path: &Path, run: &mut Run<'_>, links: &[String]) -> anyhow::Result<Self> {
        run.capture(|link| links.is_empty() || links.iter().any(|name| matches(link, name)));
        let is_file = std::fs::metadata(path).map_or(true, |metadata| metadata.is_file());
        let temporary = is_file.then(|| path.with_extension(format!("partial.{}", std::process::id())));
        let opened = match &temporary {
            Some(temporary) => File::create(temporary),
            None => File::options().write(true).open(path),
        };
        let file = opened.with_context(|| format!("--pcap {}", path.display()))?;
        Ok(Self { path: path.to_owned(), temporary, writer: BufWriter::new(file) })
    }

    /// Appends a piece.
    pub(crate) fn write(&mut self, bytes: Vec<u8>) -> anyhow::Result<()> {
        self.writer.write_all(&bytes).with_context(|| format!("--pcap {}", self.path.display()))
    }

    /// Renames the file to its final name.
    pub(crate) fn finish(mut self) -> anyhow::Result<()> {
        let written = self.writer.flush().and_then(|()| match &self.temporary {
            Some(temporary) => std::fs::rename(temporary, &self.path),
            None => Ok(()),
        });
        written.with_context(|| format!("--pcap {}", self.path.display()))
    }
}

impl Drop for CaptureFile {
    fn drop(&mut self) {
        // After `finish` there is no such file.
        if let Some(temporary) = &self.temporary {
            let _ = std::fs::remove_file(temporary);
        }
    }
}

/// `true` if `name` names the direction or its link.
fn matches(direction: &str, name: &str) -> bool {
    direction == name || direction.strip_suffix(":reverse") == Some(name)
}
