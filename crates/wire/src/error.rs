//! Why bytes are not a packet, and why a packet has no bytes.

use core::{error, fmt};

use crate::PacketType;

/// Why some bytes are not a DCCP packet. Such a packet is ignored and never answered
/// (RFC 4340, Section 8.5, Step 1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DecodeError {
    /// What is wrong.
    pub kind: DecodeErrorKind,
    /// Where: the offset of the field at fault from the start of the DCCP header, in bytes.
    pub offset: usize,
}

/// What is wrong with bytes that are not a DCCP packet, in the order of the checks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// Fewer than the twelve bytes of the shortest header.
    Truncated,
    /// A type without a meaning (RFC 4340, Section 5.1).
    ReservedType(u8),
    /// X is zero on a type that must have long sequence numbers (RFC 4340, Section 5.1).
    ShortSequenceNumbers(PacketType),
    /// Data Offset ends before the fixed fields of the type do.
    DataOffsetTooSmall(u8),
    /// Data Offset lies beyond the end of the packet.
    DataOffsetTooLarge(u8),
    /// CsCov asks for more application data than there is (RFC 4340, Section 9.2).
    CoverageTooLarge(u8),
}

impl fmt::Display for DecodeErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Truncated => write!(f, "shorter than a DCCP header"),
            Self::ReservedType(number) => write!(f, "reserved packet type {number}"),
            Self::ShortSequenceNumbers(packet_type) => {
                write!(f, "short sequence numbers on a {packet_type:?} packet")
            }
            Self::DataOffsetTooSmall(words) => write!(f, "data offset {words} ends inside the fixed header"),
            Self::DataOffsetTooLarge(words) => write!(f, "data offset {words} ends beyond the packet"),
            Self::CoverageTooLarge(field) => write!(f, "checksum coverage {field} ends beyond the packet"),
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at byte {})", self.kind, self.offset)
    }
}

impl error::Error for DecodeError {}

/// Why a typed packet cannot be written as bytes. Nothing has been written then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum EncodeError {
    /// X is zero on a type that must have long sequence numbers (RFC 4340, Section 5.1).
    ShortSequenceNumbers(PacketType),
    /// CCVal has four bits.
    CcvalTooLarge(u8),
    /// CsCov asks for more application data than there is (RFC 4340, Section 9.2).
    CoverageTooLarge(u8),
    /// Header and options come to this many bytes; 1020 are possible (RFC 4340, Section 5).
    HeaderTooLong(usize),
    /// The option at this index has more than 253 bytes of data, data that its type cannot have, or is
    /// a [`Malformed`](crate::DccpOption::Malformed) one that is not the last or that would be read as
    /// something else.
    InvalidOption(usize),
    /// The output has room for fewer than these bytes.
    NoRoom(usize),
    /// The datagram would be longer than the 65,535 bytes that a UDP header can name.
    DatagramTooLong(usize),
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ShortSequenceNumbers(packet_type) => {
                write!(f, "short sequence numbers on a {packet_type:?} packet")
            }
            Self::CcvalTooLarge(ccval) => write!(f, "CCVal {ccval} has more than four bits"),
            Self::CoverageTooLarge(field) => write!(f, "checksum coverage {field} ends beyond the packet"),
            Self::HeaderTooLong(length) => write!(f, "header and options take {length} bytes of 1020"),
            Self::InvalidOption(index) => write!(f, "option {index} cannot be written"),
            Self::NoRoom(length) => write!(f, "no room for {length} bytes"),
            Self::DatagramTooLong(length) => write!(f, "a datagram of {length} bytes is too long for UDP"),
        }
    }
}

impl error::Error for EncodeError {}
