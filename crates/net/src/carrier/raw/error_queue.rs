//! A socket's error queue: ICMP messages with the packets that they quote.

use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsRawFd;

use nix::cmsg_space;
use nix::errno::Errno;
use nix::libc::{c_int, in6_pktinfo, sock_extended_err, sockaddr_in6, timespec};
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, SockaddrLike, SockaddrStorage, recvmsg, setsockopt, sockopt,
};
use socket2::Socket;

use super::super::{Arrival, PathError, icmp};

/// Makes the kernel queue ICMP errors.
pub(super) fn enable(socket: &Socket, local: IpAddr) -> io::Result<()> {
    match local {
        IpAddr::V4(_) => setsockopt(socket, sockopt::Ipv4RecvErr, &true)?,
        IpAddr::V6(_) => setsockopt(socket, sockopt::Ipv6RecvErr, &true)?,
    }
    Ok(())
}

/// The next message; `None` if it concerns no connection.
pub(super) fn read(socket: &Socket) -> io::Result<Option<Arrival>> {
    // The header of the packet is enough.
    let mut packet = [0; 64];
    // The control messages of packets are included: time, address and ECN codepoint.
    let mut control =
        cmsg_space!(timespec, in6_pktinfo, c_int, [c_int; 2], (sock_extended_err, sockaddr_in6));
    let mut slices = [IoSliceMut::new(&mut packet)];
    let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
    let message = recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut slices, Some(&mut control), flags)?;
    let remote = message.address.and_then(address);
    let error = message.cmsgs()?.find_map(|message| match message {
        ControlMessageOwned::Ipv4RecvErr(error, _) | ControlMessageOwned::Ipv6RecvErr(error, _) => {
            Some(error)
        }
        _ => None,
    });
    let length = message.bytes;
    let (Some(remote), Some(error)) = (remote, error) else { return Ok(None) };
    let Some(quoted) = packet.get(..length).and_then(icmp::quoted) else { return Ok(None) };
    let path_error = match Errno::from_raw(error.ee_errno.cast_signed()) {
        Errno::EMSGSIZE => PathError::TooLarge(icmp::fits(remote.is_ipv4(), error.ee_info as usize)),
        // EPROTO is IPv6's unknown next header.
        Errno::ENOPROTOOPT
        | Errno::ECONNREFUSED
        | Errno::EHOSTUNREACH
        | Errno::ENETUNREACH
        | Errno::EPROTO
        | Errno::EACCES => PathError::Unreachable,
        _ => return Ok(None),
    };
    Ok(Some(Arrival::Report { remote, quoted, path_error }))
}

/// The destination of the packet.
fn address(storage: SockaddrStorage) -> Option<SocketAddr> {
    storage.family()?;
    match (storage.as_sockaddr_in(), storage.as_sockaddr_in6()) {
        (Some(v4), _) => Some(SocketAddr::new(v4.ip().into(), 0)),
        (_, Some(v6)) => Some(SocketAddr::V6(std::net::SocketAddrV6::new(v6.ip(), 0, 0, v6.scope_id()))),
        _ => None,
    }
}
