//! A path as text: an interface or an address, and its properties.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use whimbrel_net::InterfaceAddress;

use crate::edge::address::interface_of;

/// A path as given on the command line: an interface or one of this host's addresses, and its properties.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathSpec {
    pub(super) place: Place,
    pub(super) priority: Option<u8>,
    pub(super) weight: Option<u32>,
    pub(super) cost: Option<u32>,
}

/// The place from which the packets of a path leave.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Place {
    Interface(String),
    Address(IpAddr),
    /// A link-local address, and the interface by which it leads to a neighbour.
    Zoned(Ipv6Addr, String),
}

/// The network that an address reaches, and in which the peer is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reach {
    V4,
    V6,
    /// The hosts of one link, by link-local addresses of IPv6.
    Link,
}

impl Reach {
    pub(super) const ALL: [Self; 3] = [Self::V4, Self::V6, Self::Link];

    pub(super) fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(_) => Self::V4,
            IpAddr::V6(v6) if v6.is_unicast_link_local() => Self::Link,
            IpAddr::V6(_) => Self::V6,
        }
    }
}

impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
            Self::Link => "link-local IPv6",
        })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interface(name) => f.write_str(name),
            Self::Address(address) => address.fmt(f),
            Self::Zoned(address, interface) => write!(f, "{address}%{interface}"),
        }
    }
}

/// The reason why a text is no path.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PathSpecError {
    /// Neither an interface's name nor an address.
    #[error("{0:?} is neither a network interface's name nor an address")]
    Place(String),
    /// A number that no interface has.
    #[error("no network interface has the number {0}")]
    Interface(u32),
    /// A value out of its range.
    #[error("{key}={value}: expected a number from 0 to {most}")]
    Value {
        /// The key.
        key: String,
        /// The value.
        value: String,
        /// The greatest one.
        most: u32,
    },
    /// Another key.
    #[error("{0:?}: expected priority=, weight= or cost=")]
    Key(String),
}

impl FromStr for PathSpec {
    type Err = PathSpecError;

    fn from_str(text: &str) -> Result<Self, PathSpecError> {
        let mut parts = text.split(',');
        let name = parts.next().unwrap_or_default();
        let zoned = name.split_once('%').and_then(|(number, zone)| Some((number.parse().ok()?, zone)));
        let place = match (name.parse(), zoned) {
            (Ok(address), _) => Place::Address(address),
            (_, Some((address, zone))) => Place::Zoned(address, interface_named(zone)?),
            // The kernel's rule for names (dev_valid_name).
            _ if (1..16).contains(&name.len()) && !name.contains(['/', ':', ' ']) => {
                Place::Interface(name.to_owned())
            }
            _ => {
                return Err(PathSpecError::Place(name.to_owned()));
            }
        };
        let mut spec = Self { place, priority: None, weight: None, cost: None };
        for part in parts {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            let number = |most: u32| match value.parse::<u32>() {
                Ok(number) if number <= most => Ok(number),
                _ => Err(PathSpecError::Value { key: key.to_owned(), value: value.to_owned(), most }),
            };
            match key {
                "priority" => spec.priority = Some(number(15)? as u8),
                "weight" => spec.weight = Some(number(1_000_000)?),
                "cost" => spec.cost = Some(number(1_000_000)?),
                _ => return Err(PathSpecError::Key(part.to_owned())),
            }
        }
        Ok(spec)
    }
}

impl PathSpec {
    /// The address that the path has now, and of a link-local one the interface, for a peer in that network;
    /// `None` if there is none that can be used.
    pub(super) fn address<'a>(
        &'a self,
        addresses: &'a [InterfaceAddress],
        reach: Reach,
    ) -> Option<(IpAddr, Option<&'a str>)> {
        let is_usable = |each: &&InterfaceAddress| {
            each.is_up && each.address.is_some_and(|address| Reach::of(address) == reach)
        };
        let mut usable = addresses.iter().filter(is_usable);
        let found = match &self.place {
            Place::Interface(name) => usable.find(|each| each.interface == *name)?,
            Place::Address(address) if is_every_hosts(*address) => {
                return Some((*address, None)).filter(|_| reach == Reach::V4);
            }
            Place::Address(address) => usable.find(|each| each.address == Some(*address))?,
            Place::Zoned(address, interface) => {
                usable.find(|each| each.address == Some((*address).into()) && each.interface == *interface)?
            }
        };
        Some((found.address?, (reach == Reach::Link).then_some(found.interface.as_str())))
    }
}

/// `true` for the addresses of 127.0.0.0/8, all of which a host has without listing them.
pub(super) fn is_every_hosts(address: IpAddr) -> bool {
    address.is_ipv4() && address.is_loopback()
}

/// The interface that a zone names, by its name or its number.
fn interface_named(zone: &str) -> Result<String, PathSpecError> {
    match zone.parse() {
        Ok(number) => interface_of(number).ok_or(PathSpecError::Interface(number)),
        Err(_) => Ok(zone.to_owned()),
    }
}
