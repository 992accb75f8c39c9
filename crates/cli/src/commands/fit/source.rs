//! The losses of a file.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use whimbrel_inspect::loss_fit::LossRuns;
use whimbrel_inspect::losses::losses_of;

use super::packets;
use crate::commands::capture_file::open_if_capture;

/// The most packets that a text may describe.
const MAX_MARKS: u64 = 100_000_000;

/// A sequence of delivered and lost packets.
#[derive(Debug)]
pub(super) struct Source {
    /// The file.
    pub(super) name: String,
    /// Description of the stream, if the file is a capture.
    pub(super) stream: Option<String>,
    /// The packets.
    pub(super) runs: LossRuns,
}

impl Source {
    /// Reads a capture, a run's table of packets, or a text of zeros and ones.
    ///
    /// A directory holds the tables of a run, whose packets are read.
    pub(super) fn read(path: &Path, port: Option<u16>, flow: Option<&str>) -> anyhow::Result<Self> {
        if path.is_dir() || path.extension().is_some_and(|extension| extension == "csv") {
            let file = if path.is_dir() { path.join("packets.csv") } else { path.to_owned() };
            let name = file.display().to_string();
            let (flow, runs) = packets::read(&file, flow).with_context(|| name.clone())?;
            return Ok(Self { name, stream: Some(format!("flow {flow}")), runs });
        }
        if flow.is_some() {
            bail!("--flow: {} is no table of packets of a run", path.display());
        }
        let (name, capture) = open_if_capture(path)?;
        let Some(reader) = capture else {
            if port.is_some() {
                bail!("--port: {name} is no pcap or pcapng file");
            }
            let runs = marks(path).with_context(|| name.clone())?;
            return Ok(Self { name, stream: None, runs });
        };
        let found = losses_of(reader, port).with_context(|| name.clone())?;
        let recording = found.ok_or_else(|| {
            let to = port.map(|port| format!(" to port {port}")).unwrap_or_default();
            anyhow!(
                "{name}: expected a capture of a DCCP, RTP or TCP stream{to}; other datagrams have no numbers"
            )
        })?;
        let of = match recording.streams {
            1 => String::new(),
            streams => format!(", the largest of {streams} streams"),
        };
        Ok(Self { name, stream: Some(format!("{}{of}", recording.stream)), runs: recording.runs })
    }

    /// Mean length of the bursts of lost packets.
    pub(super) fn mean_burst(&self) -> Option<f64> {
        let bursts: u64 = self.runs.bursts().values().sum();
        (bursts > 0).then(|| self.runs.lost() as f64 / bursts as f64)
    }
}

/// The packets of a text of zeros and ones; white space is ignored, as in a scenario's mask.
fn marks(path: &Path) -> anyhow::Result<LossRuns> {
    let mut reader = BufReader::new(File::open(path)?);
    let mut runs = LossRuns::new();
    let mut block = [0; 1 << 16];
    let mut position = 0u64;
    loop {
        let read = match reader.read(&mut block) {
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
        };
        if read == 0 {
            return Ok(runs);
        }
        for byte in &block[..read] {
            match byte {
                b'0' | b'1' => {
                    runs.push(*byte == b'1', 1);
                    position += 1;
                }
                space if space.is_ascii_whitespace() => {}
                other => bail!(
                    "expected a pcap or pcapng file, or a text of 0 and 1 (mark {position} is `{}`)",
                    other.escape_ascii()
                ),
            }
        }
        if position > MAX_MARKS {
            bail!("more than {MAX_MARKS} packets: expected a shorter text");
        }
    }
}
