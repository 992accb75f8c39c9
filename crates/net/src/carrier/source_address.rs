//! The host's source address for packets to a destination.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// The address from which the system would send to `remote` now: `local`, if given and usable, else the system's choice.
/// `None` if there is no route, or the address is not the host's. Nothing is sent.
pub(crate) fn source_towards(remote: SocketAddr, local: Option<IpAddr>) -> Option<IpAddr> {
    let any = if remote.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((local.unwrap_or(any), 0)).ok()?;
    socket.connect(remote).ok()?;
    socket.local_addr().ok().map(|address| address.ip())
}
