//! Receiver Estimated Maximum Bitrate: the RTCP message by which WebRTC's encoders and GStreamer's learn a
//! rate (draft-alvestrand-rmcat-remb-03, Section 2.2).

use alloc::vec::Vec;

use crate::RtcpError;
use crate::rtcp::Feedback;

#[cfg(test)]
mod tests;

/// Payload-specific feedback, its application layer messages, and the name of this one.
const PACKET_TYPE: u8 = 206;
const FORMAT: u8 = 15;
const NAME: &[u8; 4] = b"REMB";
/// Bits of the mantissa of the rate.
const MANTISSA: u32 = 18;

/// A limit of the bit rate of some streams together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Remb {
    /// SSRC of the end that sends the message.
    pub sender: u32,
    /// The rate in bit/s. On the wire it has 18 significant bits, and is rounded down to them.
    pub bitrate: u64,
    /// SSRCs of the streams, 255 at most.
    pub streams: Vec<u32>,
}

impl Remb {
    /// Appends the message to `out`.
    ///
    /// # Errors
    /// [`RtcpError::TooLong`] for more than 255 streams; then nothing is appended.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), RtcpError> {
        let count = u8::try_from(self.streams.len()).map_err(|_| RtcpError::TooLong)?;
        let exponent = (u64::BITS - self.bitrate.leading_zeros()).saturating_sub(MANTISSA);
        let mantissa = (self.bitrate >> exponent) as u32;
        let mut body = Vec::with_capacity(8 + 4 * self.streams.len());
        body.extend(NAME);
        body.extend((u32::from(count) << 24 | exponent << MANTISSA | mantissa).to_be_bytes());
        self.streams.iter().for_each(|stream| body.extend(stream.to_be_bytes()));
        // There is no single stream to name in the header (Section 2.2).
        Feedback { sender: self.sender, media: 0, body: &body }.encode(PACKET_TYPE, FORMAT, out)
    }

    /// Decodes the message at the start of `bytes`; what follows it, as in a compound packet, is ignored.
    ///
    /// # Errors
    /// The [`RtcpError`] found first.
    pub fn decode(bytes: &[u8]) -> Result<Self, RtcpError> {
        let Feedback { sender, body, .. } = Feedback::decode(bytes, PACKET_TYPE, FORMAT)?;
        let (name, body) = body.split_first_chunk::<4>().ok_or(RtcpError::Type)?;
        if name != NAME {
            return Err(RtcpError::Type);
        }
        let (word, body) = body.split_first_chunk().ok_or(RtcpError::Truncated)?;
        let word = u32::from_be_bytes(*word);
        let (count, exponent) = ((word >> 24) as usize, word >> MANTISSA & 0x3f);
        let mantissa = u64::from(word & ((1 << MANTISSA) - 1));
        let bitrate = mantissa.checked_shl(exponent).filter(|rate| rate >> exponent == mantissa);
        let streams = body.get(..4 * count).ok_or(RtcpError::Truncated)?;
        let streams = streams.as_chunks().0.iter().map(|stream| u32::from_be_bytes(*stream)).collect();
        Ok(Self { sender, bitrate: bitrate.ok_or(RtcpError::Reserved)?, streams })
    }
}
