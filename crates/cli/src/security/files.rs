//! Files with keys and secrets.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use whimbrel_net::{Fingerprint, Identity};

/// Keys and secrets are shorter.
const LARGEST: u64 = 1 << 20;

/// The folder of keys and known hosts.
pub(super) fn folder() -> anyhow::Result<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")));
    Ok(base
        .context("neither HOME nor XDG_CONFIG_HOME is set: name the file of the key by --key")?
        .join("whimbrel"))
}

/// The file of this user's private key.
pub(crate) fn default_key() -> anyhow::Result<PathBuf> {
    Ok(folder()?.join("key.pem"))
}

/// Reads a text file.
pub(super) fn read(path: &Path) -> anyhow::Result<String> {
    let name = || path.display().to_string();
    let length = fs::metadata(path).with_context(name)?.len();
    if length > LARGEST {
        bail!("{}: {length} bytes are too many for a key or certificate", path.display());
    }
    fs::read_to_string(path).with_context(name)
}

/// Reads a text file that only its owner should be able to read.
pub(super) fn read_private(path: &Path) -> anyhow::Result<String> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let metadata = fs::metadata(path).with_context(|| path.display().to_string())?;
        let mode = metadata.permissions().mode() & 0o777;
        // Pipes and devices, such as those of a shell's <(...), have other means, and so has systemd for credentials.
        let is_credential =
            std::env::var_os("CREDENTIALS_DIRECTORY").is_some_and(|folder| path.starts_with(folder));
        if metadata.is_file() && mode & 0o077 != 0 && !is_credential {
            bail!("{0}: other users may access it (mode {mode:03o}): chmod 600 {0}", path.display());
        }
    }
    read(path)
}

/// Reads a private key.
pub(crate) fn read_key(path: &Path) -> anyhow::Result<Identity> {
    Identity::from_pem(&read_private(path)?).with_context(|| path.display().to_string())
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

/// Reads a file with a fingerprint per line.
pub(super) fn read_fingerprints(path: &Path) -> anyhow::Result<Vec<Fingerprint>> {
    let text = read(path)?;
    let keys: anyhow::Result<Vec<_>> = lines(&text)
        .map(|(number, line)| {
            let word = line.split_whitespace().next().unwrap_or_default();
            word.parse().map_err(|error| anyhow!("{}, line {number}: {error}", path.display()))
        })
        .collect();
    match keys {
        Ok(keys) if keys.is_empty() => bail!("{}: it has no fingerprint", path.display()),
        keys => keys,
    }
}

/// The lines with content, and their numbers.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = (1..).zip(text.lines().map(str::trim));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}
