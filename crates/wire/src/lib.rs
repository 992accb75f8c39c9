//! DCCP packets as typed values, with encoding and decoding.
//!
//! Covers every packet type of RFC 4340 and RFC 5596, short and long sequence numbers, every
//! option and feature of RFC 4340, the CCID-specific options of RFC 4342, RFC 5622 and RFC 6323,
//! the checksums over IPv4 and IPv6 pseudo-headers, and the UDP encapsulation of RFC 6773.
//!
//! A [`Packet`] is the typed form of a packet; [`Packet::decode`] and [`Packet::encode`] convert from and to
//! bytes, and [`Packet::encoded_len`] returns their number without encoding. Decoding never panics: invalid
//! bytes are a [`DecodeError`], and an invalid option is a value for the connection to process (see
//! [`option`]). Packets sent by Linux are encoded again byte for byte.
//!
//! [`congestion_feedback`] is the report of RFC 8888 for media over RTP.
//!
//! ```
//! use bytes::Bytes;
//! use whimbrel_wire::checksum::{self, PseudoHeader};
//! use whimbrel_wire::{ChecksumCoverage, Kind, Options, Packet, Payload, SeqNo};
//!
//! let packet = Packet {
//!     source_port: 40123,
//!     destination_port: 5004,
//!     ccval: 0,
//!     checksum_coverage: ChecksumCoverage::ALL,
//!     extended: true,
//!     sequence: SeqNo::new(7),
//!     kind: Kind::DataAck { ack: SeqNo::new(3) },
//!     options: Options::new(),
//!     payload: Payload::from(Bytes::from_static(b"a frame")),
//! };
//! let addresses = PseudoHeader::v4([192, 0, 2, 1].into(), [192, 0, 2, 2].into());
//! let mut bytes = Vec::new();
//! packet.encode_with_checksum(&addresses, &mut bytes)?;
//! assert_eq!(bytes.len(), 24 + 7);
//! assert!(checksum::verify(&bytes, &addresses));
//! assert_eq!(Packet::decode(&Bytes::from(bytes)), Ok(packet));
//! # Ok::<(), whimbrel_wire::EncodeError>(())
//! ```
//!
//! # Design
//!
//! - Options are typed values in a small vector inside the packet, so that a simulated packet with a few
//!   options needs no allocation; variable parts (Ack Vectors, preference lists) are stored inline while
//!   short.
//! - Application data is either bytes or, in simulations, only a length and a tag (`wire::Payload`), so that
//!   no video is copied through memory to compute its arrival times.
#![no_std]
extern crate alloc;
#[cfg(test)]
extern crate std;

#[cfg(test)]
mod arbitrary;
pub mod checksum;
pub mod congestion_feedback;
mod data_checksum;
mod decode;

mod encode;
mod error;
mod header;
pub mod option;
mod packet;
mod payload;
mod reset;
mod seq;
mod service_code;
pub mod udp_encapsulation;

pub use data_checksum::data_checksum;
pub use encode::MAX_HEADER_LEN;
pub use error::{DecodeError, DecodeErrorKind, EncodeError};
pub use header::{ChecksumCoverage, PacketType};
pub use option::{DccpOption, OptionBytes, Options};
pub use packet::{Kind, Packet};
pub use payload::Payload;
pub use reset::{Reset, ResetCode};
pub use seq::SeqNo;
pub use service_code::{ParseServiceCodeError, ServiceCode};
pub use whimbrel_units::Ecn;
