//! A client that goes elsewhere: another address under the same connection.

use std::hash::{Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use rustc_hash::FxHasher;
use whimbrel_proto::{PathChange, PathName};

use crate::carrier::way::source_towards;
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
    /// Connections do not move between IPv4 and IPv6: the server is known by one address.
    ///
    /// # Errors
    /// The system refuses the address, or knows no way from it; it is of the other IP version than the server's; or the socket shares its address with others
    /// of a [`Host`](crate::Host).
    pub async fn rebind(&self, local: Option<SocketAddr>, change: PathChange) -> Result<(), NetError> {
        if !self.shared.is_one_sockets {
            return Err(NetError::Config("a socket of a host has the host's address".into()));
        }
        let remote = self.remote();
        if local.is_some_and(|local| is_other_family(local.ip(), remote.ip())) {
            return Err(NetError::Config(format!(
                "the local address is of another IP version than the server's, {}: connections do not move between IPv4 and IPv6",
                remote.ip()
            )));
        }
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

    /// During the handshake, which the application waits for: goes on from the address that the system gives once that is
    /// another one, as a socket that sends from an address which the host no longer has is not heard.
    pub(crate) async fn follow_address(&self, remote: SocketAddr) {
        /// How often to look: an answer takes as long on a slow path.
        const INTERVAL: std::time::Duration = std::time::Duration::from_millis(200);
        loop {
            tokio::time::sleep(INTERVAL).await;
            let source = source_towards(remote, None);
            let local = self.local().ip();
            if source.is_some_and(|source| source != local) && !local.is_unspecified() {
                // Where it fails the next look tries again.
                let _ = self.rebind(None, PathChange::Reset).await;
            }
        }
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

/// Whether a socket at `local` cannot send to `remote` as that is of the other IP version. One that is bound to all addresses
/// of a host can have both.
fn is_other_family(local: IpAddr, remote: IpAddr) -> bool {
    match local {
        IpAddr::V4(_) => remote.is_ipv6(),
        IpAddr::V6(local) => remote.is_ipv4() && !local.is_unspecified() && local.to_ipv4_mapped().is_none(),
    }
}

/// Paths go by this end's address.
fn name(address: IpAddr) -> PathName {
    let mut hasher = FxHasher::default();
    address.hash(&mut hasher);
    PathName(hasher.finish())
}
