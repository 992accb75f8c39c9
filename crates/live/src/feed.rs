//! A recording that grows, shared with its readers.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

use crate::document::document;
use crate::recording::{Event, Position, Recording};

/// A recording that grows. Clones are the same one.
#[derive(Clone, Debug)]
pub struct Feed {
    recording: Arc<Mutex<Recording>>,
    changed: watch::Sender<()>,
}

impl Feed {
    /// Shares a recording.
    pub fn new(recording: Recording) -> Self {
        Self { recording: Arc::new(Mutex::new(recording)), changed: watch::Sender::new(()) }
    }

    /// Changes the recording. Readers learn of it.
    pub fn update<T>(&self, change: impl FnOnce(&mut Recording) -> T) -> T {
        let done = change(&mut self.recording.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.send_replace(());
        done
    }

    /// The recording as a document of its own.
    pub fn document(&self) -> String {
        // A document takes time, in which the recording goes on.
        let recording = self.recording.lock().unwrap_or_else(PoisonError::into_inner).clone();
        document(&recording)
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        self.recording.lock().unwrap_or_else(PoisonError::into_inner).json()
    }

    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    /// The next server-sent event for a reader that knows the recording up to a position, if there is
    /// anything new. A new reader gets everything.
    pub(crate) fn event(&self, known: &mut Option<Position>) -> Option<String> {
        let recording = self.recording.lock().unwrap_or_else(PoisonError::into_inner);
        let Event { kind, recording: data } = recording.event(known)?;
        // JSON has no line feed outside of strings, and none inside of them.
        Some(format!("event: {kind}\ndata: {data}\n\n"))
    }
}
