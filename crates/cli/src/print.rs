//! Standard output and standard error without panics on a closed pipe or a full disk, and without control of the terminal.
//!
//! All text goes through here (clippy.toml refuses other ways). Names, titles and messages of a peer or of a file may have any
//! character: those that command a terminal, or change the order in which it shows others, are written as escapes.

use std::fmt::Display;
use std::io::{self, Write};

use thiserror::Error;
use whimbrel_relay::text::{printable, shortened};

/// The longest note, in characters: it may quote what a peer or a file says.
const LONGEST_NOTE: usize = 4_000;

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
#[allow(clippy::disallowed_methods, reason = "the text is printable")]
pub(crate) fn line(text: impl Display) -> Result<(), PrintError> {
    let text = text.to_string();
    let mut out = io::stdout().lock();
    writeln!(out, "{}", printable(&text)).and_then(|()| out.flush()).map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => PrintError::NobodyReads,
        _ => PrintError::Failed(error),
    })
}

/// Prints a note of the program's to standard error, as [`aside`] does.
pub(crate) fn note(text: impl Display) {
    aside(format_args!("whimbrel: {text}"));
}

/// Prints a line to standard error. Without a reader it is lost: a connection must not end because the reader of its notes has.
#[allow(clippy::disallowed_methods, reason = "the text is printable")]
pub(crate) fn aside(text: impl Display) {
    let text = text.to_string();
    let _ = writeln!(io::stderr(), "{}", printable(&shortened(&text, LONGEST_NOTE)));
}
