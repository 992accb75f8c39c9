//! Standard output and standard error without panics on a closed pipe or a full disk.

use std::fmt::Display;
use std::io::{self, Write};

use thiserror::Error;

/// Reason why a line could not be printed.
#[derive(Debug, Error)]
pub(crate) enum PrintError {
    /// The reader of the output has closed it, as `head` does.
    #[error("the reader of the output has closed it")]
    NobodyReads,
    /// Anything else, such as a full disk.
    #[error("writing to standard output: {0}")]
    Failed(io::Error),
}

/// Prints a line.
///
/// # Errors
/// The reader has closed it, or it cannot be written.
pub(crate) fn line(text: impl Display) -> Result<(), PrintError> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush()).map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => PrintError::NobodyReads,
        _ => PrintError::Failed(error),
    })
}

/// Prints a note of the program's to standard error, as [`aside`] does.
pub(crate) fn note(text: impl Display) {
    aside(format_args!("whimbrel: {text}"));
}

/// Prints a line to standard error. Without a reader it is lost: a connection must not end because the reader of its notes has.
pub(crate) fn aside(text: impl Display) {
    let _ = writeln!(io::stderr(), "{text}");
}
