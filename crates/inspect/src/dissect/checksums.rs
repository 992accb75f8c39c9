//! Checksum verification, including checksums that were incomplete at the time of capture.

use core::net::IpAddr;

use whimbrel_wire::checksum::internet_checksum;
use whimbrel_wire::udp_encapsulation;

use super::Checksum;
use crate::ip::IpPacket;

/// Classifies a checksum: `good` is the result of verification, if it was possible, and `field` the bytes of
/// the checksum.
pub(super) fn classify(
    ip: &IpPacket<'_>,
    protocol: u8,
    length: usize,
    field: Option<&[u8]>,
    good: bool,
) -> Checksum {
    if good {
        Checksum::Good
    } else if !ip.addresses_are_final {
        Checksum::Unknown
    } else if field == Some(&unfinished(ip, protocol, length)) {
        Checksum::Unfinished
    } else {
        Checksum::Bad
    }
}

/// Result for a complete UDP datagram of `length` bytes.
pub(super) fn of_udp(ip: &IpPacket<'_>, length: usize) -> Checksum {
    let datagram = &ip.payload[..length];
    let field = &datagram[6..8];
    if field == [0, 0] {
        return Checksum::Absent;
    }
    let mut covered = pseudo_header(ip, udp_encapsulation::PROTOCOL, length);
    covered.extend_from_slice(datagram);
    let good = internet_checksum(&covered) == 0;
    classify(ip, udp_encapsulation::PROTOCOL, length, Some(field), good)
}

/// Content of the field while the checksum is left to the network card: the sum over the pseudo-header, not
/// inverted.
fn unfinished(ip: &IpPacket<'_>, protocol: u8, length: usize) -> [u8; 2] {
    (!internet_checksum(&pseudo_header(ip, protocol, length))).to_be_bytes()
}

/// RFC 4340, Section 9.1 and RFC 768; the layouts for IPv4 and IPv6 sum to the same.
fn pseudo_header(ip: &IpPacket<'_>, protocol: u8, length: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(40 + length);
    for address in [ip.source, ip.destination] {
        match address {
            IpAddr::V4(address) => bytes.extend(address.octets()),
            IpAddr::V6(address) => bytes.extend(address.octets()),
        }
    }
    bytes.extend((length as u32).to_be_bytes());
    bytes.extend([0, 0, 0, protocol]);
    bytes
}
