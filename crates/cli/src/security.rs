//! Options that secure connections, and the files that they name.

mod files;
mod known_hosts;

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use whimbrel_net::{DCCP_UDP_PORT, Fingerprint, HostPort, Identity, Role, Security, Trust};
use whimbrel_relay::address::{is_loopback, resolve};
use whimbrel_relay::keys::{Keys, secret};
use whimbrel_relay::{KeyCheck, Protection};

use crate::exit::Failure;
use crate::print;
pub(crate) use files::{default_key, write_private};
pub(crate) use known_hosts::KnownHosts;

/// Environment variable with a shared secret.
const SECRET_VARIABLE: &str = "WHIMBREL_SECRET";
/// The heading of these options in help texts.
const HEADING: &str = "Security";

/// Options that secure connections, for either end.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SecurityArgs {
    /// Trust ends that have the same secret, the content of this file: whimbrel key secret makes one. The
    /// variable WHIMBREL_SECRET may have it instead.
    #[arg(long, value_name = "FILE", help_heading = HEADING, conflicts_with_all = ["peer_fingerprint", "peers", "ca"])]
    secret_file: Option<PathBuf>,
    /// Trust the end with this key, as whimbrel key show prints it there; may be repeated.
    #[arg(long, value_name = "FINGERPRINT", help_heading = HEADING)]
    peer_fingerprint: Vec<Fingerprint>,
    /// Trust the ends with the keys in this file: a fingerprint per line, and after it a comment.
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    peers: Option<PathBuf>,
    /// Trust ends with a certificate of the authorities in this PEM file; a server's has to name it as the
    /// client does.
    #[arg(long, value_name = "FILE", help_heading = HEADING, requires = "certificate", conflicts_with_all = ["peer_fingerprint", "peers"])]
    ca: Option<PathBuf>,
    /// This end's private key [default: key.pem in ~/.config/whimbrel]
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    key: Option<PathBuf>,
    /// The certificate for that key, in a PEM file; without one it is made from the key.
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    certificate: Option<PathBuf>,
    /// Neither encrypt nor authenticate: anyone on the path can read and change the data. Both ends need it.
    #[arg(long, help_heading = HEADING, conflicts_with_all = ["secret_file", "peer_fingerprint", "peers", "ca"])]
    insecure_plaintext: bool,
}

/// Options of an end that opens connections.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ClientSecurityArgs {
    #[command(flatten)]
    pub(crate) both: SecurityArgs,
    /// Trust the server's key if none is known for it, and remember it. Someone on the path can pose as the
    /// server this once.
    #[arg(long, help_heading = HEADING, conflicts_with_all = ["secret_file", "peer_fingerprint", "peers", "ca", "insecure_plaintext"])]
    trust_on_first_use: bool,
}

/// Security of a client's connections.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClientSecurity {
    /// `None`: nothing, data travels in the clear.
    pub(crate) security: Option<Security>,
    /// The server's name in the list of known hosts, if its key is to be remembered.
    learns: Option<String>,
}

impl SecurityArgs {
    /// The keys of a server's connections, and what is to happen without.
    ///
    /// # Errors
    /// A file cannot be used.
    pub(crate) fn protection(&self) -> Result<Protection, Failure> {
        Ok(Protection {
            security: self.server()?,
            is_plaintext_allowed: self.insecure_plaintext,
            key_check: None,
        })
    }

    /// Security of a server's connections; `None` if no option was given.
    ///
    /// # Errors
    /// A file cannot be used.
    pub(crate) fn server(&self) -> Result<Option<Security>, Failure> {
        self.given(Role::Server, None)
    }

    /// The security that the options give the end with that role; `None` without options. `server`: the name
    /// of the server, for a client.
    fn given(&self, role: Role, server: Option<&str>) -> Result<Option<Security>, Failure> {
        if self.insecure_plaintext {
            return Ok(None);
        }
        let trusts_keys = !self.peer_fingerprint.is_empty() || self.peers.is_some() || self.ca.is_some();
        if self.secret_file.is_none()
            && !trusts_keys
            && let Ok(text) = std::env::var(SECRET_VARIABLE)
        {
            return Ok(Some(secret(&text, SECRET_VARIABLE)?.security(role)));
        }
        let key = if trusts_keys { Some(self.key()?) } else { None };
        Ok(self.keys(key).security(role, server)?)
    }

