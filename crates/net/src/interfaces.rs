//! The addresses of this host's network interfaces, with a notification of each change.

#[cfg(all(target_os = "linux", feature = "netlink"))]
mod system;
#[cfg(not(all(target_os = "linux", feature = "netlink")))]
#[path = "interfaces/unsupported.rs"]
mod system;

use std::net::IpAddr;

use crate::NetError;

/// An address of a network interface.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct InterfaceAddress {
    /// The interface's name.
    pub interface: String,
    /// Its address; `None` for an interface without one.
    pub address: Option<IpAddr>,
    /// `true` if packets can leave there: the interface is up and has a carrier.
    pub is_up: bool,
}

/// The addresses of all network interfaces, now.
///
/// # Errors
/// The system is not Linux, or refuses.
pub fn interface_addresses() -> Result<Vec<InterfaceAddress>, NetError> {
    system::addresses()
}

/// Follows the addresses of all network interfaces.
#[derive(Debug)]
pub struct InterfaceMonitor {
    news: system::News,
    last: Vec<InterfaceAddress>,
}

impl InterfaceMonitor {
    /// Follows the addresses from now on.
    ///
    /// # Errors
    /// The system is not Linux, or refuses.
    pub fn open() -> Result<Self, NetError> {
        // A change between the two calls is notified.
        let news = system::News::open()?;
        Ok(Self { news, last: interface_addresses()? })
    }

    /// The present addresses.
    pub fn addresses(&self) -> &[InterfaceAddress] {
        &self.last
    }

    /// Waits until the addresses are others. Cancel safe.
    ///
    /// # Errors
    /// The system's notifications failed.
    pub async fn changed(&mut self) -> Result<&[InterfaceAddress], NetError> {
        loop {
            self.news.next().await?;
            let now = interface_addresses()?;
            if now != self.last {
                self.last = now;
                return Ok(&self.last);
            }
        }
    }
}
