//! Feedback messages of RTCP (RFC 4585, Section 6.1): the common header and the two SSRCs.

use alloc::vec::Vec;

use crate::RtcpError;

/// Bytes before the message's own.
pub(crate) const HEADER: usize = 12;

/// A feedback message.
#[derive(Clone, Copy)]
pub(crate) struct Feedback<'a> {
    pub(crate) sender: u32,
    pub(crate) media: u32,
    /// The message's own bytes, without padding.
    pub(crate) body: &'a [u8],
}

impl<'a> Feedback<'a> {
    /// Reads the feedback message of that packet type and format at the start of `bytes`.
    pub(crate) fn decode(bytes: &'a [u8], packet_type: u8, format: u8) -> Result<Self, RtcpError> {
        let ([first, kind, length @ ..], rest) =
            bytes.split_first_chunk::<4>().ok_or(RtcpError::Truncated)?;
        if first >> 6 != 2 {
            return Err(RtcpError::Version);
        }
        if *kind != packet_type || first & 0x1f != format {
            return Err(RtcpError::Type);
        }
        let length = 4 * usize::from(u16::from_be_bytes(*length));
        let mut rest = rest.get(..length).ok_or(RtcpError::Truncated)?;
        if first & 0x20 != 0 {
            let padding = rest.last().map_or(0, |last| usize::from(*last));
            let kept = length.checked_sub(padding).filter(|_| padding > 0).ok_or(RtcpError::Padding)?;
            rest = &rest[..kept];
        }
        let (sender, rest) = rest.split_first_chunk().ok_or(RtcpError::Truncated)?;
        let (media, body) = rest.split_first_chunk().ok_or(RtcpError::Truncated)?;
        Ok(Self { sender: u32::from_be_bytes(*sender), media: u32::from_be_bytes(*media), body })
    }

    /// Appends a feedback message with `body`, padded to whole words.
    pub(crate) fn encode(&self, packet_type: u8, format: u8, out: &mut Vec<u8>) -> Result<(), RtcpError> {
        let length = HEADER + self.body.len();
        let padding = length.next_multiple_of(4) - length;
        let words = u16::try_from((length + padding) / 4 - 1).map_err(|_| RtcpError::TooLong)?;
        out.reserve(length + padding);
        out.extend([2 << 6 | u8::from(padding > 0) << 5 | format, packet_type]);
        out.extend(words.to_be_bytes());
        out.extend(self.sender.to_be_bytes());
        out.extend(self.media.to_be_bytes());
        out.extend(self.body);
        // The last byte of the padding is its length (RFC 3550, Section 6.4.1).
        out.extend([0, 0, 0].iter().take(padding.saturating_sub(1)));
        out.extend((padding > 0).then_some(padding as u8));
        Ok(())
    }
}
