//! Why a capture file cannot be read on.

use std::io;

use thiserror::Error;

/// Why a capture file cannot be read on, and where.
#[derive(Debug, Error)]
#[error("byte {offset}: {kind}")]
pub struct CaptureError {
    /// Where in the file: the beginning of the header, record or block at fault.
    pub offset: u64,
    /// What is wrong.
    pub kind: CaptureErrorKind,
}

/// What is wrong with a capture file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CaptureErrorKind {
    /// It could not be read.
    #[error("{0}")]
    Io(io::Error),
    /// It is compressed with gzip and cannot be inflated: it is damaged or cut off.
    #[error("inflating gzip: {0}")]
    Gzip(io::Error),
    /// It is no capture file.
    #[error("starts with {0:02x?}: expected a pcap or pcapng file")]
    NotACapture([u8; 4]),
    /// It has been compressed.
    #[error(
        "compressed with {0}: expected a pcap or pcapng file, plain or compressed once with gzip (unpack it first)"
    )]
    Compressed(&'static str),
    /// It ends too early.
    #[error("the file ends inside {what}: expected {expected} bytes, {found} are there")]
    CutOff {
        /// Inside what.
        what: &'static str,
        /// How long that is.
        expected: u64,
        /// How much of it there is.
        found: u64,
    },
    /// A frame or block is longer than one can be.
    #[error("{what} of {length} bytes: expected at most {most}")]
    TooLong {
        /// What.
        what: &'static str,
        /// How long it says it is.
        length: u64,
        /// How long it may be.
        most: u64,
    },
    /// A block is shorter than its kind can be.
    #[error("a {what} of {length} bytes: expected at least {least}")]
    TooShort {
        /// What kind.
        what: &'static str,
        /// How long it says it is.
        length: u64,
        /// How long it must be.
        least: u64,
    },
    /// A block's two lengths differ.
    #[error("a block that begins with length {0} and ends with length {1}: expected the same twice")]
    TwoLengths(u32, u32),
    /// A pcapng section of an unknown byte order.
    #[error("byte order magic {0:02x?}: expected 1a 2b 3c 4d or 4d 3c 2b 1a")]
    ByteOrder([u8; 4]),
    /// A version that is not known.
    #[error("{format} version {major}: expected {expected}")]
    Version {
        /// pcap or pcapng.
        format: &'static str,
        /// What the file says.
        major: u16,
        /// What is known.
        expected: u16,
    },
    /// A packet of an interface that has not been described.
    #[error("a packet of interface {0}: expected an interface description before it")]
    NoInterface(u32),
}
