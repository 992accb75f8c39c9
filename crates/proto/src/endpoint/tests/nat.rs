//! Network address translators with filters (in the terms of RFC 4787).

use core::net::SocketAddr;
use std::collections::{BTreeMap, BTreeSet};

use super::{Net, address};

/// Filtering behaviour of a NAT.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Filter {
    /// All packets, once the host behind it has sent one (endpoint-independent).
    None,
    /// Packets from an address to which the host behind it has sent (address-dependent).
    Address,
    /// Packets from an address and port to which it has sent (address- and port-dependent).
    AddressAndPort,
}

/// A NAT in front of one host. It maps to the same external address for all destinations
/// (endpoint-independent mapping): otherwise the peer could not be given an address.
#[derive(Debug)]
pub(super) struct Nat {
    outside: SocketAddr,
    filter: Filter,
    sent_to: BTreeSet<SocketAddr>,
}

impl Nat {
    /// Translates the source address of a sent packet.
    pub(super) fn let_out(&mut self, to: SocketAddr) -> SocketAddr {
        self.sent_to.insert(to);
        self.outside
    }

    fn lets_in(&self, from: SocketAddr) -> bool {
        match self.filter {
            // Earlier packets, sent to find the host's outside address, made the mapping.
            Filter::None => true,
            Filter::Address => self.sent_to.iter().any(|to| to.ip() == from.ip()),
            Filter::AddressAndPort => self.sent_to.contains(&from),
        }
    }
}

/// The host that a packet to `to` reaches, if any.
pub(super) fn inside(
    nats: &BTreeMap<SocketAddr, Nat>,
    from: SocketAddr,
    to: SocketAddr,
) -> Option<SocketAddr> {
    if nats.contains_key(&to) {
        // A private address means nothing out here.
        return None;
    }
    match nats.iter().find(|(_, nat)| nat.outside == to) {
        Some((host, nat)) => nat.lets_in(from).then_some(*host),
        None => Some(to),
    }
}

impl Net {
    /// Puts a NAT in front of a host.
    pub(super) fn put_behind_nat(&mut self, host: u8, filter: Option<Filter>) {
        if let Some(filter) = filter {
            let outside = SocketAddr::from(([192, 0, 2, host], 20_000 + u16::from(host)));
            self.nats.insert(address(host), Nat { outside, filter, sent_to: BTreeSet::new() });
        }
    }

    /// Gives the host another external address, and discards the filter state.
    pub(super) fn rebind(&mut self, host: u8, outside: SocketAddr) {
        if let Some(nat) = self.nats.get_mut(&address(host)) {
            nat.outside = outside;
            nat.sent_to.clear();
        }
    }

    /// External address of a host.
    pub(super) fn seen(&self, host: u8) -> SocketAddr {
        self.nats.get(&address(host)).map_or(address(host), |nat| nat.outside)
    }
}
