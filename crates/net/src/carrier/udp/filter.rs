//! A filter in front of a UDP socket.

use std::io;

use socket2::{SockFilter, SockRef};

/// Offset of the Checksum in a UDP header, with which the input of a UDP socket's filter begins.
const CHECKSUM: u32 = 6;
/// Instructions of a classic BPF filter (linux/bpf_common.h).
const LOAD_HALF_WORD_AT: u16 = 0x28;
const JUMP_IF_EQUAL: u16 = 0x15;
const RETURN: u16 = 0x06;

/// Drops datagrams without a UDP checksum: over IPv4 a sender may leave it out, by a zero, but not if the
/// datagram holds DCCP (RFC 6773, Section 3.3), whose own checksum is not used there. The kernel does not
/// report which those were.
pub(super) fn drop_without_checksum(socket: SockRef<'_>) -> io::Result<()> {
    socket.attach_filter(&[
        SockFilter::new(LOAD_HALF_WORD_AT, 0, 0, CHECKSUM),
        SockFilter::new(JUMP_IF_EQUAL, 0, 1, 0),
        SockFilter::new(RETURN, 0, 0, 0),
        // The number of bytes of the datagram to keep.
        SockFilter::new(RETURN, 0, 0, u32::MAX),
    ])
}
