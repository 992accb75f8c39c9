//! DCCP packets as typed values, to and from bytes.
//!
//! Covers every packet type of RFC 4340 and RFC 5596, short and long sequence numbers, every
//! option and feature of RFC 4340, the CCID-specific options of RFC 4342, RFC 5622 and RFC 6323,
//! the checksums over IPv4 and IPv6 pseudo-headers, and the UDP encapsulation of RFC 6773.
#![no_std]
extern crate alloc;
#[cfg(test)]
extern crate std;

#[cfg(test)]
mod arbitrary;
pub mod checksum;
mod data_checksum;
mod decode;
mod ecn;
mod encode;
mod error;
mod header;
pub mod option;
mod packet;
mod payload;
mod reset;
mod seq;
pub mod udp_encapsulation;

pub use data_checksum::data_checksum;
pub use ecn::Ecn;
pub use encode::MAX_HEADER_LEN;
pub use error::{DecodeError, DecodeErrorKind, EncodeError};
pub use header::{ChecksumCoverage, PacketType, ServiceCode};
pub use option::{DccpOption, OptionBytes, Options};
pub use packet::{Kind, Packet};
pub use payload::Payload;
pub use reset::{Reset, ResetCode};
pub use seq::SeqNo;
