//! A datagram in parts with checksums, for paths that deliver damaged packets.
//!
//! | first byte | datagram | layout after it |
//! |---|---|---|
//! | 6 | in parts | first byte of the datagram, head, number of parts (1), checksum of each part (2), checksum of all before it (2), body |
//!
//! The datagram is a source, a repeat, parity or a surplus. Its *head* has what is of use only if it is
//! whole: the answer, then the Explicit Source FEC Payload ID and the header of the ADU, or the Repair FEC
//! Payload ID. The body is the rest: the datagram of the application, or the repair symbol. A *part* is what
//! of the body lies in one *column*: bytes 256 c to 256 c + 255 of the symbol. The code works on each column
//! alone, so that a damaged part is an erasure of its column and the whole parts of its packet are used.
//!
//! A report (first bytes 6 and 5) has one checksum, at its end.
//!
//! The checksum is the CRC-16 of X.25 (ITU-T; CRC-16/IBM-SDLC in the catalogue): of damaged parts, one in
//! 65,536 counts as whole, and none with a single burst of at most 16 bits.

use alloc::vec::Vec;

use crc::{CRC_16_IBM_SDLC, Crc, Table};

use super::{ADU_HEADER, AduHeader, Answer, Datagram, LAST, WireError, ends_parity};
use crate::fecframe::{ADUI_HEADER, Esi, RepairId};

/// First byte of a datagram in parts.
pub(super) const KIND: u8 = 6;
/// Bytes of a column.
pub const COLUMN: usize = 256;
/// Bytes of a symbol before the datagram of the application.
pub(crate) const BEFORE: usize = ADUI_HEADER + ADU_HEADER;

const CHECKSUM: Crc<u16, Table<1>> = Crc::<u16, Table<1>>::new(&CRC_16_IBM_SDLC);

/// Columns of a symbol of that many bytes.
#[must_use]
pub const fn columns(symbol_size: usize) -> usize {
    if symbol_size == 0 { 1 } else { symbol_size.div_ceil(COLUMN) }
}

/// Bytes by which a datagram in parts is longer than the same as a whole: of at most that many bytes.
#[must_use]
pub const fn overhead(size: usize) -> usize {
    // Kind, number of parts, checksum of the head, and checksums of the parts.
    1 + 1 + 2 + 2 * columns(size)
}

/// Kind of a datagram in parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Head {
    /// A source packet, or its repetition.
    Source {
        /// The header of the ADU.
        header: AduHeader,
        /// Its symbol.
        esi: Esi,
    },
    /// A repair packet.
    Repair {
        /// The packet is the last parity of a frame.
        ends_parity: bool,
        /// Its window.
        id: RepairId,
    },
}

/// A datagram in parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Parts<'a> {
    /// Its kind.
    pub head: Head,
    /// The answer in which it is sent.
    pub answer: Option<Answer>,
    checksums: &'a [u8],
    body: &'a [u8],
}

impl<'a> Parts<'a> {
    /// Bytes of its symbol before the body.
    fn before(&self) -> usize {
        match self.head {
            Head::Source { .. } => BEFORE,
            Head::Repair { .. } => 0,
        }
    }

    /// Bytes of the body.
    #[must_use]
    pub fn length(&self) -> usize {
        self.body.len()
    }

