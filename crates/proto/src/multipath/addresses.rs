//! Address IDs of both hosts (RFC 9897, Sections 3.2.2 and 3.2.8).

use core::net::IpAddr;

/// Address ID of the first subflow's addresses.
pub(super) const FIRST: u8 = 0;

/// An announced or used address of the peer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Remote {
    id: u8,
    address: IpAddr,
}

/// An address of this host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Own {
    id: u8,
    address: IpAddr,
    /// Its removal is not confirmed. A subflow that joins from the address meanwhile has another ID, as the
    /// peer would end it with the removed one.
    is_withdrawn: bool,
}

/// The mappings between Address IDs and addresses.
#[derive(Debug)]
pub(super) struct Addresses {
    own: Vec<Own>,
    peer: Vec<Remote>,
    limit: usize,
}

/// Outcome of an announcement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Announcement {
    /// The address is new.
    New,
    /// The address is known under that ID; perhaps with another port.
    Known,
    /// The ID stands for another address, or the address cannot be a host's: the option is ignored.
    Invalid,
    /// There is no room. The option is confirmed, and the address forgotten.
    Discarded,
}

impl Addresses {
    pub(super) fn new(own: IpAddr, peer: IpAddr, limit: usize) -> Self {
        Self {
            own: vec![Own { id: FIRST, address: own, is_withdrawn: false }],
            peer: vec![Remote { id: FIRST, address: peer }],
            limit: limit.max(1),
        }
    }

    /// The ID of an address of this host. `None` if all IDs are in use.
    pub(super) fn own_id(&mut self, address: IpAddr) -> Option<u8> {
        if let Some(id) = self.known_own_id(address) {
            return Some(id);
        }
        let id = (FIRST..=u8::MAX).find(|id| !self.own.iter().any(|own| own.id == *id))?;
        self.own.push(Own { id, address, is_withdrawn: false });
        Some(id)
    }

    /// The ID of an address of this host, if it has one.
    pub(super) fn known_own_id(&self, address: IpAddr) -> Option<u8> {
        self.own.iter().find(|own| own.address == address && !own.is_withdrawn).map(|own| own.id)
    }

    /// The peer is being notified of the removal of an address of this host.
    pub(super) fn withdraw_own(&mut self, id: u8) {
        for own in self.own.iter_mut().filter(|own| own.id == id) {
            own.is_withdrawn = true;
        }
    }

    /// The peer has confirmed the removal of an address of this host.
    pub(super) fn release_own(&mut self, id: u8) {
        self.own.retain(|own| own.id != id);
    }

    /// Processes an authentic announcement.
    pub(super) fn announce(&mut self, id: u8, address: IpAddr) -> Announcement {
        let is_host = match address {
            IpAddr::V4(address) => {
                !address.is_broadcast() && !address.is_multicast() && !address.is_unspecified()
            }
            IpAddr::V6(address) => !address.is_multicast() && !address.is_unspecified(),
        };
        match self.peer.iter().find(|remote| remote.id == id) {
            _ if !is_host => Announcement::Invalid,
            Some(known) if known.address != address => Announcement::Invalid,
            Some(_) => Announcement::Known,
            None if self.peer.len() >= self.limit => Announcement::Discarded,
            None => {
                self.peer.push(Remote { id, address });
                Announcement::New
            }
        }
    }

    /// Records the address of a joining subflow. Behind a NAT it may differ from the announced one.
    pub(super) fn on_join(&mut self, id: u8, address: IpAddr) {
        if self.peer.len() < self.limit && !self.peer.iter().any(|remote| remote.id == id) {
            self.peer.push(Remote { id, address });
        }
    }

    /// Forgets an address of the peer. Returns `false` if it is unknown.
    pub(super) fn remove(&mut self, id: u8) -> bool {
        let before = self.peer.len();
        self.peer.retain(|remote| remote.id != id);
        self.peer.len() < before
    }

    /// Number of known addresses of both hosts.
    pub(super) fn len(&self) -> usize {
        self.own.len() + self.peer.len()
    }
}
