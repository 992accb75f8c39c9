//! Open ports and their Service Codes (RFC 4340, Section 8.1.3).

use std::collections::BTreeMap;

use whimbrel_wire::{ResetCode, ServiceCode};

use crate::connection::Profile;
use crate::{Config, ListenError};

/// A Service Code that is served on some port.
#[derive(Debug)]
pub(super) struct Service {
    /// Unique among all listeners, on any port.
    pub(super) id: u64,
    /// Configuration of its connections.
    pub(super) config: Profile,
}

/// The services, by port.
#[derive(Debug, Default)]
pub(super) struct Listeners {
    by_port: BTreeMap<u16, Vec<Service>>,
    last_id: u64,
}

impl Listeners {
    /// Adds Service Codes to a port, all of them or none.
    pub(super) fn add(
        &mut self,
        port: u16,
        codes: &[ServiceCode],
        config: &Config,
    ) -> Result<(), ListenError> {
        let profiles: Vec<Profile> = codes
            .iter()
            .map(|code| Profile::new(Config { service_code: *code, ..config.clone() }))
            .collect::<Result<_, _>>()?;
        let served = self.by_port.get(&port).map_or(&[][..], Vec::as_slice);
        for (index, service_code) in codes.iter().copied().enumerate() {
            let is_served = served.iter().any(|other| other.config.service_code == service_code);
            if is_served || codes[..index].contains(&service_code) {
                return Err(ListenError::InUse { port, service_code });
            }
        }
        let services = self.by_port.entry(port).or_default();
        // A growing vector would start with room for four.
        services.reserve_exact(profiles.len());
        for config in profiles {
            self.last_id += 1;
            services.push(Service { id: self.last_id, config });
        }
        Ok(())
    }
    /// Closes a port. Returns `true` if it was open.
    pub(super) fn remove(&mut self, port: u16) -> bool {
        self.by_port.remove(&port).is_some()
    }
    /// The configuration for a Request, or the reason for refusing it.
    pub(super) fn find(&self, port: u16, service_code: ServiceCode) -> Result<&Service, ResetCode> {
        let services = self.by_port.get(&port).ok_or(ResetCode::ConnectionRefused)?;
        services
            .iter()
            .find(|service| service.config.service_code == service_code)
            .ok_or(ResetCode::BadServiceCode)
    }
}
