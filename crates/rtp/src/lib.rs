//! RTP for relays and congestion control, sans I/O.
//!
//! - [`Recognizer`] finds the RTP streams among the datagrams of a flow, by evidence. It states the frame of
//!   a packet ([`FrameId`]) and what its payload contains ([`Content`]): a parameter set, the beginning of a
//!   key frame, a frame to which no other refers. It reads H.264, H.265, VP8 and AV1 ([`Codec`]).
//! - [`ControlPacket`] checks the structure of RTCP.
//! - [`RtpPacket`] is a view of a packet: header, header extensions (RFC 8285), payload.
//! - [`Remb`] and [`TransportFeedback`] are the RTCP messages by which WebRTC's encoders learn a rate, or
//!   measure one.
//! - [`PictureLoss`] and [`FullIntraRequest`] are those by which they are asked for a key frame.
//! - [`ArrivalLog`] records arrivals by transport-wide sequence number and makes the feedback from them.
//!
//! Nothing here decrypts: payloads of SRTP are opaque, and only header and extensions of such packets are of
//! use.
//!
//! ```
//! use whimbrel_rtp::{ArrivalLog, Codec, Kind, Recognizer, RtpPacket, TransportFeedback};
//! use whimbrel_units::Instant;
//!
//! // Sequence number 7, timestamp 90, SSRC 9; a one-byte extension with the identifier 5; a slice of an IDR picture.
//! let datagram = [
//!     0x90, 96, 0, 7, 0, 0, 0, 90, 0, 0, 0, 9, 0xbe, 0xde, 0, 1, 0x51, 0x12, 0x34, 0, 0x65, 0x88,
//! ];
//! // A flow that is said to be one of RTP; another one becomes it by its packets.
//! let mut flow = Recognizer::new(true);
//! let kind = flow.classify(Instant::from_millis(20), &datagram, Some(Codec::H264));
//! let Kind::Media(media) = kind else { panic!("a part of a frame") };
//! assert!(media.content.begins_keyframe);
//! assert_eq!((media.frame.source, media.frame.number), (9, 0));
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
mod content;
mod control;
mod error;
mod key_frame;
mod packet;
mod recognizer;
mod remb;
mod rtcp;
mod transport_feedback;

pub use arrival_log::ArrivalLog;
pub use content::{Codec, Content};
pub use control::ControlPacket;
pub use error::RtcpError;
pub use key_frame::{FullIntraRequest, PictureLoss};
pub use packet::RtpPacket;
pub use recognizer::{FrameId, Kind, Media, Recognizer};
pub use remb::Remb;
pub use transport_feedback::{Received, TICK, TransportFeedback};
