//! Reception from a UDP socket on Linux, with all control messages of the kernel.
//!
//! The control messages have more room than `noq-udp` gives them: with the time of arrival among them, the
//! ECN field of coalesced datagrams would be cut off.

use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration as StdDuration;

use nix::cmsg_space;
use nix::errno::Errno;
use nix::libc::{c_int, in_pktinfo, in6_pktinfo, timespec};
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt, sockopt::ReceiveTimestampns,
};
use noq_udp::UdpSocketState;
use whimbrel_wire::Ecn;

use super::Received;

/// State of reception besides the socket.
#[derive(Debug)]
pub(super) struct Receiver {
    control: Vec<u8>,
}

impl Receiver {
    /// Makes the kernel timestamp arrivals.
    pub(super) fn new(socket: &impl AsFd) -> Self {
        // Without this option, arrival times are taken at the receive call.
        let _ = setsockopt(&socket.as_fd(), ReceiveTimestampns, &true);
        // Time, stride of coalesced datagrams, both families' address and ECN field: a socket may serve both.
        let control = cmsg_space!(timespec, c_int, in_pktinfo, in6_pktinfo, c_int, c_int);
        Self { control: vec![0; control.capacity()] }
    }

    /// Receives by one system call.
    pub(super) fn receive(
        &mut self,
        socket: &impl AsRawFd,
        _state: &UdpSocketState,
        buffer: &mut [u8],
    ) -> io::Result<Received> {
        self.read(socket, buffer)
    }

    /// Like [`Receiver::receive`], for a socket with none of the options that `noq-udp` sets.
    pub(super) fn read(&mut self, socket: &impl AsRawFd, buffer: &mut [u8]) -> io::Result<Received> {
        let mut slices = [IoSliceMut::new(buffer)];
        let message = loop {
            let result = recvmsg::<SockaddrStorage>(
                socket.as_raw_fd(),
                &mut slices,
                Some(&mut self.control),
                MsgFlags::empty(),
            );
            match result {
                Err(Errno::EINTR) => {}
                result => break result?,
            }
        };
        let remote = message.address.as_ref().and_then(address).ok_or(io::ErrorKind::InvalidData)?;
        let length = message.bytes;
        let mut received =
            Received { remote, length, stride: length, ecn: Ecn::NotEct, to: None, stamp: None };
        for message in message.cmsgs()? {
            match message {
                ControlMessageOwned::ScmTimestampns(time) => {
                    received.stamp = Some(StdDuration::new(
                        u64::try_from(time.tv_sec()).unwrap_or(0),
                        u32::try_from(time.tv_nsec()).unwrap_or(0),
                    ));
                }
                ControlMessageOwned::UdpGroSegments(size) => {
                    received.stride = usize::try_from(size).unwrap_or(length);
                }
                ControlMessageOwned::Ipv4Tos(field) => received.ecn = Ecn::from_bits(field),
                ControlMessageOwned::Ipv6TClass(field) => received.ecn = Ecn::from_bits(field as u8),
                ControlMessageOwned::Ipv4PacketInfo(info) => {
                    received.to = Some(IpAddr::from(info.ipi_addr.s_addr.to_ne_bytes()));
                }
                ControlMessageOwned::Ipv6PacketInfo(info) => {
                    received.to = Some(IpAddr::from(info.ipi6_addr.s6_addr));
                }
                _ => {}
            }
        }
        Ok(received)
    }
}

fn address(storage: &SockaddrStorage) -> Option<SocketAddr> {
    let v4 = storage.as_sockaddr_in().map(|v4| SocketAddr::V4(SocketAddrV4::new(v4.ip(), v4.port())));
    v4.or_else(|| {
        let v6 = storage.as_sockaddr_in6()?;
        Some(SocketAddr::V6(SocketAddrV6::new(v6.ip(), v6.port(), v6.flowinfo(), v6.scope_id())))
    })
}
