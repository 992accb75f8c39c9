//! Files with keys and secrets.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

/// The folder of keys and known hosts.
pub(super) fn folder() -> anyhow::Result<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")));
    #[cfg(windows)]
    let base = base.or_else(|| set("APPDATA"));
    Ok(base
        .context("neither HOME nor XDG_CONFIG_HOME is set: name the file of the key by --key")?
        .join("whimbrel"))
}

/// The file of this user's private key.
pub(crate) fn default_key() -> anyhow::Result<PathBuf> {
    Ok(folder()?.join("key.pem"))
}

/// Writes a new file that only its owner can read, and the folder for it.
///
/// # Errors
/// The file exists, or cannot be written completely; nothing remains then.
pub(crate) fn write_private(path: &Path, text: &str) -> anyhow::Result<()> {
    let name = || path.display().to_string();
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = match options.open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            bail!("{} exists: remove it first, or name another file", path.display())
        }
        opened => opened.with_context(name)?,
    };
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    written
        .inspect_err(|_| {
            let _ = fs::remove_file(path);
        })
        .with_context(name)
}
