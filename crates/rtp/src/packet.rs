//! An RTP packet (RFC 3550, Section 5.1) and its header extensions (RFC 8285).

#[cfg(test)]
mod tests;

/// Bytes of the fixed header.
const HEADER: usize = 12;
/// The profile of one-byte headers (RFC 8285, Section 4.2), and of two-byte headers without its four
/// application bits (Section 4.3).
const ONE_BYTE: u16 = 0xbede;
const TWO_BYTES: u16 = 0x1000;
/// The identifier that ends the elements with one-byte headers.
const END: u8 = 15;

/// An RTP packet: a view of its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RtpPacket<'a> {
    header: &'a [u8; HEADER],
    /// Bytes after the fixed header.
    rest: &'a [u8],
}

impl<'a> RtpPacket<'a> {
    /// A view of a datagram. `None` if it is shorter than the fixed header, of another version, or RTCP,
    /// which is distinguished by the payload type (RFC 5761, Section 4).
    pub fn parse(datagram: &'a [u8]) -> Option<Self> {
        let (header, rest) = datagram.split_first_chunk::<HEADER>()?;
        (header[0] >> 6 == 2 && !is_control(header[1])).then_some(Self { header, rest })
    }

    /// The marker bit, in most video formats set on a frame's last packet.
    pub fn marker(&self) -> bool {
        self.header[1] & 0x80 != 0
    }

    /// The payload type, 0 to 127.
    pub fn payload_type(&self) -> u8 {
        self.header[1] & 0x7f
    }

    /// The sequence number.
    pub fn sequence(&self) -> u16 {
        u16::from_be_bytes([self.header[2], self.header[3]])
    }

    /// The timestamp, in units of the payload format's clock.
    pub fn timestamp(&self) -> u32 {
        self.word(4)
    }

    /// The SSRC of the stream.
    pub fn source(&self) -> u32 {
        self.word(8)
    }

    fn word(&self, at: usize) -> u32 {
        let header = self.header;
        u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
    }

    /// The bytes after the contributing sources.
    fn after_sources(&self) -> Option<&'a [u8]> {
        self.rest.get(4 * usize::from(self.header[0] & 0x0f)..)
    }

    /// The header extension: its profile, its data, and the bytes that follow.
    fn extension_block(&self) -> Option<(u16, &'a [u8], &'a [u8])> {
        if self.header[0] & 0x10 == 0 {
            return None;
        }
        let ([first, second, length @ ..], rest) = self.after_sources()?.split_first_chunk::<4>()?;
        let (profile, words) = (u16::from_be_bytes([*first, *second]), u16::from_be_bytes(*length));
        let (data, rest) = rest.split_at_checked(4 * usize::from(words))?;
        Some((profile, data, rest))
    }

    /// `true` if contributing sources and header extension are not longer than the packet.
    pub fn has_whole_header(&self) -> bool {
        match self.header[0] & 0x10 {
            0 => self.after_sources().is_some(),
            _ => self.extension_block().is_some(),
        }
    }

    /// The payload without padding. `None` if contributing sources, extension or padding are longer than the
    /// packet.
    pub fn payload(&self) -> Option<&'a [u8]> {
        let payload = match self.header[0] & 0x10 {
            0 => self.after_sources()?,
            _ => self.extension_block()?.2,
        };
        if self.header[0] & 0x20 == 0 {
            return Some(payload);
        }
        let padding = usize::from(*payload.last()?);
        let kept = payload.len().checked_sub(padding).filter(|_| padding > 0)?;
        payload.get(..kept)
    }

    /// The data of the header extension element with that identifier (RFC 8285): 1 to 14 with one-byte
    /// headers, 1 to 255 with two-byte headers.
    pub fn extension(&self, id: u8) -> Option<&'a [u8]> {
        let (profile, mut rest, _) = self.extension_block()?;
        let is_short = match profile {
            ONE_BYTE => true,
            profile if profile & 0xfff0 == TWO_BYTES => false,
            _ => return None,
        };
        while let [first, after @ ..] = rest {
            // A byte of padding has no length, with either kind of header.
            if *first == 0 {
                rest = after;
                continue;
            }
            let (found, length, after) = if is_short {
                (first >> 4, usize::from(first & 0x0f) + 1, after)
            } else {
                let (length, after) = after.split_first()?;
                (*first, usize::from(*length), after)
            };
            if is_short && found == END {
                return None;
            }
            let (data, after) = after.split_at_checked(length)?;
            if found == id && id != 0 {
                return Some(data);
            }
            rest = after;
        }
        None
    }

    /// The transport-wide sequence number in the extension element with that identifier
    /// (draft-holmer-rmcat-transport-wide-cc-extensions-01, Section 2). Its second version has a request for
    /// feedback after it.
    pub fn transport_sequence(&self, id: u8) -> Option<u16> {
        match self.extension(id)? {
            [first, second] | [first, second, _, _] => Some(u16::from_be_bytes([*first, *second])),
            _ => None,
        }
    }
}

/// `true` if the second byte of a datagram is a packet type of RTCP (RFC 5761, Section 4).
pub(crate) fn is_control(second: u8) -> bool {
    (192..=223).contains(&second)
}
