//! A client that goes elsewhere: another address under the same connection.

use std::hash::{Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use rustc_hash::FxHasher;
use whimbrel_proto::{PathChange, PathName};

use crate::carrier::{Carrier, UdpCarrier};
use crate::{NetError, Socket};

impl Socket {
    /// Goes on from another UDP address: `local`, or whatever the system gives now, as after a change of networks. The
    /// server follows where both ends have it in their configuration (`mobility`); [`Event::MoveConfirmed`](crate::Event::MoveConfirmed) tells
    /// when it has. What still comes to the old address meanwhile is taken, where that still can. `change`: what
    /// becomes of what is known of the path, by this end's IP address.
    ///
    /// Nothing changes where it fails: it may be tried again, once there is a network.
    ///
    /// # Errors
    /// The system refuses the address, or knows no way from it; or the socket shares its address with others
    /// of a [`Host`](crate::Host).
    pub async fn rebind(&self, local: Option<SocketAddr>, change: PathChange) -> Result<(), NetError> {
        if !self.shared.is_one_sockets {
            return Err(NetError::Config("a socket of a host has the host's address".into()));
        }
        let remote = self.remote();
        let any = if remote.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let local = local.unwrap_or(SocketAddr::new(any, 0));
        let opening = || NetError::io("opening a UDP socket at the new address");
        let carrier: Carrier = UdpCarrier::bind(local, Some(remote)).map_err(opening())?.into();
        let local = carrier.local_addr().map_err(opening())?;
        let old = {
            let mut state = self.shared.lock();
            state.next_carrier = Some(carrier);
            std::mem::replace(&mut state.local, local)
        };
        let (from, to) = (name(old.ip()), name(local.ip()));
        self.command(|connection, now| connection.path_changed_between(now, change, from, to));
        Ok(())
    }

    /// Packets take another path from now on though the address that the system was told is the same: another
    /// route, or another address of a [`Host`](crate::Host) that is bound to none. `change` as for [`Socket::rebind`].
    ///
    /// To be told is better than to find out, but a client finds out by itself, too, within a round-trip time where it
    /// sends and a second or so where it only receives.
    pub fn path_changed(&self, change: PathChange) {
        self.shared.lock().way_changed = true;
        self.command(|connection, now| connection.path_changed(now, change));
    }
}

/// Paths go by this end's address.
fn name(address: IpAddr) -> PathName {
    let mut hasher = FxHasher::default();
    address.hash(&mut hasher);
    PathName(hasher.finish())
}
