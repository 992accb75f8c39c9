//! Open ports and their Service Codes (RFC 4340, Section 8.1.3).

use std::collections::BTreeMap;

use whimbrel_wire::{Reset, ResetCode, ServiceCode};

use crate::ListenError;

/// A Service Code that is served on some port.
#[derive(Debug)]
pub(super) struct Service<S> {
    /// Unique among all listeners, on any port.
    pub(super) id: u64,
    service_code: ServiceCode,
    /// Configuration of its connections.
    pub(super) config: S,
}

/// The services, by port.
#[derive(Debug)]
pub(super) struct Listeners<S> {
    by_port: BTreeMap<u16, Vec<Service<S>>>,
    last_id: u64,
}

impl<S> Default for Listeners<S> {
    fn default() -> Self {
        Self { by_port: BTreeMap::new(), last_id: 0 }
    }
}

impl<S> Listeners<S> {
    /// Adds Service Codes to a port, with their configurations, all of them or none.
    pub(super) fn add(&mut self, port: u16, added: Vec<(ServiceCode, S)>) -> Result<(), ListenError> {
        let served = self.by_port.get(&port).map_or(&[][..], Vec::as_slice);
        for (index, (service_code, _)) in added.iter().enumerate() {
            let is_served = served.iter().any(|other| other.service_code == *service_code);
            if is_served || added[..index].iter().any(|(earlier, _)| earlier == service_code) {
                return Err(ListenError::InUse { port, service_code: *service_code });
            }
        }
        let services = self.by_port.entry(port).or_default();
        // A growing vector would start with room for four.
        services.reserve_exact(added.len());
        for (service_code, config) in added {
            self.last_id += 1;
            services.push(Service { id: self.last_id, service_code, config });
        }
        Ok(())
    }

    /// Closes a port. Returns `true` if it was open.
    pub(super) fn remove(&mut self, port: u16) -> bool {
        self.by_port.remove(&port).is_some()
    }

    /// The configuration for a Request, or the reason for refusing it.
    pub(super) fn find(&self, port: u16, service_code: ServiceCode) -> Result<&Service<S>, Reset> {
        let services = self.by_port.get(&port).ok_or(Reset::new(ResetCode::ConnectionRefused))?;
        services
            .iter()
            .find(|service| service.service_code == service_code)
            .ok_or(Reset::new(ResetCode::BadServiceCode))
    }
}
