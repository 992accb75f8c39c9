//! The structure of RTCP (RFC 3550, Sections 6 and A.2; RFC 5506; RFC 3711, Section 3.4).

#[cfg(test)]
mod tests;

/// Bytes of a packet's header, and of the SSRC that follows it.
const HEADER: usize = 4;
/// The shortest datagram: a header and an SSRC.
const SHORTEST: usize = HEADER + 4;
/// The least bytes that SRTCP adds: the index, and an authentication tag of 32 bits (RFC 3711, Section 3.4).
const PROTECTION: usize = 4 + 4;
/// Packet types: the first and the last of RFC 2032 and RFC 3550 with its successors, as assigned by IANA.
const EARLY: core::ops::RangeInclusive<u8> = 192..=195;
const ASSIGNED: core::ops::RangeInclusive<u8> = 200..=213;

/// A datagram that has the structure of RTCP. Other protocols may have it by accident:
/// [`Recognizer`](crate::Recognizer) says whether the flow is one of RTP.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ControlPacket {
    /// SSRC of the sender.
    pub sender: u32,
    /// `true` if the lengths of its packets end with the datagram; otherwise it can only be encrypted
    /// (SRTCP), and only the first header is known to fit.
    pub is_whole: bool,
}

impl ControlPacket {
    /// Reads the headers of a datagram. `None` if they are not RTCP's.
    pub fn parse(datagram: &[u8]) -> Option<Self> {
        let sender = datagram.get(HEADER..SHORTEST)?;
        let sender = u32::from_be_bytes([sender[0], sender[1], sender[2], sender[3]]);
        let mut rest = after_packet(datagram)?;
        if datagram[0] & PADDING != 0 && !rest.is_empty() {
            return None;
        }
        let protected = rest.len();
        while !rest.is_empty() {
            match after_packet(rest) {
                // Padding belongs to the last packet.
                Some(after) if after.is_empty() || rest[0] & PADDING == 0 => rest = after,
                _ if protected >= PROTECTION => return Some(Self { sender, is_whole: false }),
                _ => return None,
            }
        }
        Some(Self { sender, is_whole: true })
    }
}

/// The flag of padding in the first byte.
const PADDING: u8 = 0x20;

/// The bytes after the packet at the start. `None` if it is none.
fn after_packet(bytes: &[u8]) -> Option<&[u8]> {
    let ([first, kind, length @ ..], _) = bytes.split_first_chunk::<HEADER>()?;
    let (count, words) = (u16::from(first & 0x1f), u16::from_be_bytes(*length));
    let least = match kind {
        // Sender report: SSRC, sender information of five words, and report blocks of six.
        200 => 6 + 6 * count,
        201 => 1 + 6 * count,
        // Source description and goodbye: a word for each source at least.
        202 | 203 => count,
        // Application-defined, and feedback of RFC 4585: two words.
        204..=206 => 2,
        _ => 1,
    };
    let is_known = EARLY.contains(kind) || ASSIGNED.contains(kind);
    if first >> 6 != 2 || !is_known || words < least {
        return None;
    }
    bytes.get(HEADER + 4 * usize::from(words)..)
}
