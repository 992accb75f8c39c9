//! Encoding of packets (RFC 4340, Section 5).

use alloc::vec::Vec;

use bytes::BufMut;

use crate::{
    EncodeError, Kind, Packet, checksum,
    checksum::PseudoHeader,
    option::{encode_option, is_encodable},
};

#[cfg(test)]
mod tests;

/// Maximum length of a header, limited by Data Offset, in bytes.
pub const MAX_HEADER_LEN: usize = 1020;

/// Maximum length of the fixed header, for Reset and Response: generic, acknowledgement, and one word.
const MAX_FIXED_LEN: usize = 28;

impl Packet {
    /// Length of the header with options and padding, in bytes.
    #[inline]
    pub fn header_len(&self) -> usize {
        let fixed = self.packet_type().fixed_header_len(self.extended);
        if self.options.is_empty() { fixed } else { (fixed + self.options_len()).next_multiple_of(4) }
    }

    /// Length of the packet from the DCCP header to the end of the application data, in bytes.
    #[inline]
    pub fn encoded_len(&self) -> usize {
        self.header_len() + self.payload.len()
    }

    fn options_len(&self) -> usize {
        self.options.iter().map(|option| option.encoded_len()).sum()
    }

    /// Appends the packet to `out` with a Checksum field of zero, as sent in UDP (RFC 6773, Section 3.3).
    /// Over IP, use [`Packet::encode_with_checksum`], or [`checksum::fill`](crate::checksum::fill)
    /// afterwards.
    ///
    /// Of a short sequence number, the low 24 bits are written.
    ///
    /// # Errors
    ///
    /// Returns an error if the packet cannot be encoded, or `out` has no room. Nothing is written then.
    #[inline]
    pub fn encode(&self, out: &mut impl BufMut) -> Result<(), EncodeError> {
        let header_len = self.check()?;
        let length = header_len + self.payload.len();
        if out.remaining_mut() < length {
            return Err(EncodeError::NoRoom(length));
        }
        let (fixed, fixed_len) = self.fixed_header(header_len);
        out.put_slice(&fixed[..fixed_len]);
        if header_len > fixed_len {
            for option in &self.options {
                encode_option(option, out);
            }
            out.put_bytes(0, header_len - fixed_len - self.options_len());
        }
        self.payload.encode(out);
        Ok(())
    }

    /// Appends the packet to `out` with its checksum.
    ///
    /// # Errors
    ///
    /// See [`Packet::encode`].
    pub fn encode_with_checksum(
        &self,
        pseudo_header: &PseudoHeader,
        out: &mut Vec<u8>,
    ) -> Result<(), EncodeError> {
        let start = out.len();
        self.encode(out)?;
        checksum::fill(&mut out[start..], pseudo_header);
        Ok(())
    }

    /// Checks that the packet can be encoded and returns the length of its header.
    #[inline]
    fn check(&self) -> Result<usize, EncodeError> {
        let packet_type = self.packet_type();
        if !self.extended && !packet_type.allows_short_sequence_numbers() {
            return Err(EncodeError::ShortSequenceNumbers(packet_type));
        }
        if self.ccval > 0xf {
            return Err(EncodeError::CcvalTooLarge(self.ccval));
        }
        if self.checksum_coverage.covered(self.payload.len()).is_none() {
            return Err(EncodeError::CoverageTooLarge(self.checksum_coverage.field()));
        }
        let fixed_len = packet_type.fixed_header_len(self.extended);
        if self.options.is_empty() {
            return Ok(fixed_len);
        }
        let last = self.options.len() - 1;
        let length = fixed_len + self.options_len();
        for (index, option) in self.options.iter().enumerate() {
            if !is_encodable(option, index == last && length.is_multiple_of(4)) {
                return Err(EncodeError::InvalidOption(index));
            }
        }
        let header_len = length.next_multiple_of(4);
        if header_len > MAX_HEADER_LEN {
            return Err(EncodeError::HeaderTooLong(header_len));
        }
        Ok(header_len)
    }

    /// The fields before the options, and their length in bytes.
    #[inline]
    fn fixed_header(&self, header_len: usize) -> ([u8; MAX_FIXED_LEN], usize) {
        let mut fixed = [0; MAX_FIXED_LEN];
        fixed[0..2].copy_from_slice(&self.source_port.to_be_bytes());
        fixed[2..4].copy_from_slice(&self.destination_port.to_be_bytes());
        fixed[4] = (header_len / 4) as u8;
        fixed[5] = self.ccval << 4 | self.checksum_coverage.field();
        let type_and_x = (self.packet_type() as u8) << 1 | u8::from(self.extended);
        let mut length;
        if self.extended {
            fixed[8..16].copy_from_slice(&self.sequence.value().to_be_bytes());
            length = 16;
        } else {
            fixed[8..12].copy_from_slice(&self.sequence.low24().to_be_bytes());
            length = 12;
        }
        fixed[8] = type_and_x;
        if let Some(ack) = self.ack() {
            if self.extended {
                fixed[16..24].copy_from_slice(&ack.value().to_be_bytes());
                length = 24;
            } else {
                fixed[12..16].copy_from_slice(&ack.low24().to_be_bytes());
                length = 16;
            }
        }
        let last_word = match self.kind {
            Kind::Request { service_code }
            | Kind::Response { service_code, .. }
            | Kind::Listen { service_code } => service_code.0.to_be_bytes(),
            Kind::Reset { reset, .. } => {
                let [one, two, three] = reset.data;
                [reset.code.into(), one, two, three]
            }
            _ => return (fixed, length),
        };
        fixed[length..length + 4].copy_from_slice(&last_word);
        (fixed, length + 4)
    }
}
