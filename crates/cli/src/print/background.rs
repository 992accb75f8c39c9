//! Lines that a thread writes.
//!
//! Writing to a pipe that nobody reads blocks, and a service must not block on its log. Lines wait in a
//! bounded queue. When the queue is full, lines are dropped and counted.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use super::PrintError;

/// Lines that wait for their reader.
const WAITING: usize = 1_000;

/// Time for the reader to take the last lines when the service ends.
const PATIENCE: Duration = Duration::from_secs(1);

/// The queue of one stream, and its thread.
#[derive(Debug)]
pub(super) struct Background {
    lines: Option<SyncSender<String>>,
    state: Arc<State>,
    /// Closed when the thread has written everything.
    end: Receiver<()>,
}

#[derive(Debug, Default)]
struct State {
    /// Lines that found the queue full since the last report.
    lost: AtomicU64,
    /// The reader has closed the stream.
    is_closed: AtomicBool,
}

impl Background {
    /// Starts the thread. It writes lines by `write`, and says by `note` what was lost.
    pub(super) fn start(
        write: impl FnMut(&str) -> io::Result<()> + Send + 'static,
        note: impl Fn(String) + Send + 'static,
    ) -> Self {
        let (lines, waiting) = sync_channel(WAITING);
        let (running, end) = sync_channel(0);
        let state = Arc::<State>::default();
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            write_all(&waiting, &shared, write, note);
            drop(running);
        });
        Self { lines: Some(lines), state, end }
    }

    /// Appends a line, or counts it as lost.
    ///
    /// # Errors
    /// The reader has closed the stream.
    pub(super) fn line(&self, text: String) -> Result<(), PrintError> {
        if self.state.is_closed.load(Ordering::Relaxed) {
            return Err(PrintError::NobodyReads);
        }
        if self.lines.as_ref().is_none_or(|lines| lines.try_send(text).is_err()) {
            self.state.lost.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.lines = None;
        // The thread closes the channel when it is done. If nobody reads, the wait times out.
        let _ = self.end.recv_timeout(PATIENCE);
    }
}

fn write_all(
    waiting: &Receiver<String>,
    state: &State,
    mut write: impl FnMut(&str) -> io::Result<()>,
    note: impl Fn(String),
) {
    let mut has_failed = false;
    for text in waiting {
        match write(&text) {
            Ok(()) => has_failed = false,
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                state.is_closed.store(true, Ordering::Relaxed);
                return;
            }
            // A full disk, for instance: the service goes on.
            Err(error) => {
                if !has_failed {
                    note(format!("the output cannot be written, its lines are lost: {error}"));
                }
                has_failed = true;
            }
        }
        match state.lost.swap(0, Ordering::Relaxed) {
            0 => {}
            lost => note(format!("{lost} lines of the output are lost, because nobody read it")),
        }
    }
}

#[cfg(test)]
mod tests;
