//! Sending of packets with a DSCP.
//!
//! The library that sends all others gives the kernel a TOS byte with each packet, which contains the ECN
//! codepoint alone and overrides the socket's own TOS byte.

use std::io::{self, IoSlice};
use std::net::IpAddr;
use std::os::fd::AsRawFd;

use nix::errno::Errno;
use nix::libc::{in_addr, in_pktinfo, in6_addr, in6_pktinfo};
use nix::sys::socket::{ControlMessage, MsgFlags, SockaddrStorage, sendmsg};
use noq_udp::Transmit;

/// Sends a packet, or several that the kernel cuts, with this TOS byte or traffic class. The ECN codepoint of
/// `transmit` is not used.
///
/// # Errors
/// As of the system call.
pub(super) fn send(socket: &impl AsRawFd, transmit: &Transmit<'_>, traffic_class: u8) -> io::Result<()> {
    let Some(size) = transmit.segment_size else {
        return send_once(socket, transmit, transmit.contents, None, traffic_class);
    };
    let segment = u16::try_from(size).ok();
    match send_once(socket, transmit, transmit.contents, segment, traffic_class) {
        // Network devices without the checksums that segmentation needs refuse the whole.
        Err(error)
            if [Some(Errno::EIO as i32), Some(Errno::EINVAL as i32)].contains(&error.raw_os_error()) =>
        {
            transmit
                .contents
                .chunks(size)
                .try_for_each(|packet| send_once(socket, transmit, packet, None, traffic_class))
        }
        result => result,
    }
}

fn send_once(
    socket: &impl AsRawFd,
    transmit: &Transmit<'_>,
    contents: &[u8],
    segment: Option<u16>,
    traffic_class: u8,
) -> io::Result<()> {
    let destination = SockaddrStorage::from(transmit.destination);
    let is_ipv4 = transmit.destination.ip().to_canonical().is_ipv4();
    let (tos, class) = (traffic_class, i32::from(traffic_class));
    let mark = if is_ipv4 { ControlMessage::Ipv4Tos(&tos) } else { ControlMessage::Ipv6TClass(&class) };
    let v4 = in_pktinfo {
        ipi_ifindex: 0,
        ipi_spec_dst: in_addr {
            s_addr: match transmit.src_ip {
                Some(IpAddr::V4(source)) => u32::from_ne_bytes(source.octets()),
                _ => 0,
            },
        },
        ipi_addr: in_addr { s_addr: 0 },
    };
    let v6 = in6_pktinfo {
        ipi6_addr: in6_addr {
            s6_addr: match transmit.src_ip {
                Some(IpAddr::V6(source)) => source.octets(),
                _ => [0; 16],
            },
        },
        ipi6_ifindex: 0,
    };
    let source = transmit.src_ip.map(|source| match source {
        IpAddr::V4(_) => ControlMessage::Ipv4PacketInfo(&v4),
        IpAddr::V6(_) => ControlMessage::Ipv6PacketInfo(&v6),
    });
    let cut = segment.as_ref().map(ControlMessage::UdpGsoSegments);
    let mut messages = [mark; 3];
    let mut count = 1;
    for message in source.into_iter().chain(cut) {
        messages[count] = message;
        count += 1;
    }
    loop {
        let result = sendmsg(
            socket.as_raw_fd(),
            &[IoSlice::new(contents)],
            &messages[..count],
            MsgFlags::empty(),
            Some(&destination),
        );
        match result {
            Err(Errno::EINTR) => {}
            result => return result.map(drop).map_err(io::Error::from),
        }
    }
}
