//! Boxes that translate addresses and let in what answers something (the terms are those of RFC 4787).

use core::net::SocketAddr;
use std::collections::{BTreeMap, BTreeSet};

use super::{Net, address};

/// What a NAT lets in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Filter {
    /// Everything, once the host behind it has sent something (endpoint-independent).
    None,
    /// What comes from an address that the host behind it has sent to (address-dependent).
    Address,
    /// What comes from an address and port that it has sent to (address- and port-dependent).
    AddressAndPort,
}

/// A NAT in front of one host. It gives the same outside address whatever the destination
/// (endpoint-independent mapping): otherwise nobody could tell the other end where to send.
#[derive(Debug)]
pub(super) struct Nat {
    outside: SocketAddr,
    filter: Filter,
    sent_to: BTreeSet<SocketAddr>,
}

impl Nat {
    /// A packet leaves; whom it seems to come from.
    pub(super) fn let_out(&mut self, to: SocketAddr) -> SocketAddr {
        self.sent_to.insert(to);
        self.outside
    }
    fn lets_in(&self, from: SocketAddr) -> bool {
        match self.filter {
            // What the host sent on another occasion, to find its outside address, made the mapping.
            Filter::None => true,
            Filter::Address => self.sent_to.iter().any(|to| to.ip() == from.ip()),
            Filter::AddressAndPort => self.sent_to.contains(&from),
        }
    }
}

/// Which host a packet to `to` reaches, if any.
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
    /// The NAT in front of a host gives it another address, and forgets whom it sent to.
    pub(super) fn rebind(&mut self, host: u8, outside: SocketAddr) {
        if let Some(nat) = self.nats.get_mut(&address(host)) {
            nat.outside = outside;
            nat.sent_to.clear();
        }
    }
    /// Where others see a host.
    pub(super) fn seen(&self, host: u8) -> SocketAddr {
        self.nats.get(&address(host)).map_or(address(host), |nat| nat.outside)
    }
}
