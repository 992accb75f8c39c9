//! Encoding and decoding of options and of the option area.

use alloc::vec::Vec;

use bytes::BufMut;

use super::mobility::{self, MobilityOption};
use super::multipath::MultipathOption;
use super::{
    ACK_VECTOR_NONCE_0, ACK_VECTOR_NONCE_1, DATA_CHECKSUM, DATA_DROPPED, DccpOption, ELAPSED_TIME, Elapsed,
    FIRST_CCID_SPECIFIC, FREEZE, FeatureAction, FeatureOption, INIT_COOKIE, LAST_SINGLE_BYTE, MANDATORY,
    MAX_DATA_LEN, MULTIPATH, NDP_COUNT, NdpCount, OptionBytes, Options, PADDING, SLOW_RECEIVER, TIMESTAMP,
    TIMESTAMP_ECHO, UNFREEZE,
};

#[cfg(test)]
mod tests;

/// Decodes an option area with a length that is a multiple of four.
#[inline]
pub(crate) fn decode_options(area: &[u8]) -> Options {
    // Most Data packets have no options.
    if area.is_empty() { Options::new() } else { decode_some_options(area) }
}

fn decode_some_options(area: &[u8]) -> Options {
    let mut options = Options::new();
    let mut rest = area;
    let mut padding = 0;
    while let Some((&kind, after)) = rest.split_first() {
        if kind == PADDING {
            padding += 1;
            rest = after;
            continue;
        }
        push_padding(&mut options, padding);
        padding = 0;
        if kind <= LAST_SINGLE_BYTE {
            options.push(single_byte(kind));
            rest = after;
            continue;
        }
        let Some((data, after)) = split_data(after) else {
            // RFC 4340, Section 5.8: the bytes after an invalid length cannot be decoded.
            options.push(DccpOption::Malformed(OptionBytes::from_slice(rest)));
            return options;
        };
        options.push(from_data(kind, data));
        rest = after;
    }
    // The remainder of the last word is padding added by the codec. "Mandatory Padding" is harmless while a
    // final Mandatory is an error, so this difference must be listed.
    let listed = match options.last() {
        Some(DccpOption::Mandatory) if padding > 0 => (padding & !3).max(1),
        _ => padding & !3,
    };
    push_padding(&mut options, listed);
    options
}

#[inline]
fn push_padding(options: &mut Options, count: usize) {
    for _ in 0..count {
        options.push(DccpOption::Padding);
    }
}

/// Splits the length byte and the data off `rest`, which starts after the type.
fn split_data(rest: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&length, rest) = rest.split_first()?;
    rest.split_at_checked(usize::from(length).checked_sub(2)?)
}

fn single_byte(kind: u8) -> DccpOption {
    match kind {
        PADDING => DccpOption::Padding,
        MANDATORY => DccpOption::Mandatory,
        SLOW_RECEIVER => DccpOption::SlowReceiver,
        _ => DccpOption::Unknown { kind, data: OptionBytes::new() },
    }
}

/// An option of more than one byte; `Unknown` if the data is invalid for its type.
fn from_data(kind: u8, data: &[u8]) -> DccpOption {
    known_from_data(kind, data)
        .unwrap_or_else(|| DccpOption::Unknown { kind, data: OptionBytes::from_slice(data) })
}

fn known_from_data(kind: u8, data: &[u8]) -> Option<DccpOption> {
    Some(match kind {
        INIT_COOKIE => DccpOption::InitCookie(OptionBytes::from_slice(data)),
        NDP_COUNT => DccpOption::NdpCount(NdpCount::from_data(data)?),
        ACK_VECTOR_NONCE_0 | ACK_VECTOR_NONCE_1 => {
            DccpOption::AckVector { nonce: kind == ACK_VECTOR_NONCE_1, cells: OptionBytes::from_slice(data) }
        }
        DATA_DROPPED => DccpOption::DataDropped(OptionBytes::from_slice(data)),
        TIMESTAMP => DccpOption::Timestamp(word(data)?),
        TIMESTAMP_ECHO => {
            let (timestamp, elapsed) = data.split_at_checked(4)?;
            DccpOption::TimestampEcho { timestamp: word(timestamp)?, elapsed: Elapsed::from_data(elapsed)? }
        }
        ELAPSED_TIME => match Elapsed::from_data(data)? {
            Elapsed::Absent => return None,
            elapsed => DccpOption::ElapsedTime(elapsed),
        },
        DATA_CHECKSUM => DccpOption::DataChecksum(word(data)?),
        MULTIPATH => {
            MultipathOption::from_data(data)?;
            DccpOption::Multipath(OptionBytes::from_slice(data))
        }
        FREEZE if data.is_empty() => DccpOption::Freeze,
        UNFREEZE if data.is_empty() => DccpOption::Unfreeze,
        mobility::KEY..=mobility::MOVED => {
            MobilityOption::from_data(kind, data)?;
            DccpOption::Mobility { kind, data: OptionBytes::from_slice(data) }
        }
        FIRST_CCID_SPECIFIC.. => DccpOption::CcidSpecific { kind, data: OptionBytes::from_slice(data) },
        _ => {
            let action = FeatureAction::from_kind(kind)?;
            let (&feature, values) = data.split_first()?;
            DccpOption::Feature(FeatureOption { action, feature, values: OptionBytes::from_slice(values) })
        }
    })
}

