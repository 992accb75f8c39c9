//! What the kernel knows of the way to a host.

use std::net::SocketAddr;

/// The application data that fit a datagram to `remote`, in bytes: by the interface's MTU, or by what routers have
/// told the kernel of the path (RFC 1191, RFC 8201). `None` where the kernel does not say.
#[cfg(target_os = "linux")]
pub(super) fn fits(remote: SocketAddr) -> Option<usize> {
    use super::super::icmp;
    use rustix::net::sockopt::{ip_mtu, ipv6_mtu};
    use socket2::{Domain, Socket, Type};

    /// UDP's header.
    const UDP: usize = 8;
    // Only a connected socket has a route, and the one that serves many peers is not connected. Nothing is sent.
    let socket = Socket::new(Domain::for_address(remote), Type::DGRAM, None).ok()?;
    socket.connect(&remote.into()).ok()?;
    let mtu = if remote.is_ipv4() { ip_mtu(&socket) } else { ipv6_mtu(&socket) };
    icmp::fits(remote.is_ipv4(), mtu.ok()? as usize).map(|fits| fits - UDP)
}

/// The same, where no system call says it.
#[cfg(not(target_os = "linux"))]
pub(super) fn fits(_remote: SocketAddr) -> Option<usize> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_says_how_much_it_takes() {
        // 65,536 bytes on Linux by default; nothing less in any namespace.
        let v4 = fits(SocketAddr::from(([127, 0, 0, 1], 9)));
        assert!(v4.is_some_and(|fits| fits >= 1400), "{v4:?}");
        if let Some(v6) = fits(SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], 9))) {
            assert_eq!(v4.map(|fits| fits - 20), Some(v6), "IPv6 has the longer header");
        }
    }
}
