//! The files that a scenario names: on disk, or in memory where there is no disk, as in a browser.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::error::ScenarioError;
use crate::text;

/// The most bytes of a text that a scenario names, such as a trace.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// The most names of files that a message lists.
const LISTED: usize = 20;

/// Keys of a scenario that name files: no other is opened, or copied with a scenario.
pub const FILE_KEYS: [&str; 3] = ["file", "schedule", "light"];

/// Files in memory, by their paths without `.` and `..`.
type Stored = BTreeMap<PathBuf, Arc<[u8]>>;

/// A source of files.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// The directory that relative names start from.
    base: PathBuf,
    /// `None`: the files of the operating system.
    stored: Option<Arc<Stored>>,
}

impl Files {
    /// The files of the operating system. Relative names start in the working directory.
    pub fn on_disk() -> Self {
        Self::default()
    }

    /// These files and no others: no name leads to the operating system.
    pub fn in_memory<P: Into<PathBuf>, B: Into<Arc<[u8]>>>(files: impl IntoIterator<Item = (P, B)>) -> Self {
        let stored = files.into_iter().map(|(path, bytes)| (plain(&path.into()), bytes.into()));
        Self { base: PathBuf::new(), stored: Some(Arc::new(stored.collect())) }
    }

    /// The same files with relative names from `directory` on.
    pub fn relative_to(self, directory: impl Into<PathBuf>) -> Self {
        Self { base: directory.into(), ..self }
    }

    /// Opens the file of that name, which `key` has.
    pub(crate) fn open(&self, key: &str, file: &Path) -> Result<Box<dyn Read>, ScenarioError> {
        self.opened(key, file).map_err(|error| self.unreadable(key, file, &error))
    }

    /// The text of the file of that name, which `key` has.
    pub(crate) fn read(&self, key: &str, file: &Path) -> Result<String, ScenarioError> {
        let text = self.opened(key, file).and_then(|reader| text::read_from(reader, MAX_FILE_BYTES));
        text.map_err(|error| self.unreadable(key, file, &error))
    }

    fn opened(&self, key: &str, file: &Path) -> io::Result<Box<dyn Read>> {
        debug_assert!(names_file(key), "{key} is not one of the keys that name files");
        let path = self.base.join(file);
        match &self.stored {
            None => Ok(Box::new(File::open(path)?)),
            Some(stored) => match stored.get(&plain(&path)) {
                Some(bytes) => Ok(Box::new(Cursor::new(bytes.clone()))),
                None => Err(io::Error::new(io::ErrorKind::NotFound, absent(stored))),
            },
        }
    }

    /// Names the path that was tried: relative names start from the scenario's folder.
    fn unreadable(&self, key: &str, file: &Path, error: &io::Error) -> ScenarioError {
        let expected = format!("a readable file ({}: {error})", self.base.join(file).display());
        ScenarioError::invalid(key, format!("\"{}\"", file.display()), expected)
    }
}

/// `true` if the last part of a key names a file, as in `link[0].trace.file`.
fn names_file(key: &str) -> bool {
    FILE_KEYS.contains(&key.rsplit('.').next().unwrap_or(key))
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

/// Reason for a missing file in memory, which lists those that are there.
fn absent(stored: &Stored) -> String {
    let names: Vec<String> = stored.keys().take(LISTED).map(|path| path.display().to_string()).collect();
    match stored.len() {
        0 => "no file is available here".to_owned(),
        count if count > LISTED => format!("not one of the files available here: {}, ...", names.join(", ")),
        _ => format!("not one of the files available here: {}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests;
