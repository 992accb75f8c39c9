//! VP8 (RFC 7741): the payload descriptor of Section 4.2, and the payload header of Section 4.3.

use super::Content;

/// The contents of a payload.
pub(super) fn content(payload: &[u8]) -> Content {
    let [first, rest @ ..] = payload else { return Content::default() };
    // The first packet of a frame: the beginning of partition 0.
    let is_start = first & 0x10 != 0 && first & 0x0f == 0;
    let header = if first & 0x80 == 0 { rest.first() } else { after_extension(rest).and_then(<[u8]>::first) };
    // Bit 0 of the payload header is set in frames that refer to others (RFC 6386, Section 9.1).
    let begins_keyframe = is_start && header.is_some_and(|header| header & 1 == 0);
    Content {
        has_parameters: false,
        begins_keyframe,
        // N: no other frame refers to this one.
        is_disposable: first & 0x20 != 0 && !begins_keyframe,
    }
}

/// The bytes after the extended part of a descriptor.
fn after_extension(rest: &[u8]) -> Option<&[u8]> {
    let (flags, rest) = rest.split_first()?;
    let has = |flag: u8| flags & flag != 0;
    // I: the picture's number, in two bytes if the first has its highest bit set.
    let picture = match has(0x80) {
        true => 1 + usize::from(rest.first()? >> 7),
        false => 0,
    };
    // L: TL0PICIDX; T or K: a byte for both.
    rest.get(picture + usize::from(has(0x40)) + usize::from(has(0x20) || has(0x10))..)
}
