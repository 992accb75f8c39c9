//! The properties that both elements have.

use std::path::PathBuf;

use anyhow::{Context, anyhow};
use gst::glib;
use gst::prelude::*;
use whimbrel_net::{Fingerprint, Role};
use whimbrel_relay::keys::Keys;
use whimbrel_relay::{Options, Protection};
use whimbrel_units::Duration;

use crate::uri::{SCHEME, Uri};

/// The default latency, the same as in `whimbrel relay`.
const LATENCY_MS: u32 = 150;
/// Time between two figures: an encoder learns the rate as often.
const INTERVAL: Duration = Duration::from_millis(100);

/// The values of these properties.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) address: Option<String>,
    /// In milliseconds; 0: nothing is repaired.
    pub(crate) latency_ms: u32,
    secret_file: Option<String>,
    peer_fingerprint: Option<String>,
    peers_file: Option<String>,
    ca_file: Option<String>,
    key_file: Option<String>,
    certificate_file: Option<String>,
    insecure_plaintext: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            address: None,
            latency_ms: LATENCY_MS,
            secret_file: None,
            peer_fingerprint: None,
            peers_file: None,
            ca_file: None,
            key_file: None,
            certificate_file: None,
            insecure_plaintext: false,
        }
    }
}

impl Settings {
    /// The properties. `address` describes the address.
    pub(crate) fn properties(address: &'static str) -> Vec<glib::ParamSpec> {
        let file = |name, nick, blurb| {
            glib::ParamSpecString::builder(name).nick(nick).blurb(blurb).mutable_ready().build()
        };
        vec![
            file("address", "Address", address),
            glib::ParamSpecUInt::builder("latency")
                .nick("Latency")
                .blurb(
                    "Lost datagrams are repaired within this time, in milliseconds, and arrive in order: three to four round-trip \
                     times are enough. Both ends need the same value; 0 repairs nothing",
                )
                .default_value(LATENCY_MS)
                .maximum(60_000)
                .mutable_ready()
                .build(),
            file(
                "secret-file",
                "Secret",
                "File with a secret that both ends have, which encrypts and authenticates: whimbrel key secret makes one",
            ),
            file(
                "peer-fingerprint",
                "Peer's fingerprint",
                "Fingerprints of trusted keys, separated by commas, as whimbrel key show prints them at the other end; needs key-file",
            ),
            file("peers-file", "Peers", "File with fingerprints of trusted keys, one per line; needs key-file"),
            file(
                "ca-file",
                "Authorities",
                "PEM file with authorities whose certificates are trusted; needs key-file and certificate-file",
            ),
            file("key-file", "Key", "File with this end's private key: whimbrel key generate makes one"),
            file(
                "certificate-file",
                "Certificate",
                "PEM file with the certificate for key-file; without one it is made from the key",
            ),
            glib::ParamSpecBoolean::builder("insecure-plaintext")
                .nick("Plaintext")
                .blurb("Neither encrypt nor authenticate data between different hosts. Within one host neither is needed")
                .mutable_ready()
                .build(),
            glib::ParamSpecBoxed::builder::<gst::Structure>("stats")
                .nick("Statistics")
                .blurb("Rates, times, paths, and what became of each datagram, by reason; renewed ten times a second")
                .read_only()
                .build(),
        ]
    }

    /// Sets a property; `false` if it is another one.
    pub(crate) fn set(&mut self, name: &str, value: &glib::Value) -> bool {
        let text = || value.get::<Option<String>>().ok().flatten().filter(|text| !text.is_empty());
        match name {
            "address" => self.address = text(),
            "latency" => self.latency_ms = value.get().unwrap_or(LATENCY_MS),
            "secret-file" => self.secret_file = text(),
            "peer-fingerprint" => self.peer_fingerprint = text(),
            "peers-file" => self.peers_file = text(),
            "ca-file" => self.ca_file = text(),
            "key-file" => self.key_file = text(),
            "certificate-file" => self.certificate_file = text(),
            "insecure-plaintext" => self.insecure_plaintext = value.get().unwrap_or_default(),
            _ => return false,
        }
        true
    }

    /// The value of a property; `None` if it is another one.
    pub(crate) fn get(&self, name: &str) -> Option<glib::Value> {
        Some(match name {
            "address" => self.address.to_value(),
            "latency" => self.latency_ms.to_value(),
            "secret-file" => self.secret_file.to_value(),
            "peer-fingerprint" => self.peer_fingerprint.to_value(),
            "peers-file" => self.peers_file.to_value(),
            "ca-file" => self.ca_file.to_value(),
            "key-file" => self.key_file.to_value(),
            "certificate-file" => self.certificate_file.to_value(),
            "insecure-plaintext" => self.insecure_plaintext.to_value(),
            _ => return None,
        })
    }

    /// The address as a URI.
    pub(crate) fn uri(&self) -> Option<String> {
        let address = self.address.as_ref()?;
        Some(format!("{SCHEME}://{address}?latency={}", self.latency_ms))
    }

    pub(crate) fn set_uri(&mut self, uri: &str) -> Result<(), glib::Error> {
        let uri = Uri::parse(uri)?;
        self.address = Some(uri.address);
        self.latency_ms = uri.latency_ms.unwrap_or(self.latency_ms);
        Ok(())
    }

    /// The latency, if lost datagrams are repaired.
    pub(crate) fn latency(&self) -> Option<Duration> {
        Some(Duration::from_millis(self.latency_ms.into())).filter(|latency| !latency.is_zero())
    }

    /// The options of the relay.
    pub(crate) fn options(&self) -> Options {
        let latency = self.latency();
        let default = Options::default();
        Options { latency, stale: latency.unwrap_or(default.stale), interval: INTERVAL, ..default }
    }

    /// Keys, and what is to happen without. `server`: the name of the server, for a client.
    ///
    /// # Errors
    /// A file cannot be used, or a fingerprint is none.
    pub(crate) fn protection(&self, role: Role, server: Option<&str>) -> anyhow::Result<Protection> {
        let path = |text: &Option<String>| text.as_ref().map(PathBuf::from);
        let fingerprints = self.peer_fingerprint.iter().flat_map(|all| all.split(',')).map(str::trim);
        let fingerprints = fingerprints.map(|text| {
            text.parse::<Fingerprint>().map_err(|error| anyhow!("peer-fingerprint={text}: {error}"))
        });
        let keys = Keys {
            secret: path(&self.secret_file),
            fingerprints: fingerprints.collect::<anyhow::Result<_>>()?,
            peers: path(&self.peers_file),
            ca: path(&self.ca_file),
            key: path(&self.key_file),
            certificate: path(&self.certificate_file),
        };
        let security = if self.insecure_plaintext {
            None
        } else {
            keys.security(role, server).context("the keys of the connection")?
        };
        Ok(Protection { security, is_plaintext_allowed: self.insecure_plaintext, key_check: None })
    }
}