    /// The files, with that one for this end's key.
    fn keys(&self, key: Option<PathBuf>) -> Keys {
        Keys {
            secret: self.secret_file.clone(),
            fingerprints: self.peer_fingerprint.clone(),
            peers: self.peers.clone(),
            ca: self.ca.clone(),
            key,
            certificate: self.certificate.clone(),
        }
    }

    /// The file of this end's key.
    fn key(&self) -> Result<PathBuf, Failure> {
        match &self.key {
            Some(path) => Ok(path.clone()),
            None => {
                let path = default_key()?;
                let missing = || {
                    let path = path.display();
                    Failure::Usage(format!("this end has no key at {path}: whimbrel key generate makes one"))
                };
                if path.exists() { Ok(path) } else { Err(missing()) }
            }
        }
    }

    /// This end's key.
    fn identity(&self) -> Result<Identity, Failure> {
        Ok(self.keys(Some(self.key()?)).identity()?)
    }
}

impl ClientSecurityArgs {
    /// The keys of connections to that server, and what is to happen without.
    ///
    /// # Errors
    /// Like [`ClientSecurityArgs::client`].
    pub(crate) async fn protection(&self, host: &HostPort) -> Result<Protection, Failure> {
        let port = host.port().unwrap_or(DCCP_UDP_PORT);
        // The name may be unknown as yet, as while the host starts.
        let resolved = resolve(host, port).await;
        let is_local = resolved.is_ok_and(|all| all.iter().all(|at| is_loopback(at.ip())));
        self.protection_of(host, is_local)
    }

    /// Like [`ClientSecurityArgs::protection`], for a server whose locality is known.
    pub(crate) fn protection_of(&self, host: &HostPort, is_local: bool) -> Result<Protection, Failure> {
        let found = self.client(host.host(), host.port().unwrap_or(DCCP_UDP_PORT), is_local)?;
        let security = found.security.clone();
        let key_check: KeyCheck = Arc::new(move |peer| found.established(peer));
        Ok(Protection {
            security,
            is_plaintext_allowed: self.both.insecure_plaintext,
            key_check: Some(key_check),
        })
    }

    /// Security of connections to that server. `is_local`: it is this host, and the data need not be secured.
    ///
    /// # Errors
    /// A file cannot be used; or nothing secures the connection to another host, and that was not asked for.
    pub(crate) fn client(&self, host: &str, port: u16, is_local: bool) -> Result<ClientSecurity, Failure> {
        if let Some(security) = self.both.given(Role::Client, Some(host))? {
            return Ok(ClientSecurity { security: Some(security), learns: None });
        }
        if self.both.insecure_plaintext {
            return Ok(ClientSecurity::default());
        }
        let name = known_hosts::name(host, port);
        let known = match KnownHosts::read() {
            Ok(known) => known.of(&name),
            // Without a home directory nothing is known.
            Err(_) if !self.trust_on_first_use => None,
            Err(error) => return Err(error),
        };
        match known {
            // A local server is asked for security only if it is asked for.
            Some(_) if is_local && !self.trust_on_first_use => Ok(ClientSecurity::default()),
            Some(key) => {
                let security = Security::new(self.both.identity()?, Trust::Pinned(vec![key]));
                Ok(ClientSecurity { security: Some(security), learns: None })
            }
            None if self.trust_on_first_use => {
                let security = Security::new(self.both.identity()?, Trust::Any);
                Ok(ClientSecurity { security: Some(security), learns: Some(name) })
            }
            None if is_local => Ok(ClientSecurity::default()),
            None => Err(Failure::Usage(required(host))),
        }
    }
}

impl ClientSecurity {
    /// A connection to the server is established: remembers its key, if that is to be done.
    ///
    /// # Errors
    /// The file cannot be written, or has another key by now.
    pub(crate) fn established(&self, peer: Option<Fingerprint>) -> anyhow::Result<()> {
        match (&self.learns, peer) {
            (Some(name), Some(peer)) => {
                if KnownHosts::learn(name, peer)? {
                    print::note(format_args!("the key of {name} is {peer}: remembered"));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// The message that data would travel in the clear.
pub(crate) fn required(host: &str) -> String {
    format!(
        "data to {host} would not be encrypted: give both ends the same --secret-file (whimbrel key secret makes one), or \
         each end the other's --peer-fingerprint (whimbrel key show); --insecure-plaintext at both ends does without"
    )
}

#[cfg(test)]
mod tests;
