//! A choice of security that holds for both roles.

use whimbrel_proto::{Config, Role};

use crate::Setup;
use crate::dtls::{Security, SharedSecret};

/// The protection of connections, as applications choose it before the roles are settled.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Protection {
    /// None: data travels in the clear, and anyone can send it.
    Plaintext,
    /// DTLS with the keys that both ends derive from a secret.
    Secret(SharedSecret),
    /// DTLS with an identity and trust in peers.
    Keys(Security),
}

impl Protection {
    /// The setup of an end with that role.
    pub fn setup(&self, config: Config, role: Role) -> Setup {
        let security = match self {
            Self::Plaintext => None,
            Self::Secret(secret) => Some(secret.security(role)),
            Self::Keys(security) => Some(security.clone()),
        };
        Setup::new(config, security)
    }
}
