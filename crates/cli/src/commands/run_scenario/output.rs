//! The directory of a run's tables: checked and locked before the run.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use whimbrel_lab::Record;

#[cfg(feature = "parquet")]
use super::parquet;

/// A directory that no other command writes to. The lock is the operating system's and ends with this
/// process, however it ends.
#[derive(Debug)]
pub(crate) struct OutputDirectory {
    path: PathBuf,
    /// Made by this command, as were those above it that are listed, innermost first.
    made: Vec<PathBuf>,
    /// Holds the lock; none where directories cannot be opened or locked.
    _lock: Option<File>,
}

impl OutputDirectory {
    /// Creates the directory if missing, checks that files can be created in it, and locks it.
    pub(crate) fn claim(path: &Path) -> anyhow::Result<Self> {
        let missing: Vec<PathBuf> = path
            .ancestors()
            .filter(|one| !one.as_os_str().is_empty() && !one.exists())
            .map(Path::to_owned)
            .collect();
        let context = || format!("--out {}: cannot write tables there", path.display());
        fs::create_dir_all(path).with_context(context)?;
        let mut claimed = Self { path: path.to_owned(), made: missing, _lock: None };
        let probe = path.join(format!(".writable.{}", std::process::id()));
        File::create(&probe).with_context(context)?;
        fs::remove_file(&probe).with_context(context)?;
        if let Ok(directory) = File::open(path) {
            match directory.try_lock() {
                Ok(()) => claimed._lock = Some(directory),
                Err(TryLockError::WouldBlock) => {
                    claimed.made.clear();
                    bail!(
                        "--out {}: another whimbrel writes there; wait for it to end, or name another directory",
                        path.display()
                    );
                }
                // A file system without locks: continue without one.
                Err(_) => {}
            }
        }
        Ok(claimed)
    }

    /// Writes the tables as CSV and, if wanted, as Parquet.
    pub(crate) fn write(&mut self, record: &Record, as_parquet: bool) -> anyhow::Result<()> {
        self.made.clear();
        let path = &self.path;
        let context = || format!("writing tables to {}", path.display());
        record.write_csv(path).with_context(context)?;
        #[cfg(feature = "parquet")]
        if as_parquet {
            parquet::write(record, path).with_context(context)?;
        }
        #[cfg(not(feature = "parquet"))]
        debug_assert!(!as_parquet, "refused before the run");
        Ok(())
    }
}

impl Drop for OutputDirectory {
    fn drop(&mut self) {
        // An interrupted run leaves no empty directories; one that is not empty stays.
        for directory in &self.made {
            let _ = fs::remove_dir(directory);
        }
    }
}
