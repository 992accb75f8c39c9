//! DCCP packets of which the capture has the beginning only.

use bytes::Bytes;
use whimbrel_wire::PacketType;

/// Options up to this type have no length.
const LAST_SINGLE_BYTE: u8 = 31;

/// Length of the header before the options (RFC 4340, Section 5); `None` if its beginning was not captured,
/// or for a type that is reserved.
pub(super) fn fixed_header_len(captured: &[u8]) -> Option<usize> {
    let kind = captured.get(8)?;
    Some(PacketType::from_number(kind >> 1 & 0xf)?.fixed_header_len(kind & 1 == 1))
}

/// The length of the captured part up to which options are known completely, if the capture ends within the
/// header: the first option that was cut off is unknown as a whole, and so are those behind it.
pub(super) fn known_options(captured: &[u8]) -> Option<usize> {
    let header_len = usize::from(*captured.get(4)?) * 4;
    if header_len <= captured.len() {
        return None;
    }
    let mut at = fixed_header_len(captured)?.min(captured.len());
    while let Some(option) = captured.get(at..) {
        let length = match option {
            [..=LAST_SINGLE_BYTE, ..] => 1,
            [_, length, ..] => usize::from(*length).max(2),
            _ => break,
        };
        if length > option.len() {
            break;
        }
        at += length;
    }
    Some(at)
}

/// The bytes of a packet of `length` bytes. Application data that was not captured is zero; in the place
/// of options that were not captured completely is Padding, whose type is zero.
pub(super) fn with_zeros(captured: &[u8], length: usize) -> Bytes {
    let known = if captured.len() < length { known_options(captured) } else { None };
    let captured = &captured[..known.unwrap_or(captured.len()).min(length)];
    if captured.len() == length {
        return Bytes::copy_from_slice(captured);
    }
    let mut bytes = Vec::with_capacity(length);
    bytes.extend_from_slice(captured);
    bytes.resize(length, 0);
    bytes.into()
}