    /// The parts, by column; `None` for those that are damaged.
    pub fn iter(&self) -> impl Iterator<Item = Option<&'a [u8]>> {
        let checksums = self.checksums.chunks_exact(2);
        split(self.body, self.before())
            .zip(checksums)
            .map(|(part, checksum)| (CHECKSUM.checksum(part).to_be_bytes() == checksum).then_some(part))
    }

    /// `true` if no part is damaged.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.iter().all(|part| part.is_some())
    }

    pub(super) fn decode(bytes: &'a [u8]) -> Result<Self, WireError> {
        let short = WireError::TooShort { bytes: bytes.len() };
        let (&[_, first], rest) = bytes.split_first_chunk().ok_or(short)?;
        let (answer, rest) = Answer::take(first, rest).ok_or(short)?;
        let (head, rest) = match first & !LAST {
            1 | 2 => {
                let (&esi, rest) = rest.split_first_chunk().ok_or(short)?;
                let (adu, rest) = rest.split_at_checked(ADU_HEADER).ok_or(short)?;
                let (header, _) = AduHeader::decode(adu).ok_or(short)?;
                (Head::Source { header, esi: Esi(u32::from_be_bytes(esi)) }, rest)
            }
            3 | 4 => {
                let (id, rest) = RepairId::decode(rest).ok_or(short)?;
                (Head::Repair { ends_parity: ends_parity(first), id }, rest)
            }
            _ => return Err(WireError::UnknownKind(first)),
        };
        let (&count, rest) = rest.split_first().ok_or(short)?;
        let (checksums, rest) = rest.split_at_checked(2 * usize::from(count)).ok_or(short)?;
        let (&checksum, body) = rest.split_first_chunk().ok_or(short)?;
        let before = &bytes[..bytes.len() - rest.len()];
        if CHECKSUM.checksum(before).to_be_bytes() != checksum {
            return Err(WireError::Damaged);
        }
        let parts = Self { head, answer, checksums, body };
        if split(body, parts.before()).count() != usize::from(count) {
            return Err(WireError::Invalid("number of parts"));
        }
        Ok(parts)
    }
}

/// The parts of a body that begins at byte `before` of its symbol: at least one.
fn split(body: &[u8], before: usize) -> impl Iterator<Item = &[u8]> {
    let (first, rest) = body.split_at(body.len().min(COLUMN - before));
    core::iter::once(first).chain(rest.chunks(COLUMN))
}

/// Appends a source or repair datagram, as a whole, in parts.
///
/// # Errors
/// If it is another datagram, or none.
pub fn divide(whole: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
    let start = out.len();
    let (body, before) = match Datagram::decode(whole)? {
        Datagram::Source { answer, adu, esi } => {
            let (header, body) =
                adu.split_at_checked(ADU_HEADER).ok_or(WireError::TooShort { bytes: whole.len() })?;
            begin(whole, answer, out);
            esi.encode(out);
            out.extend_from_slice(header);
            (body, BEFORE)
        }
        Datagram::Repair { answer, id, symbol, .. } => {
            begin(whole, answer, out);
            id.encode(out);
            (symbol, 0)
        }
        Datagram::Report(_) | Datagram::Parts(_) => return Err(WireError::Invalid("kind in parts")),
    };
    let count = split(body, before).count();
    out.push(u8::try_from(count).map_err(|_| WireError::Invalid("number of parts"))?);
    for part in split(body, before) {
        out.extend_from_slice(&CHECKSUM.checksum(part).to_be_bytes());
    }
    let checksum = CHECKSUM.checksum(&out[start..]);
    out.extend_from_slice(&checksum.to_be_bytes());
    out.extend_from_slice(body);
    Ok(())
}

/// Turns a report into one with a checksum: a report has no parts.
pub(crate) fn seal_report(report: &mut Vec<u8>) {
    report.insert(0, KIND);
    let checksum = CHECKSUM.checksum(report);
    report.extend_from_slice(&checksum.to_be_bytes());
}

/// The report in the bytes after the first.
pub(super) fn open_report(bytes: &[u8]) -> Result<&[u8], WireError> {
    let (sealed, checksum) = bytes.split_last_chunk().ok_or(WireError::TooShort { bytes: bytes.len() })?;
    if CHECKSUM.checksum(sealed).to_be_bytes() != *checksum {
        return Err(WireError::Damaged);
    }
    sealed.get(1..).ok_or(WireError::TooShort { bytes: bytes.len() })
}

/// Appends the kinds, and the answer.
fn begin(whole: &[u8], answer: Option<Answer>, out: &mut Vec<u8>) {
    out.push(KIND);
    out.extend(whole.first());
    out.extend(answer.iter().flat_map(|answer| [answer.number, answer.report]));
}

#[cfg(test)]
mod tests;
