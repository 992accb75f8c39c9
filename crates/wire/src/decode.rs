//! Decoding of packets (RFC 4340, Section 5; Section 8.5, Step 1).

use bytes::Bytes;

use crate::{
    ChecksumCoverage, DecodeError, DecodeErrorKind, Kind, Packet, PacketType, Payload, Reset, SeqNo,
    ServiceCode, option::decode_options,
};

#[cfg(test)]
mod tests;

/// Minimum length of a header: generic, with short sequence numbers.
pub(crate) const MIN_HEADER_LEN: usize = 12;

// Offsets of the fields of the generic header.
const DATA_OFFSET: usize = 4;
const CCVAL_AND_COVERAGE: usize = 5;
const TYPE_AND_X: usize = 8;

impl Packet {
    /// Decodes a packet that starts at its DCCP header and ends with its application data, which is not
    /// copied but shared with `bytes`.
    ///
    /// This is Step 1 of RFC 4340, Section 8.5, except for the checksum: over IP,
    /// [`checksum::verify`](crate::checksum::verify) must be called as well; inside UDP there is none (RFC
    /// 6773, Section 3.3). Reserved bits are ignored. Invalid options are decoded as options: see
    /// [`option`](crate::option).
    ///
    /// # Errors
    ///
    /// An error of Step 1. The packet must then be dropped without an answer.
    #[inline]
    pub fn decode(bytes: &Bytes) -> Result<Self, DecodeError> {
        decode_with(bytes, |header_len| bytes.slice(header_len..))
    }

    /// The counterpart of [`Packet::decode`] for borrowed bytes: the application data is copied.
    ///
    /// # Errors
    ///
    /// See [`Packet::decode`].
    pub fn decode_slice(bytes: &[u8]) -> Result<Self, DecodeError> {
        decode_with(bytes, |header_len| Bytes::copy_from_slice(&bytes[header_len..]))
    }
}

/// Decodes a packet. `data_from` returns the application data, if there are any, from the given offset on.
#[inline(always)]
fn decode_with(bytes: &[u8], data_from: impl FnOnce(usize) -> Bytes) -> Result<Packet, DecodeError> {
    let error = |kind, offset| Err(DecodeError { kind, offset });
    let Some((generic, _)) = bytes.split_first_chunk::<MIN_HEADER_LEN>() else {
        return error(DecodeErrorKind::Truncated, bytes.len());
    };
    let extended = generic[TYPE_AND_X] & 1 == 1;
    let number = generic[TYPE_AND_X] >> 1 & 0xf;
    let Some(packet_type) = PacketType::from_number(number) else {
        return error(DecodeErrorKind::ReservedType(number), TYPE_AND_X);
    };
    if !extended && !packet_type.allows_short_sequence_numbers() {
        return error(DecodeErrorKind::ShortSequenceNumbers(packet_type), TYPE_AND_X);
    }
    let words = generic[DATA_OFFSET];
    let header_len = usize::from(words) * 4;
    let fixed_len = packet_type.fixed_header_len(extended);
    if header_len < fixed_len {
        return error(DecodeErrorKind::DataOffsetTooSmall(words), DATA_OFFSET);
    }
    let Some((header, data)) = bytes.split_at_checked(header_len) else {
        return error(DecodeErrorKind::DataOffsetTooLarge(words), DATA_OFFSET);
    };
    let checksum_coverage = ChecksumCoverage::from_field(generic[CCVAL_AND_COVERAGE]);
    if checksum_coverage.covered(data.len()).is_none() {
        let kind = DecodeErrorKind::CoverageTooLarge(checksum_coverage.field());
        return error(kind, CCVAL_AND_COVERAGE);
    }
    let (fixed, options) = header.split_at(fixed_len);
    let sequence = if extended { long_number(fixed, 10) } else { short_number(fixed, 9) };
    Ok(Packet {
        source_port: u16::from_be_bytes([generic[0], generic[1]]),
        destination_port: u16::from_be_bytes([generic[2], generic[3]]),
        ccval: generic[CCVAL_AND_COVERAGE] >> 4,
        checksum_coverage,
        extended,
        sequence,
        kind: decode_kind(packet_type, extended, fixed),
        options: decode_options(options),
        payload: if data.is_empty() { Payload::EMPTY } else { Payload::Bytes(data_from(header_len)) },
    })
}

/// Decodes the type-specific fields of a header of the type's fixed length.
#[inline]
fn decode_kind(packet_type: PacketType, extended: bool, fixed: &[u8]) -> Kind {
    let ack = || if extended { long_number(fixed, 18) } else { short_number(fixed, 13) };
    // Service Code and Reset fields are at the end of the fixed header of their types.
    let last_word = || fixed.last_chunk().copied().unwrap_or_default();
    let service_code = || ServiceCode(u32::from_be_bytes(last_word()));
    match packet_type {
        PacketType::Request => Kind::Request { service_code: service_code() },
        PacketType::Response => Kind::Response { ack: ack(), service_code: service_code() },
        PacketType::Data => Kind::Data,
        PacketType::Ack => Kind::Ack { ack: ack() },
        PacketType::DataAck => Kind::DataAck { ack: ack() },
        PacketType::CloseReq => Kind::CloseReq { ack: ack() },
        PacketType::Close => Kind::Close { ack: ack() },
        PacketType::Reset => {
            let [code, data @ ..] = last_word();
            Kind::Reset { ack: ack(), reset: Reset::with_data(code.into(), data) }
        }
        PacketType::Sync => Kind::Sync { ack: ack() },
        PacketType::SyncAck => Kind::SyncAck { ack: ack() },
        PacketType::Listen => Kind::Listen { service_code: service_code() },
    }
}

#[inline]
fn long_number(bytes: &[u8], at: usize) -> SeqNo {
    // The two bytes before the number are reserved or, in the generic header, type and reserved: including
    // them makes a single load, and `new` masks them off.
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at - 2..at + 6]);
    SeqNo::new(u64::from_be_bytes(word))
}

#[inline]
fn short_number(bytes: &[u8], at: usize) -> SeqNo {
    SeqNo::new(u64::from(u32::from_be_bytes([0, bytes[at], bytes[at + 1], bytes[at + 2]])))
}
