//! The frame and the kind of a datagram.

use crate::packet::is_control;
use crate::{Codec, Content, RtpPacket};

/// A frame: the packets of a stream with the same timestamp.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FrameId {
    /// SSRC of the stream.
    pub source: u32,
    /// RTP timestamp.
    pub timestamp: u32,
}

/// A packet of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Media {
    /// The frame to which the packet belongs.
    pub frame: FrameId,
    /// The contents of its payload, as far as one packet shows them; nothing without a codec.
    pub content: Content,
}

/// The kind of a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Neither RTP nor RTCP.
    Other,
    /// RTCP.
    Control,
    /// RTP.
    Media(Media),
}

/// The kind of a datagram. `codec`: the payload format, if it is known.
///
/// A packet whose payload is truncated is of its frame, and has no known contents.
pub fn classify(datagram: &[u8], codec: Option<Codec>) -> Kind {
    if let Some(packet) = RtpPacket::parse(datagram) {
        let content = codec.zip(packet.payload()).map(|(codec, payload)| codec.content(payload));
        let frame = FrameId { source: packet.source(), timestamp: packet.timestamp() };
        return Kind::Media(Media { frame, content: content.unwrap_or_default() });
    }
    match datagram {
        // The shortest packet of RTCP is its header and an SSRC (RFC 3550, Section 6).
        [first, second, _, _, _, _, _, _, ..] if first >> 6 == 2 && is_control(*second) => Kind::Control,
        _ => Kind::Other,
    }
}

#[cfg(test)]
mod tests;
