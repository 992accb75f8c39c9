//! The packets of a media flow.

use whimbrel_wire::congestion_feedback::CongestionFeedback;

use crate::repair_models::Message;
use crate::transport::{Content, IpHeaders};

/// The content of a packet of a media flow.
#[derive(Clone, PartialEq, Debug)]
pub enum MediaContent {
    /// An RTP packet.
    Rtp {
        /// Sequence number, of which RTP carries the low 16 bits.
        sequence: u64,
        /// The datagram's number at its source.
        tag: u64,
        /// Media in bytes.
        length: u32,
        /// Bytes of padding.
        padding: u32,
        /// Timestamp in units of 1/90000 s.
        timestamp: u32,
        /// Message of a model of repair.
        message: Option<Box<Message>>,
    },
    /// A report on the packets received.
    Feedback(Box<CongestionFeedback>),
    /// Message of a model of repair to the other end in RTCP.
    Repair(Box<Message>),
}

/// Bytes of an RTP header without extensions (RFC 3550, Section 5.1).
const RTP_HEADER: usize = 12;
/// A dynamic payload type (RFC 3551, Section 6).
const PAYLOAD_TYPE: u8 = 96;
/// SSRC of the media.
pub(super) const MEDIA_SSRC: u32 = 1;
/// SSRC of the receiver.
pub(super) const RECEIVER_SSRC: u32 = 2;
/// The IP protocol number of UDP.
const UDP: u8 = 17;
/// Bytes of a UDP header.
const UDP_HEADER: usize = 8;

impl Content for MediaContent {
    fn data_length(&self) -> u32 {
        match self {
            Self::Rtp { length, .. } => *length,
            Self::Feedback(_) | Self::Repair(_) => 0,
        }
    }

    fn numbers(&self) -> (u64, u64) {
        match self {
            Self::Rtp { sequence, tag, .. } => (*sequence, *tag),
            Self::Feedback(_) | Self::Repair(_) => (0, 0),
        }
    }

    fn capture_bytes(&self, headers: &IpHeaders, out: &mut Vec<u8>) -> u8 {
        let mut body = Vec::new();
        let ports = match self {
            Self::Rtp { sequence, tag, length, padding, timestamp, .. } => {
                // P is set where the whole packet is padding or ends in it (RFC 3550, Section 5.1).
                body.extend([2 << 6 | u8::from(*padding > 0) << 5, PAYLOAD_TYPE]);
                body.extend((*sequence as u16).to_be_bytes());
                body.extend(timestamp.to_be_bytes());
                body.extend(MEDIA_SSRC.to_be_bytes());
                let data = *length as usize;
                body.resize(RTP_HEADER + data + *padding as usize, 0);
                let shown = data.min(8);
                body[RTP_HEADER..RTP_HEADER + shown].copy_from_slice(&tag.to_be_bytes()[..shown]);
                if let (Some(last), Ok(padding @ 1..)) = (body.last_mut(), u8::try_from(*padding)) {
                    *last = padding;
                }
                [headers.flow_port, headers.sink_port]
            }
            Self::Feedback(report) => {
                // Reports are split before they exceed what RTCP can carry, so this cannot fail.
                let _ = report.encode(&mut body);
                [headers.sink_port, headers.flow_port]
            }
            Self::Repair(message) => {
                body.resize(message.length() as usize, 0);
                // An application-defined packet (RFC 3550, Section 6.7).
                body[..2].copy_from_slice(&[2 << 6, 204]);
                [headers.sink_port, headers.flow_port]
            }
        };
        ports.iter().for_each(|port| out.extend(port.to_be_bytes()));
        out.extend(((UDP_HEADER + body.len()) as u16).to_be_bytes());
        // A checksum of zero: the sender made none (RFC 768).
        out.extend([0; 2]);
        out.extend(body);
        UDP
    }
}
