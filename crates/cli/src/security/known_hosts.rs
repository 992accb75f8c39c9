//! Keys of servers that this user has met.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, bail};
use whimbrel_net::Fingerprint;
use whimbrel_relay::keys::{lines, read};

use super::files::folder;
use crate::exit::Failure;

/// Servers and their keys: lines of name and port, and fingerprint.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct KnownHosts(Vec<(String, Fingerprint)>);

/// The name of a server in the list.
pub(super) fn name(host: &str, port: u16) -> String {
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{}:{port}", host.to_lowercase()) }
}

fn path() -> anyhow::Result<PathBuf> {
    Ok(folder()?.join("known_hosts"))
}

impl KnownHosts {
    /// Reads the user's list; it is empty if there is none.
    ///
    /// # Errors
    /// The file cannot be read, or has a line of another format.
    pub(crate) fn read() -> Result<Self, Failure> {
        let path = path()?;
        if !path.exists() {
            return Ok(Self::default());
        }
        Ok(Self::parse(&read(&path)?).with_context(|| path.display().to_string())?)
    }

    pub(super) fn parse(text: &str) -> anyhow::Result<Self> {
        let mut hosts = Vec::new();
        for (number, line) in lines(text) {
            let Some((name, key)) = line.split_once(char::is_whitespace) else {
                bail!("line {number}: expected a server and a fingerprint");
            };
            hosts.push((name.to_owned(), key.trim().parse().with_context(|| format!("line {number}"))?));
        }
        Ok(Self(hosts))
    }

    /// The key of the server of that name.
    pub(crate) fn of(&self, name: &str) -> Option<Fingerprint> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, key)| *key)
    }

    /// All servers and their keys.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &(String, Fingerprint)> {
        self.0.iter()
    }

    /// Adds a server; returns `true` if it is new.
    ///
    /// # Errors
    /// Another key is known for it, or the file cannot be written.
    pub(super) fn learn(name: &str, key: Fingerprint) -> anyhow::Result<bool> {
        let path = path()?;
        let known = if path.exists() { Self::parse(&read(&path)?)? } else { Self::default() };
        match known.of(name) {
            Some(same) if same == key => return Ok(false),
            Some(other) => bail!("the key of {name} has changed from {other} to {key}"),
            None => {}
        }
        fs::create_dir_all(folder()?).with_context(|| path.display().to_string())?;
        let mut file = OpenOptions::new().create(true).append(true).open(&path);
        let written = file.as_mut().map(|file| writeln!(file, "{name} {key}"));
        match written {
            Ok(Ok(())) => Ok(true),
            Ok(Err(error)) => Err(error).with_context(|| path.display().to_string()),
            Err(_) => Err(file.expect_err("it was not opened")).with_context(|| path.display().to_string()),
        }
    }

    /// Removes a server; returns `true` if it was there.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub(crate) fn forget(name: &str) -> anyhow::Result<bool> {
        let path = path()?;
        if !path.exists() {
            return Ok(false);
        }
        let text = read(&path)?;
        let is_it = |line: &str| line.split_whitespace().next() == Some(name);
        if !text.lines().any(is_it) {
            return Ok(false);
        }
        let rest: String = text.lines().filter(|line| !is_it(line)).flat_map(|line| [line, "\n"]).collect();
        // A file that is written half keeps the old content.
        let next = path.with_extension("next");
        fs::write(&next, rest)
            .and_then(|()| fs::rename(&next, &path))
            .with_context(|| path.display().to_string())?;
        Ok(true)
    }
}
