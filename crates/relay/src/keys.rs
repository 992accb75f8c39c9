//! Keys, certificates and secrets in files, and the security of connections that they give.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use whimbrel_net::{Authorities, Fingerprint, Identity, Role, Security, SharedSecret, Trust};

/// Keys and secrets are shorter.
const LARGEST: u64 = 1 << 20;

/// The files that secure the connections of an end.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Keys {
    /// Ends that have the same secret are trusted.
    pub secret: Option<PathBuf>,
    /// Ends with one of these keys are trusted.
    pub fingerprints: Vec<Fingerprint>,
    /// Ends with a key of this file are trusted: a fingerprint per line.
    pub peers: Option<PathBuf>,
    /// Ends with a certificate of the authorities in this PEM file are trusted.
    pub ca: Option<PathBuf>,
    /// This end's private key. A secret needs none.
    pub key: Option<PathBuf>,
    /// The certificate for that key; without one it is made from the key.
    pub certificate: Option<PathBuf>,
}

impl Keys {
    /// The security of the end with that role; `None` if nobody is trusted. `server`: the name of the server,
    /// for a client.
    ///
    /// # Errors
    /// A file cannot be used, or this end has no key.
    pub fn security(&self, role: Role, server: Option<&str>) -> anyhow::Result<Option<Security>> {
        if let Some(path) = &self.secret {
            return Ok(Some(secret(&read_private(path)?, &path.display().to_string())?.security(role)));
        }
        let trust = if let Some(path) = &self.ca {
            let authorities =
                Authorities::from_pem(&read(path)?).with_context(|| format!("{}", path.display()))?;
            Trust::Authorities(match server {
                Some(name) => authorities.named(name)?,
                None => authorities,
            })
        } else {
            let mut keys = self.fingerprints.clone();
            if let Some(path) = &self.peers {
                keys.extend(read_fingerprints(path)?);
            }
            if keys.is_empty() {
                return Ok(None);
            }
            Trust::Pinned(keys)
        };
        Ok(Some(Security::new(self.identity()?, trust)))
    }

    /// This end's key.
    ///
    /// # Errors
    /// A file cannot be used, or none is named.
    pub fn identity(&self) -> anyhow::Result<Identity> {
        let path = self.key.as_ref().context("this end has no key: whimbrel key generate makes one")?;
        let Some(certificate) = &self.certificate else { return read_key(path) };
        let text = read(certificate)?;
        Identity::from_pem_with_certificate(&read_private(path)?, &text)
            .with_context(|| format!("{} and {}", path.display(), certificate.display()))
    }
}

/// A secret from its text; `origin`: where it comes from.
///
/// # Errors
/// The secret is too short.
pub fn secret(text: &str, origin: &str) -> anyhow::Result<SharedSecret> {
    // An editor ends the line.
    let secret = SharedSecret::new(text.trim_end_matches(['\n', '\r']).as_bytes());
    secret.with_context(|| format!("{origin}: whimbrel key secret makes one"))
}

/// Reads a text file.
///
/// # Errors
/// The file cannot be read, or is too long for a key.
pub fn read(path: &Path) -> anyhow::Result<String> {
    let name = || path.display().to_string();
    let mut text = String::new();
    File::open(path).and_then(|file| file.take(LARGEST + 1).read_to_string(&mut text)).with_context(name)?;
    if text.len() as u64 > LARGEST {
        bail!("{}: more than {LARGEST} bytes are too many for a key or certificate", path.display());
    }
    Ok(text)
}

/// Reads a text file that only its owner should be able to read.
///
/// # Errors
/// The file cannot be read, or other users can read it.
pub fn read_private(path: &Path) -> anyhow::Result<String> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let metadata = std::fs::metadata(path).with_context(|| path.display().to_string())?;
        let mode = metadata.permissions().mode() & 0o777;
        // Pipes and devices, such as a shell's <(...), are protected by other means, and so are systemd's
        // credentials.
        let is_credential =
            std::env::var_os("CREDENTIALS_DIRECTORY").is_some_and(|folder| path.starts_with(folder));
        if metadata.is_file() && mode & 0o077 != 0 && !is_credential {
            bail!("{0}: other users may access it (mode {mode:03o}): chmod 600 {0}", path.display());
        }
    }
    read(path)
}

/// Reads a private key.
///
/// # Errors
/// The file cannot be read, or has none.
pub fn read_key(path: &Path) -> anyhow::Result<Identity> {
    Identity::from_pem(&read_private(path)?).with_context(|| path.display().to_string())
}

/// Reads a file with a fingerprint per line.
///
/// # Errors
/// The file cannot be read, or has no fingerprint.
pub fn read_fingerprints(path: &Path) -> anyhow::Result<Vec<Fingerprint>> {
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
pub fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = (1..).zip(text.lines().map(str::trim));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}
