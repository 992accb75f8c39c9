//! AV1 (RTP Payload Format For AV1, version 1.0): the aggregation header and the OBU elements of Section 4.

use super::Content;

/// The type of a sequence header OBU.
const SEQUENCE_HEADER: u8 = 1;

/// The contents of a payload.
pub(super) fn content(payload: &[u8]) -> Content {
    let [header, elements @ ..] = payload else { return Content::default() };
    // Z: the first element continues one of the packet before, and begins without an OBU header.
    let is_continued = header & 0x80 != 0;
    let count = usize::from(header >> 4 & 3);
    let has_parameters = Elements { rest: elements, count, index: 0 }
        .skip(usize::from(is_continued))
        .filter_map(<[u8]>::first)
        .any(|obu| obu >> 3 & 0x0f == SEQUENCE_HEADER);
    // N: the first packet of a coded video sequence, which begins with a key frame.
    Content { has_parameters, begins_keyframe: header & 0x08 != 0 && !is_continued, is_disposable: false }
}

/// The OBU elements of a payload.
struct Elements<'a> {
    rest: &'a [u8],
    /// W: their number, and the last one has no length; 0: each has a length.
    count: usize,
    index: usize,
}

impl<'a> Iterator for Elements<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() || (self.count > 0 && self.index == self.count) {
            return None;
        }
        self.index += 1;
        if self.index == self.count {
            return Some(core::mem::take(&mut self.rest));
        }
        let (length, rest) = leb128(self.rest)?;
        let (element, rest) = rest.split_at_checked(length)?;
        self.rest = rest;
        Some(element)
    }
}

/// A number of variable length (AV1 Bitstream & Decoding Process Specification, Section 4.10.5) and what
/// follows it. `None` if it is longer than five bytes: no packet has such an element.
fn leb128(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut value = 0_u64;
    for (index, byte) in bytes.iter().enumerate().take(5) {
        value |= u64::from(byte & 0x7f) << (7 * index);
        if byte & 0x80 == 0 {
            return Some((usize::try_from(value).ok()?, &bytes[index + 1..]));
        }
    }
    None
}
