//! The system's errors for datagrams that it has taken: nothing listens at their address, or there is no way
//! to it.
//!
//! Linux keeps such a message for each of them, also for a socket that is connected to no program; other
//! systems say that there was one at a connected socket.

use std::io;
#[cfg(target_os = "linux")]
use std::net::SocketAddr;

/// A message that the system has kept.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Refusal {
    /// The address of the datagram.
    pub(super) program: Option<SocketAddr>,
    /// Nothing listens there; otherwise, there is no way to it.
    pub(super) nothing_listens: bool,
    /// Beginning of the datagram, as far as known.
    pub(super) begin: [u8; BEGIN],
}

/// Bytes of a datagram by which it is recognized.
#[cfg(target_os = "linux")]
const BEGIN: usize = 8;

/// Asks the system to keep the messages.
#[cfg(target_os = "linux")]
pub(super) fn keep(socket: &socket2::Socket, is_ipv6: bool) -> io::Result<()> {
    use nix::sys::socket::{setsockopt, sockopt};
    if is_ipv6 {
        setsockopt(socket, sockopt::Ipv6RecvErr, &true)?;
    }
    // A socket of both families has messages of both.
    Ok(setsockopt(socket, sockopt::Ipv4RecvErr, &true)?)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn keep(_socket: &socket2::Socket, _is_ipv6: bool) -> io::Result<()> {
    Ok(())
}

/// The oldest message that the system has kept, which it forgets.
#[cfg(target_os = "linux")]
pub(super) fn next(socket: &impl std::os::fd::AsRawFd) -> Option<Refusal> {
    use nix::libc;
    use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg};
    let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
    loop {
        let mut begin = [0; BEGIN];
        let mut control = nix::cmsg_space!([u8; 64]);
        let mut parts = [io::IoSliceMut::new(&mut begin)];
        let message =
            recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut parts, Some(&mut control), flags).ok()?;
        let error = message.cmsgs().ok()?.find_map(|each| match each {
            ControlMessageOwned::Ipv4RecvErr(error, _) | ControlMessageOwned::Ipv6RecvErr(error, _) => {
                Some(error)
            }
            _ => None,
        });
        let program = message.address.as_ref().and_then(address);
        // Refusals by this host itself are errors of the call.
        if let Some(error) = error
            && matches!(error.ee_origin, libc::SO_EE_ORIGIN_ICMP | libc::SO_EE_ORIGIN_ICMP6)
        {
            let nothing_listens = i32::try_from(error.ee_errno) == Ok(libc::ECONNREFUSED);
            return Some(Refusal { program, nothing_listens, begin });
        }
    }
}

#[cfg(target_os = "linux")]
fn address(storage: &nix::sys::socket::SockaddrStorage) -> Option<SocketAddr> {
    let v4 = storage.as_sockaddr_in().map(|&it| SocketAddr::V4(it.into()));
    let address = v4.or_else(|| storage.as_sockaddr_in6().map(|&it| SocketAddr::V6(it.into())))?;
    Some(SocketAddr::new(address.ip().to_canonical(), address.port()))
}
