//! H.264 (RFC 6184): NAL unit types of Table 7-1 of the standard, aggregation and fragmentation units of
//! Section 5 of the RFC.

use super::{Content, Units, aggregated};

/// Aggregation and fragmentation units. The interleaved modes (STAP-B, MTAPs, FU-B) are rare, and treated as
/// unknown.
const STAP_A: u8 = 24;
const FU_A: u8 = 28;

/// The contents of a payload.
pub(super) fn content(payload: &[u8]) -> Content {
    let mut units = Units::default();
    match payload {
        [first, rest @ ..] if first & 0x1f == STAP_A => {
            aggregated(rest)
                .filter_map(|unit| unit.first())
                .for_each(|header| add(&mut units, *header, true));
        }
        // The type of the fragmented unit is in the second byte, with the flag of its first fragment; its NRI
        // is in the first.
        [first, header, ..] if first & 0x1f == FU_A => {
            add(&mut units, first & 0x60 | header & 0x1f, header & 0x80 != 0);
        }
        [first, ..] => add(&mut units, *first, true),
        [] => {}
    }
    units.content()
}

/// Adds a unit by its header. `is_start`: the unit begins here.
fn add(units: &mut Units, header: u8, is_start: bool) {
    let is_reference = header & 0x60 != 0;
    match header & 0x1f {
        // Slices and their partitions; slices of extensions and auxiliary pictures.
        1..=4 | 19..=21 => units.add_slice(false, is_reference),
        // A slice of an IDR picture.
        5 => units.add_slice(is_start, true),
        // Parameter sets, an extension of one, and parameter sets of extensions.
        7 | 8 | 13 | 15 => units.add_parameters(),
        _ => {}
    }
}
