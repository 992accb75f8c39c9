//! Mobility of a client: another address under the same connection.

use std::hash::{Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use rustc_hash::FxHasher;
use whimbrel_proto::{PathChange, PathId};

use crate::NetError;
use crate::carrier::source_address::source_towards;
use crate::carrier::{Carrier, UdpCarrier};
use crate::state::{MAIN, Paths};

use super::Socket;

impl Socket {
    /// Continues from another UDP address: `local`, or the one that the system selects now, as after a change
    /// of networks. The server follows if both ends have it in their configuration (`mobility`);
    /// [`Event::MoveConfirmed`](crate::Event::MoveConfirmed) reports it. Packets to the old address are still
    /// received meanwhile, as far as possible. `change` selects the handling of path state, which is stored
    /// by this end's IP address.
    ///
    /// Nothing changes if it fails: it may be tried again, once there is a network.
    ///
    /// Connections do not move between IPv4 and IPv6: the server has one address.
    ///
    /// # Errors
    /// The system refuses the address, or has no route from it; it is of the other IP version than the
    /// server's; the socket shares its address with others of a [`Host`](crate::Host), or uses several paths,
    /// which others [join](Socket::join).
    pub async fn rebind(&self, local: Option<SocketAddr>, change: PathChange) -> Result<(), NetError> {
        if !self.shared.is_one_sockets {
            return Err(NetError::Config("a socket of a host has the host's address".into()));
        }
        if self.paths == Paths::Several {
            let text = "a connection over several paths does not move: other addresses join it";
            return Err(NetError::Config(text.into()));
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
        let mut carrier: Carrier = UdpCarrier::bind(local, Some(remote)).map_err(opening())?.into();
        carrier.set_dscp(self.shared.options.dscp).map_err(opening())?;
        let local = carrier.local_addr().map_err(opening())?;
        let old = {
            let mut state = self.shared.lock();
            state.next_carrier = Some(carrier);
            let outlet = state.outlets.get_mut(&MAIN).ok_or(NetError::DriverStopped)?;
            std::mem::replace(&mut outlet.local, local)
        };
        let (from, to) = (name(old.ip()), name(local.ip()));
        self.command(|connection, now| connection.path_changed_between(now, change, from, to));
        Ok(())
    }

    /// During the handshake, for which the application waits: moves to the address that the system selects
    /// once it is another one, as packets from an address which the host no longer has get no answer.
    pub(crate) async fn follow_address(&self, remote: SocketAddr) {
        /// Polling interval: an answer takes as long on a slow path.
        const INTERVAL: std::time::Duration = std::time::Duration::from_millis(200);
        loop {
            tokio::time::sleep(INTERVAL).await;
            let source = source_towards(remote, None);
            let local = self.local().ip();
            if source.is_some_and(|source| source != local) && !local.is_unspecified() {
                // If it fails, the next poll tries again.
                let _ = self.rebind(None, PathChange::Reset).await;
            }
        }
    }

    /// Signals a change of path with the same bound address: another route, or another address of a
    /// [`Host`](crate::Host) that is bound to none. `change` as for [`Socket::rebind`].
    ///
    /// The call is faster than detection; a client also detects the change by itself, within a round-trip
    /// time while it sends and a second or so if it only receives.
    pub fn path_changed(&self, change: PathChange) {
        self.shared.lock().path_changed = true;
        self.command(|connection, now| connection.path_changed(now, change));
    }
}

/// `true` if a socket at `local` cannot send to `remote`, which is of the other IP version. One that is bound
/// to all addresses of a host can have both.
fn is_other_family(local: IpAddr, remote: IpAddr) -> bool {
    match local {
        IpAddr::V4(_) => remote.is_ipv6(),
        IpAddr::V6(local) => remote.is_ipv4() && !local.is_unspecified() && local.to_ipv4_mapped().is_none(),
    }
}

/// Paths go by this end's address.
fn name(address: IpAddr) -> PathId {
    let mut hasher = FxHasher::default();
    address.hash(&mut hasher);
    PathId(hasher.finish())
}
