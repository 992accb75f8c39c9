//! Captures as commands open them.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use anyhow::Context;
use whimbrel_inspect::capture::{CaptureErrorKind, CaptureReader, Record};

/// A capture that is read from a file or from standard input.
pub(super) type Capture = CaptureReader<BufReader<Box<dyn Read>>>;

/// Opens a capture, plain or compressed with gzip; `-` is standard input. Returns its name in messages, too.
pub(super) fn open(path: &Path) -> anyhow::Result<(String, Capture)> {
    let (name, stream) = stream(path)?;
    let reader = CaptureReader::new(stream).with_context(|| name.clone())?;
    Ok((name, reader))
}

/// Opens a file that is a capture or something else: `None` in the latter case.
///
/// # Errors
/// If it cannot be read, or is a damaged capture.
pub(super) fn open_if_capture(path: &Path) -> anyhow::Result<(String, Option<Capture>)> {
    let (name, stream) = stream(path)?;
    match CaptureReader::new(stream) {
        Ok(reader) => Ok((name, Some(reader))),
        // Another format, or too short for a capture.
        Err(error)
            if matches!(error.kind, CaptureErrorKind::NotACapture(_))
                || error.offset == 0
                    && matches!(error.kind, CaptureErrorKind::CutOff { found: 0..4, .. }) =>
        {
            Ok((name, None))
        }
        Err(error) => Err(anyhow::Error::new(error).context(name)),
    }
}

fn stream(path: &Path) -> anyhow::Result<(String, BufReader<Box<dyn Read>>)> {
    let is_stdin = path.as_os_str() == "-";
    let name = if is_stdin { "standard input".into() } else { path.display().to_string() };
    let stream: Box<dyn Read> = if is_stdin {
        Box::new(std::io::stdin().lock())
    } else {
        Box::new(File::open(path).with_context(|| name.clone())?)
    };
    Ok((name, BufReader::new(stream)))
}

/// `true` if a frame's interface is among those `named`, by name or number, or if none is named.
pub(super) fn is_wanted(record: &Record<'_>, named: &[String]) -> bool {
    let is_meant =
        |name: &String| record.interface_name == Some(name.as_str()) || name.parse() == Ok(record.interface);
    named.is_empty() || named.iter().any(is_meant)
}
