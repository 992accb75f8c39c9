//! DCCP inside UDP (RFC 6773).
//!
//! The datagram's payload is a DCCP packet with a Checksum field that is zero when sent and ignored when
//! received; UDP's own checksum covers all of it, regardless of CsCov. A program with a UDP socket needs only
//! [`Packet::encode`] and [`Packet::decode`], as the kernel creates and checks the UDP header; the functions
//! here are for programs that process that header: with a TUN device, a raw socket or a capture file.

use alloc::vec::Vec;
use core::{error, fmt};

use bytes::{BufMut, Bytes};

use crate::{DecodeError, EncodeError, Packet, checksum::PseudoHeader, decode::MIN_HEADER_LEN};

#[cfg(test)]
mod tests;

/// The default UDP port of a DCCP-UDP service (RFC 6773, Section 3.8).
pub const PORT: u16 = 6511;
/// Length of a UDP header, the overhead of encapsulation.
pub const HEADER_LEN: usize = 8;
/// UDP's IP protocol number.
pub const PROTOCOL: u8 = 17;

/// The UDP ports of a datagram. The DCCP ports inside are independent (RFC 6773, Section 3.8).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub struct UdpPorts {
    /// Source Port.
    pub source: u16,
    /// Destination Port.
    pub destination: u16,
}

/// Reason for which a UDP datagram contains no DCCP packet. It must then be dropped (RFC 6773, Section 3.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DecapsulationError {
    /// Fewer bytes than the 20 of a UDP header and the shortest DCCP header.
    Truncated,
    /// The UDP checksum is zero: the sender computed none.
    NoChecksum,
    /// UDP Length is less than 20.
    LengthTooSmall(u16),
    /// UDP Length ends beyond the packet.
    LengthTooLarge(u16),
    /// The UDP checksum is wrong.
    BadChecksum,
    /// The payload is not a DCCP packet; the offset counts from the DCCP header.
    Packet(DecodeError),
}

impl fmt::Display for DecapsulationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => write!(f, "shorter than a UDP and a DCCP header"),
            Self::NoChecksum => write!(f, "no UDP checksum"),
            Self::LengthTooSmall(length) => write!(f, "UDP length {length} leaves no room for a DCCP header"),
            Self::LengthTooLarge(length) => write!(f, "UDP length {length} ends beyond the packet"),
            Self::BadChecksum => write!(f, "wrong UDP checksum"),
            Self::Packet(error) => error.fmt(f),
        }
    }
}

impl error::Error for DecapsulationError {}

impl From<DecodeError> for DecapsulationError {
    fn from(error: DecodeError) -> Self {
        Self::Packet(error)
    }
}

/// Appends a UDP datagram with `packet` to `out`, from the UDP header on.
///
/// # Errors
///
/// See [`Packet::encode`], and if the datagram would be longer than UDP allows. `out` is then unchanged.
pub fn encapsulate(
    packet: &Packet,
    ports: UdpPorts,
    pseudo_header: &PseudoHeader,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    let length = HEADER_LEN + packet.encoded_len();
    let Ok(length_field) = u16::try_from(length) else {
        return Err(EncodeError::DatagramTooLong(length));
    };
    let start = out.len();
    out.reserve(length);
    out.put_u16(ports.source);
    out.put_u16(ports.destination);
    out.put_u16(length_field);
    out.put_u16(0);
    if let Err(error) = packet.encode(out) {
        out.truncate(start);
        return Err(error);
    }
    let datagram = &mut out[start..];
    let checksum = match !pseudo_header.sum(PROTOCOL, datagram, length) {
        // RFC 768: zero means that there is no checksum, and all ones are equivalent to zero.
        0 => 0xffff,
        checksum => checksum,
    };
    datagram[6..8].copy_from_slice(&u16::to_ne_bytes(checksum));
    Ok(())
}

/// Decodes the DCCP packet in a UDP datagram that starts at its UDP header. Bytes beyond UDP Length are not
/// part of it. The packet's application data is shared with `datagram`, not copied.
///
/// # Errors
///
/// Returns an error if the datagram must be dropped by RFC 6773, Section 3.3.
pub fn decapsulate(
    datagram: &Bytes,
    pseudo_header: &PseudoHeader,
) -> Result<(UdpPorts, Packet), DecapsulationError> {
    let Some((&[s0, s1, d0, d1, l0, l1, c0, c1], _)) = datagram.split_first_chunk::<HEADER_LEN>() else {
        return Err(DecapsulationError::Truncated);
    };
    if datagram.len() < HEADER_LEN + MIN_HEADER_LEN {
        return Err(DecapsulationError::Truncated);
    }
    if [c0, c1] == [0, 0] {
        return Err(DecapsulationError::NoChecksum);
    }
    let length_field = u16::from_be_bytes([l0, l1]);
    let length = usize::from(length_field);
    if length < HEADER_LEN + MIN_HEADER_LEN {
        return Err(DecapsulationError::LengthTooSmall(length_field));
    }
    let Some(covered) = datagram.get(..length) else {
        return Err(DecapsulationError::LengthTooLarge(length_field));
    };
    if pseudo_header.sum(PROTOCOL, covered, length) != 0xffff {
        return Err(DecapsulationError::BadChecksum);
    }
    let ports = UdpPorts { source: u16::from_be_bytes([s0, s1]), destination: u16::from_be_bytes([d0, d1]) };
    Ok((ports, Packet::decode(&datagram.slice(HEADER_LEN..length))?))
}
