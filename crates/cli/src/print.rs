//! Standard output and standard error without panics on a closed pipe or a full disk, and without control of
//! the terminal.
//!
//! All text goes through here (clippy.toml refuses other ways). Names, titles and messages of a peer or of a
//! file may have any character: those that command a terminal, or change the order in which it shows others,
//! are written as escapes.

mod background;

use std::fmt::Display;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use thiserror::Error;
use whimbrel_relay::text::{printable, shortened};

use background::Background;

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

/// The writer threads, while a service runs.
static IN_BACKGROUND: Mutex<Option<[Background; 2]>> = Mutex::new(None);

/// Guard for output from background threads: a service keeps running if nobody reads its output or the disk
/// is full.
#[derive(Debug)]
#[must_use]
pub(crate) struct InBackground(());

/// Lets threads write all lines from now on.
pub(crate) fn in_background() -> InBackground {
    let note = |text: String| write_aside(&format!("whimbrel: {text}"));
    let aside = |text: &str| {
        write_aside(text);
        Ok(())
    };
    let threads = [Background::start(write_line, note), Background::start(aside, note)];
    *IN_BACKGROUND.lock().unwrap_or_else(PoisonError::into_inner) = Some(threads);
    InBackground(())
}

impl Drop for InBackground {
    fn drop(&mut self) {
        // Dropping the threads flushes their queues, which must not hold the lock.
        let threads = IN_BACKGROUND.lock().unwrap_or_else(PoisonError::into_inner).take();
        drop(threads);
    }
}

/// Prints a line.
///
/// # Errors
/// The reader has closed it, or it cannot be written.
pub(crate) fn line(text: impl Display) -> Result<(), PrintError> {
    let text = printable(&text.to_string()).into_owned();
    if let Some([out, _]) = &*IN_BACKGROUND.lock().unwrap_or_else(PoisonError::into_inner) {
        return out.line(text);
    }
    write_line(&text).map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => PrintError::NobodyReads,
        _ => PrintError::Failed(error),
    })
}

#[allow(clippy::disallowed_methods, reason = "the text is printable")]
fn write_line(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}").and_then(|()| out.flush())
}

/// Prints a note of the program's to standard error, as [`aside`] does.
pub(crate) fn note(text: impl Display) {
    aside(format_args!("whimbrel: {text}"));
}

/// Says where the live page of a program is that ends with what it shows.
#[cfg(feature = "laboratory")]
pub(crate) fn live_page(served: &whimbrel_live::server::Served) {
    note(format_args!("live at {served}"));
}

/// Prints a line to standard error. Without a reader it is lost: a connection must not end because the reader
/// of its notes has.
pub(crate) fn aside(text: impl Display) {
    let text = printable(&shortened(&text.to_string(), LONGEST_NOTE)).into_owned();
    match &*IN_BACKGROUND.lock().unwrap_or_else(PoisonError::into_inner) {
        Some([_, aside]) => drop(aside.line(text)),
        None => write_aside(&text),
    }
}

#[allow(clippy::disallowed_methods, reason = "the text is printable")]
fn write_aside(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}
