//! RTP for relays and congestion control, sans I/O.
//!
//! - [`classify`] states the frame of a datagram ([`FrameId`]) and what its payload contains ([`Content`]): a parameter set, the
//!   beginning of a key frame, a frame to which no other refers. It reads H.264, H.265, VP8 and AV1 ([`Codec`]).
//! - [`RtpPacket`] is a view of a packet: header, header extensions (RFC 8285), payload.
//! - [`Remb`] and [`TransportFeedback`] are the RTCP messages by which WebRTC's encoders learn a rate, or measure one.
//! - [`ArrivalLog`] records arrivals by transport-wide sequence number and makes the feedback from them.
//!
//! Nothing here decrypts: payloads of SRTP are opaque, and only header and extensions of such packets are of use.
//!
//! ```
//! use whimbrel_rtp::{ArrivalLog, Codec, Kind, RtpPacket, TransportFeedback, classify};
//! use whimbrel_units::Instant;
//!
//! // Sequence number 7, timestamp 90, SSRC 9; a one-byte extension with the identifier 5; a slice of an IDR picture.
//! let datagram = [
//!     0x90, 96, 0, 7, 0, 0, 0, 90, 0, 0, 0, 9, 0xbe, 0xde, 0, 1, 0x51, 0x12, 0x34, 0, 0x65, 0x88,
//! ];
//! let Kind::Media(media) = classify(&datagram, Some(Codec::H264)) else { panic!("a part of a frame") };
//! assert!(media.content.begins_keyframe);
//! assert_eq!((media.frame.source, media.frame.timestamp), (9, 90));
//!
//! let packet = RtpPacket::parse(&datagram).expect("a packet");
//! let mut log = ArrivalLog::new();
//! log.record(packet.transport_sequence(5).expect("the extension"), Instant::from_millis(20));
//! let feedback = log.poll(1, packet.source()).expect("one packet to report");
//! let mut bytes = Vec::new();
//! feedback.encode(&mut bytes)?;
//! assert_eq!(TransportFeedback::decode(&bytes)?.arrivals().next(), Some((0x1234, 80)));
//! # Ok::<(), whimbrel_rtp::RtcpError>(())
//! ```
#![no_std]
extern crate alloc;
#[cfg(test)]
extern crate std;

mod arrival_log;
mod classify;
mod content;
mod error;
mod packet;
mod remb;
mod rtcp;
mod transport_feedback;

pub use arrival_log::ArrivalLog;
pub use classify::{FrameId, Kind, Media, classify};
pub use content::{Codec, Content};
pub use error::RtcpError;
pub use packet::RtpPacket;
pub use remb::Remb;
pub use transport_feedback::{Received, TICK, TransportFeedback};
