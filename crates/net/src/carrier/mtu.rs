//! The system's knowledge of the packet size of a path: the MTU of interface and route, and ICMP messages.

use std::net::SocketAddr;

use rustix::net::sockopt::{ip_mtu, ipv6_mtu};
use socket2::{Domain, Socket, Type};

#[cfg(test)]
mod tests;

/// The Discard service's port: any will do, as nothing is sent.
const DISCARD: u16 = 9;

/// The largest IP packet that the system would send from `local` to `destination`. Only connected sockets
/// report it, so one is made.
pub(super) fn path_mtu(local: SocketAddr, destination: SocketAddr) -> Option<usize> {
    let socket = Socket::new(Domain::for_address(destination), Type::DGRAM, None).ok()?;
    let (mut from, mut to) = (local, destination);
    from.set_port(0);
    if from.ip().is_unspecified() || from.is_ipv4() != to.is_ipv4() {
        // The system chooses.
    } else {
        socket.bind(&from.into()).ok()?;
    }
    if to.port() == 0 {
        to.set_port(DISCARD);
    }
    socket.connect(&to.into()).ok()?;
    let mtu = if to.is_ipv4() { ip_mtu(&socket) } else { ipv6_mtu(&socket) };
    usize::try_from(mtu.ok()?).ok()
}
