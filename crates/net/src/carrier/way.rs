//! Which of the host's addresses packets to a destination leave from.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// The address that the system would send from to `remote` now: `local`, where that is given and can be used, else its own
/// choice. `None`: there is no route, or the address is not the host's. Nothing is sent.
pub(crate) fn source_towards(remote: SocketAddr, local: Option<IpAddr>) -> Option<IpAddr> {
    let any = if remote.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((local.unwrap_or(any), 0)).ok()?;
    socket.connect(remote).ok()?;
    socket.local_addr().ok().map(|address| address.ip())
}
