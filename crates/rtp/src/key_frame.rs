//! Requests for a key frame: Picture Loss Indication (RFC 4585, Section 6.3.1) and Full Intra Request (RFC
//! 5104, Section 4.3.1).

use alloc::vec::Vec;

use crate::RtcpError;
use crate::rtcp::Feedback;

#[cfg(test)]
mod tests;

/// Payload-specific feedback, and the formats of both messages.
const PACKET_TYPE: u8 = 206;
const LOSS: u8 = 1;
const REQUEST: u8 = 4;
/// Bytes of an entry of a Full Intra Request.
const ENTRY: usize = 8;

/// A decoder lacks pictures: the encoder of a stream should make a key frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PictureLoss {
    /// SSRC of the end that sends the message.
    pub sender: u32,
    /// SSRC of the stream.
    pub media: u32,
}

impl PictureLoss {
    /// Appends the message to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let Self { sender, media } = *self;
        // The message has no body, and is never too long.
        let _ = Feedback { sender, media, body: &[] }.encode(PACKET_TYPE, LOSS, out);
    }

    /// Decodes the message at the start of `bytes`; what follows it, as in a compound packet, is ignored.
    ///
    /// # Errors
    /// The [`RtcpError`] found first.
    pub fn decode(bytes: &[u8]) -> Result<Self, RtcpError> {
        let Feedback { sender, media, .. } = Feedback::decode(bytes, PACKET_TYPE, LOSS)?;
        Ok(Self { sender, media })
    }
}

/// The encoders of some streams have to make key frames.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FullIntraRequest {
    /// SSRC of the end that sends the message.
    pub sender: u32,
    /// SSRCs of the streams, with the number of the request to each: a repetition has the same number.
    pub streams: Vec<(u32, u8)>,
}

impl FullIntraRequest {
    /// Appends the message to `out`.
    ///
    /// # Errors
    /// [`RtcpError::TooLong`] for more streams than a packet can name; then nothing is appended.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), RtcpError> {
        let mut body = Vec::with_capacity(ENTRY * self.streams.len());
        for (stream, number) in &self.streams {
            body.extend(stream.to_be_bytes());
            body.extend([*number, 0, 0, 0]);
        }
        // The header names no stream (RFC 5104, Section 4.3.1.2).
        Feedback { sender: self.sender, media: 0, body: &body }.encode(PACKET_TYPE, REQUEST, out)
    }

    /// Decodes the message at the start of `bytes`; what follows it, as in a compound packet, is ignored.
    ///
    /// # Errors
    /// The [`RtcpError`] found first.
    pub fn decode(bytes: &[u8]) -> Result<Self, RtcpError> {
        let Feedback { sender, body, .. } = Feedback::decode(bytes, PACKET_TYPE, REQUEST)?;
        let (entries, rest) = body.as_chunks::<ENTRY>();
        if entries.is_empty() || !rest.is_empty() {
            return Err(RtcpError::Truncated);
        }
        let read = |&[a, b, c, d, number, ..]: &[u8; ENTRY]| (u32::from_be_bytes([a, b, c, d]), number);
        Ok(Self { sender, streams: entries.iter().map(read).collect() })
    }
}
