//! H.265 (RFC 7798): NAL unit types of Table 7-1 of the standard, aggregation and fragmentation units of
//! Section 4.4 of the RFC.

use super::{Content, Units, aggregated};

/// Aggregation and fragmentation units.
const AP: u8 = 48;
const FU: u8 = 49;

/// The contents of a payload. Units have a header of two bytes.
pub(super) fn content(payload: &[u8]) -> Content {
    let mut units = Units::default();
    let [first, _, rest @ ..] = payload else { return Content::default() };
    match kind(*first) {
        AP => aggregated(rest)
            .filter_map(|unit| unit.first())
            .for_each(|header| add(&mut units, kind(*header), true)),
        // The type of the fragmented unit is in the third byte, with the flag of its first fragment.
        FU => {
            if let Some(header) = rest.first() {
                add(&mut units, header & 0x3f, header & 0x80 != 0);
            }
        }
        kind => add(&mut units, kind, true),
    }
    units.content()
}

/// The type in the first byte of a unit.
fn kind(first: u8) -> u8 {
    (first >> 1) & 0x3f
}

/// Adds a unit. `is_start`: the unit begins here.
fn add(units: &mut Units, kind: u8, is_start: bool) {
    match kind {
        // Even types below 16: pictures to which no other of their sub-layer refers.
        0..=15 => units.add_slice(false, kind % 2 == 1),
        // Pictures at which decoding can begin: BLA, IDR, CRA and two reserved types.
        16..=23 => units.add_slice(is_start, true),
        24..=31 => units.add_slice(false, true),
        // VPS, SPS, PPS.
        32..=34 => units.add_parameters(),
        _ => {}
    }
}