fn word(data: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(data.try_into().ok()?))
}

/// `true` if the option can be encoded such that decoding returns the same option. `is_last`: it ends the
/// option area, without padding after it.
pub(crate) fn is_encodable(option: &DccpOption, is_last: bool) -> bool {
    match option {
        DccpOption::Feature(feature) => feature.values.len() < MAX_DATA_LEN,
        DccpOption::InitCookie(data)
        | DccpOption::AckVector { cells: data, .. }
        | DccpOption::DataDropped(data) => data.len() <= MAX_DATA_LEN,
        DccpOption::ElapsedTime(elapsed) => *elapsed != Elapsed::Absent,
        DccpOption::Mobility { kind, data } => MobilityOption::from_data(*kind, data).is_some(),
        DccpOption::Multipath(data) => {
            data.len() <= MAX_DATA_LEN && MultipathOption::from_data(data).is_some()
        }
        DccpOption::CcidSpecific { kind, data } => *kind >= FIRST_CCID_SPECIFIC && data.len() <= MAX_DATA_LEN,
        DccpOption::Unknown { kind: 0..=SLOW_RECEIVER, .. } => false,
        DccpOption::Unknown { kind: 0..=LAST_SINGLE_BYTE, data } => data.is_empty(),
        DccpOption::Unknown { kind, data } => {
            data.len() <= MAX_DATA_LEN && known_from_data(*kind, data).is_none()
        }
        DccpOption::Malformed(bytes) => {
            is_last
                && bytes
                    .split_first()
                    .is_some_and(|(&kind, rest)| kind > LAST_SINGLE_BYTE && split_data(rest).is_none())
        }
        _ => true,
    }
}

/// Encodes an option for which [`is_encodable`] is true.
#[inline]
pub(crate) fn encode_option(option: &DccpOption, out: &mut impl BufMut) {
    let kind = option.kind();
    if let DccpOption::Malformed(bytes) = option {
        return out.put_slice(bytes);
    }
    out.put_u8(kind);
    if kind <= LAST_SINGLE_BYTE {
        return;
    }
    out.put_u8(option.encoded_len() as u8);
    match option {
        DccpOption::Feature(feature) => {
            out.put_u8(feature.feature);
            out.put_slice(&feature.values);
        }
        DccpOption::InitCookie(data)
        | DccpOption::AckVector { cells: data, .. }
        | DccpOption::DataDropped(data)
        | DccpOption::Multipath(data)
        | DccpOption::Mobility { data, .. }
        | DccpOption::CcidSpecific { data, .. }
        | DccpOption::Unknown { data, .. } => out.put_slice(data),
        DccpOption::NdpCount(count) => out.put_uint(count.count(), count.width()),
        DccpOption::Timestamp(word) | DccpOption::DataChecksum(word) => out.put_u32(*word),
        DccpOption::TimestampEcho { timestamp, elapsed } => {
            out.put_u32(*timestamp);
            put_elapsed(*elapsed, out);
        }
        DccpOption::ElapsedTime(elapsed) => put_elapsed(*elapsed, out),
        DccpOption::Padding
        | DccpOption::Mandatory
        | DccpOption::SlowReceiver
        | DccpOption::Freeze
        | DccpOption::Unfreeze
        | DccpOption::Malformed(_) => {}
    }
}

impl DccpOption {
    /// Data 1 to 3 of a Reset caused by this option: its type and the first two bytes of its data, or zeros
    /// if there are none (RFC 4340, Section 5.6, code 5).
    pub(crate) fn reset_data(&self) -> [u8; 3] {
        let mut bytes = Vec::with_capacity(self.encoded_len());
        encode_option(self, &mut bytes);
        // The byte between type and data is the length.
        let data = |index: usize| bytes.get(2 + index).copied().unwrap_or(0);
        [self.kind(), data(0), data(1)]
    }
}

fn put_elapsed(elapsed: Elapsed, out: &mut impl BufMut) {
    match elapsed {
        Elapsed::Absent => {}
        Elapsed::Short(units) => out.put_u16(units),
        Elapsed::Long(units) => out.put_u32(units),
    }
}
