//! A configuration that many connections share.

use std::ops::Deref;
use std::sync::Arc;

use whimbrel_wire::option::FeatureNumber;

use crate::feature::{Location, Preferences, Wish};
use crate::{Config, ConfigError};

/// A valid configuration, and the feature preferences that follow from it. A server's connections share one:
/// together they take three kilobytes.
#[derive(Clone, Debug)]
pub struct Profile(Arc<Contents>);

#[derive(Debug)]
struct Contents {
    config: Config,
    preferences: Arc<Preferences>,
}

impl Profile {
    /// # Errors
    ///
    /// The error that [`Config::validate`] returns.
    pub(crate) fn new(config: Config) -> Result<Self, ConfigError> {
        config.validate()?;
        let preferences = Arc::new(preferences(&config));
        Ok(Self(Arc::new(Contents { config, preferences })))
    }

    pub(super) fn preferences(&self) -> Arc<Preferences> {
        self.0.preferences.clone()
    }
}

impl Deref for Profile {
    type Target = Config;

    fn deref(&self) -> &Config {
        &self.0.config
    }
}

fn preferences(config: &Config) -> Preferences {
    let mut preferences = Preferences::new(config);
    let finds_losses = |ccid| config.ccids.mechanism(ccid).is_some_and(|m| !m.profile().needs_ack_vector);
    // A receiver that detects losses itself, from gaps in the sequence numbers, needs to know which of them
    // may have been data (RFC 4340, Section 7.7).
    for choice in preferences.receiver_ccids.iter_mut().filter(|choice| finds_losses(choice.ccid)) {
        choice.wishes.push(Wish::ask(FeatureNumber::SendNdpCount, Location::Remote, 1));
    }
    for choice in preferences.sender_ccids.iter_mut().filter(|choice| finds_losses(choice.ccid)) {
        choice.wishes.push(Wish::accept(FeatureNumber::SendNdpCount, Location::Local, 1));
    }
    preferences
}
