//! The host's source address for packets to a destination.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, UdpSocket};

/// The address from which the system would send to `remote` now: `local`, if given and usable, else the
/// system's choice. `None` if there is no route, or the address is not the host's. Nothing is sent.
pub(crate) fn source_towards(remote: SocketAddr, local: Option<IpAddr>) -> Option<IpAddr> {
    let any = if remote.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let local = match (local.unwrap_or(any), remote) {
        // A link-local address belongs to an interface: the remote address has its number.
        (IpAddr::V6(local), SocketAddr::V6(remote)) if local.is_unicast_link_local() => {
            SocketAddrV6::new(local, 0, 0, remote.scope_id()).into()
        }
        (local, _) => SocketAddr::new(local, 0),
    };
    let socket = UdpSocket::bind(local).ok()?;
    socket.connect(remote).ok()?;
    socket.local_addr().ok().map(|address| address.ip())
}
