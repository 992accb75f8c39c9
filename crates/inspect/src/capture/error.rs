//! Errors in capture files.

use std::io;

use thiserror::Error;

/// An error in a capture file and its offset.
#[derive(Debug, Error)]
#[error("byte {offset}: {kind}")]
pub struct CaptureError {
    /// Offset in the file: start of the header, record or block with the error.
    pub offset: u64,
    /// The error.
    pub kind: CaptureErrorKind,
}

/// Kind of an error in a capture file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CaptureErrorKind {
    /// A read error.
    #[error("{0}")]
    Io(io::Error),
    /// The file is compressed with gzip and cannot be decompressed: it is damaged or truncated.
    #[error("inflating gzip: {0}")]
    Gzip(io::Error),
    /// The file is not a capture.
    #[error("starts with {0:02x?}: expected a pcap or pcapng file")]
    NotACapture([u8; 4]),
    /// The file is compressed with another program.
    #[error(
        "compressed with {0}: expected a pcap or pcapng file, plain or compressed once with gzip (unpack it first)"
    )]
    Compressed(&'static str),
    /// The file is truncated.
    #[error("the file ends inside {what}: expected {expected} bytes, {found} are there")]
    CutOff {
        /// The part that is truncated.
        what: &'static str,
        /// Expected length of the part.
        expected: u64,
        /// Number of bytes present.
        found: u64,
    },
    /// A frame or block exceeds the maximum length.
    #[error("{what} of {length} bytes: expected at most {most}")]
    TooLong {
        /// The part that is too long.
        what: &'static str,
        /// Length according to the file.
        length: u64,
        /// Maximum length.
        most: u64,
    },
    /// The capture has more packets than lists of packets may hold.
    #[error("more than {0} packets: expected a shorter capture, such as a part of this one")]
    TooManyPackets(u64),
    /// A block is shorter than the minimum of its type.
    #[error("a {what} of {length} bytes: expected at least {least}")]
    TooShort {
        /// The type of block.
        what: &'static str,
        /// Length according to the file.
        length: u64,
        /// Minimum length.
        least: u64,
    },
    /// The two lengths of a block differ.
    #[error("a block that begins with length {0} and ends with length {1}: expected the same twice")]
    TwoLengths(u32, u32),
    /// A pcapng section has an unknown byte order.
    #[error("byte order magic {0:02x?}: expected 1a 2b 3c 4d or 4d 3c 2b 1a")]
    ByteOrder([u8; 4]),
    /// The version is not supported.
    #[error("{format} version {major}: expected {expected}")]
    Version {
        /// pcap or pcapng.
        format: &'static str,
        /// Version according to the file.
        major: u16,
        /// The supported version.
        expected: u16,
    },
    /// A packet refers to an interface without description.
    #[error("a packet of interface {0}: expected an interface description before it")]
    NoInterface(u32),
}
