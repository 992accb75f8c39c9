//! Standard output, where a closed pipe or a full disk is no reason to panic.

use std::fmt::Display;
use std::io::{self, Write};

use thiserror::Error;

/// Why a line could not be printed.
#[derive(Debug, Error)]
pub(crate) enum PrintError {
    /// Whoever read the output has gone, as `head` does.
    #[error("nobody reads the output any more")]
    NobodyReads,
    /// Anything else, such as a full disk.
    #[error("writing to standard output: {0}")]
    Failed(io::Error),
}

/// Prints a line.
///
/// # Errors
/// Nobody reads it, or it cannot be written.
pub(crate) fn line(text: impl Display) -> Result<(), PrintError> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => PrintError::NobodyReads,
        _ => PrintError::Failed(error),
    })
}
