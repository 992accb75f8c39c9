//! What is served, and what is refused (RFC 4340, Section 8.1.3).

use std::collections::BTreeMap;

use whimbrel_wire::{ResetCode, ServiceCode};

use crate::{Config, ListenError};

/// The services, by port.
#[derive(Debug, Default)]
pub(super) struct Listeners(BTreeMap<u16, Vec<Config>>);

impl Listeners {
    /// Serves the config's Service Code on a port.
    pub(super) fn add(&mut self, port: u16, config: Config) -> Result<(), ListenError> {
        config.validate()?;
        let services = self.0.entry(port).or_default();
        let service_code = config.service_code;
        if services.iter().any(|other| other.service_code == service_code) {
            return Err(ListenError::InUse { port, service_code });
        }
        services.push(config);
        Ok(())
    }
    /// Serves a port no more. Whether it was served.
    pub(super) fn remove(&mut self, port: u16) -> bool {
        self.0.remove(&port).is_some()
    }
    /// The configuration for a Request, or why there is none.
    pub(super) fn find(&self, port: u16, service_code: ServiceCode) -> Result<&Config, ResetCode> {
        let services = self.0.get(&port).ok_or(ResetCode::ConnectionRefused)?;
        services.iter().find(|config| config.service_code == service_code).ok_or(ResetCode::BadServiceCode)
    }
}
