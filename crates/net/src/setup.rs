//! The configuration of a connection and what secures it.

use whimbrel_proto::Config;

use crate::dtls::Security;

/// The configuration of a connection, or of a listener's connections, and what secures them.
///
/// A [`Config`] alone is one without security: data travel in the clear. With [`Setup::secured`] they are encrypted by
/// DTLS 1.3 over DCCP (RFC 5238), and both ends authenticate each other before [`Socket::connect`](crate::Socket::connect)
/// and [`Listener::accept`](crate::Listener::accept) return.
#[derive(Clone, Debug)]
pub struct Setup {
    pub(crate) config: Config,
    pub(crate) security: Option<Security>,
}

impl Setup {
    /// A connection secured by `security`. RFC 5238, Section 3.6: its Service Code should differ from that of the same
    /// application without DTLS, so that ends that disagree notice at once.
    pub fn secured(config: Config, security: Security) -> Self {
        Self { config, security: Some(security) }
    }
    /// A connection secured by `security` if there is one.
    pub fn new(config: Config, security: Option<Security>) -> Self {
        Self { config, security }
    }
    /// The same with another configuration.
    #[must_use]
    pub fn map_config(self, change: impl FnOnce(Config) -> Config) -> Self {
        Self { config: change(self.config), security: self.security }
    }
}

impl From<Config> for Setup {
    fn from(config: Config) -> Self {
        Self { config, security: None }
    }
}
