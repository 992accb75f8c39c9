//! Errors of decoding and encoding.

use core::{error, fmt};

use crate::PacketType;

/// Error in decoding a DCCP packet. Such a packet is ignored and never answered (RFC 4340, Section 8.5, Step
/// 1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DecodeError {
    /// Kind of the error.
    pub kind: DecodeErrorKind,
    /// Offset of the invalid field from the start of the DCCP header, in bytes.
    pub offset: usize,
}

/// Kind of a decoding error, in the order of the checks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// Fewer bytes than the minimum header length of twelve.
    Truncated,
    /// A reserved type (RFC 4340, Section 5.1).
    ReservedType(u8),
    /// X is zero on a type that must have long sequence numbers (RFC 4340, Section 5.1).
    ShortSequenceNumbers(PacketType),
    /// Data Offset ends before the fixed fields of the type.
    DataOffsetTooSmall(u8),
    /// Data Offset lies beyond the end of the packet.
    DataOffsetTooLarge(u8),
    /// CsCov covers more application data than the packet contains (RFC 4340, Section 9.2).
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

/// Error in encoding a packet. Nothing has been written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum EncodeError {
    /// X is zero on a type that must have long sequence numbers (RFC 4340, Section 5.1).
    ShortSequenceNumbers(PacketType),
    /// CCVal exceeds four bits.
    CcvalTooLarge(u8),
    /// CsCov covers more application data than the packet contains (RFC 4340, Section 9.2).
    CoverageTooLarge(u8),
    /// Header and options take this many bytes, more than 1020 (RFC 4340, Section 5).
    HeaderTooLong(usize),
    /// The option at this index has more than 253 bytes of data, data that is invalid for its type, or is a
    /// [`Malformed`](crate::DccpOption::Malformed) one that is not the last or would be decoded differently.
    InvalidOption(usize),
    /// The output has no room for this number of bytes.
    NoRoom(usize),
    /// The datagram would exceed the 65,535 bytes of a UDP Length.
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
