//! The datagrams of the repair layer.
//!
//! FECFRAME (RFC 6363, Section 5.5) keeps repair packets out of source flows. Here both share one connection,
//! under one congestion control, and the first byte distinguishes them, like the payload type of
//! RTP (Section 10.2). All numbers are big-endian.
//!
//! | first byte | datagram | layout after it |
//! |---|---|---|
//! | 1 | source | ADU, Explicit Source FEC Payload ID (4) |
//! | 2 | repeat | answer (2), ADU, Explicit Source FEC Payload ID (4) |
//! | 3 | parity | Repair FEC Payload ID (8), repair symbol |
//! | 4 | surplus: a repair symbol in an answer | answer (2), Repair FEC Payload ID (8), repair symbol |
//! | 5 | report | below |
//! | 6 | source or repair in parts with checksums | [`parts`] |
//!
//! The highest bit of the first byte marks the last datagram of an answer, or the last parity of a frame. An
//! *answer* is what a sender sends because of one report: its number (1), and the number of the report (1), 0
//! if the answer was delayed. A repair symbol is as long as the longest of its source symbols.
//!
//! An ADU is what RFC 8681 protects, with flow 0: a header of eight bytes and the datagram of the
//! application. A symbol is one ADU.
//!
//! | ADU | bytes | |
//! |---|---|---|
//! | marks | 1 | 1: last datagram of its frame; 2: begins a group (key frame); 4: no other frame refers to it; 8: parity follows; 16: it was held at the sender after its capture |
//! | frame | 2 | number of the frame |
//! | time | 3 | when the frame was captured, in units of 32 us |
//! | index | 1 | datagrams of the frame before this one, 255 for 255 or more |
//! | count | 1 | datagrams of the frame, 0 if not known or more than 255 |
//!
//! | report | bytes | |
//! |---|---|---|
//! | number | 1 | from 1 to 255, then 1 again |
//! | next | 4 | the first symbol that is not known to exist |
//! | echo | 2 | next minus the newest source symbol that arrived, 0 if none |
//! | hold | 2 | time since its arrival in units of 64 us |
//! | lead | 2 | time from its arrival until its delivery is due, in units of 64 us, negative if it was late |
//! | answer | 1 | number of the newest answer that is complete |
//! | lost | 3 | 1 and the number of the newest frame that was given up or late, or zeros; the first byte plus 2 or 4 if the newest losses are the radio's or congestion, plus 8 if more should have arrived since the newest symbol, and plus 16 times the number of the frames right before it that were given up with it, at most 15 |
//! | arrivals | 1 + n | number of bytes, at most 16, and bits: bit i of them, lowest first, is 1 if symbol next - 1 - i arrived as a source packet |
//! | wanted | 2 + 1 + n | next minus the first symbol of the bits; number of bytes, at most 64, and bits: 1 if the symbol is wanted |
//!
//! A *wanted* symbol is one that was lost and that the receiver's repair symbols do not replace. Lost reports
//! do no harm: each has all.

use alloc::vec::Vec;
use core::fmt;

use whimbrel_units::{Duration, Instant};

use crate::channel::Cause;
use crate::fecframe::{ADUI_HEADER, Esi, RepairId};
use parts::Parts;

pub mod parts;

/// Bytes of the header of an ADU.
pub const ADU_HEADER: usize = 8;
/// Bytes that a source packet adds to a datagram of the application.
pub const SOURCE_OVERHEAD: usize = 1 + ADU_HEADER + Esi::LEN;
/// Bytes by which a repair packet in an answer is longer than the longest datagram of the application in its
/// window: first byte, answer, Repair FEC Payload ID, and the two headers of the ADU.
pub const REPAIR_OVERHEAD: usize = 1 + 2 + RepairId::LEN + ADUI_HEADER + ADU_HEADER;
/// First byte of a report.
pub const REPORT: u8 = 5;
/// Of the marks of a report.
const OVERDUE: u8 = 8;
/// The longest report, with its checksum where datagrams go in parts.
pub const MAX_REPORT: usize = 1 + 16 + 1 + ARRIVAL_BYTES + 3 + WANTED_BYTES + 2;

const ARRIVAL_BYTES: usize = 16;
const WANTED_BYTES: usize = 64;
const LAST: u8 = 0x80;
const TIME_UNIT: u64 = 32_000;
const HOLD_UNIT: u64 = 64_000;

/// The role of a frame for others.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Role {
    /// The frame refers to frames before it, and frames after it refer to it.
    #[default]
    Inner,
    /// The frame begins a group: it refers to no other (a key frame).
    Start,
    /// No other frame refers to it.
    Disposable,
}

/// The header of an ADU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AduHeader {
    /// Number of the frame.
    pub frame: u16,
    /// When it was captured, modulo 2^24, in units of 32 us.
    pub time: u32,
    /// Datagrams of the frame before this one; 255 for more.
    pub index: u8,
    /// Datagrams of the frame, if known and at most 255.
    pub count: Option<u8>,
    /// The last datagram of its frame.
    pub is_last: bool,
    /// The role of the frame.
    pub role: Role,
    /// Parity follows this datagram.
    pub has_parity: bool,
    /// The datagram was held at the sender after its capture, so that its time until its arrival includes
    /// more than the path.
    pub has_waited: bool,
}

impl AduHeader {
    /// The timestamp for an instant.
    #[must_use]
    pub const fn time_of(at: Instant) -> u32 {
        (at.as_nanos() / TIME_UNIT) as u32 & 0xff_ffff
    }

    /// Nanoseconds of a difference of timestamps: the nearer way around.
    #[must_use]
    pub const fn difference(later: u32, earlier: u32) -> i64 {
        // 24 bits, moved to the upper end of 32 for their sign.
        let units = (later.wrapping_sub(earlier) << 8) as i32 >> 8;
        units as i64 * TIME_UNIT as i64
    }

    /// Appends the header.
    pub fn encode(self, out: &mut Vec<u8>) {
        let role = match self.role {
            Role::Inner => 0,
            Role::Start => 2,
            Role::Disposable => 4,
        };
        let [frame0, frame1] = self.frame.to_be_bytes();
        let [_, t0, t1, t2] = self.time.to_be_bytes();
        let count = self.count.unwrap_or(0);
        let marks =
            role | u8::from(self.is_last) | u8::from(self.has_parity) << 3 | u8::from(self.has_waited) << 4;
        out.extend_from_slice(&[marks, frame0, frame1, t0, t1, t2, self.index, count]);
    }

    /// Splits an ADU into the header and the datagram of the application.
    #[must_use]
    pub fn decode(adu: &[u8]) -> Option<(Self, &[u8])> {
        let (&[marks, frame0, frame1, t0, t1, t2, index, count], payload) = adu.split_first_chunk()?;
        let role = match marks & 6 {
            2 => Role::Start,
            4 => Role::Disposable,
            _ => Role::Inner,
        };
        let header = Self {
            frame: u16::from_be_bytes([frame0, frame1]),
            time: u32::from_be_bytes([0, t0, t1, t2]),
            index,
            count: (count > 0).then_some(count),
            is_last: marks & 1 == 1,
            role,
            has_parity: marks & 8 != 0,
            has_waited: marks & 16 != 0,
        };
        Some((header, payload))
    }
}

/// The answer that a datagram belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answer {
    /// Its number.
    pub number: u8,
    /// The report that caused it, 0 if it was delayed.
    pub report: u8,
    /// The datagram is the last of the answer.
    pub is_last: bool,
}

impl Answer {
    /// Takes the answer from the bytes behind the first byte of a datagram, if one with that first byte has
    /// any. `None` if they end before.
    fn take(first: u8, rest: &[u8]) -> Option<(Option<Self>, &[u8])> {
        if !matches!(first & !LAST, 2 | 4) {
            return Some((None, rest));
        }
        let (&[number, report], rest) = rest.split_first_chunk()?;
        Some((Some(Self { number, report, is_last: first & LAST != 0 }), rest))
    }
}

/// A datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Datagram<'a> {
    /// A source packet, or its repetition.
    Source {
        /// The answer in which it is repeated.
        answer: Option<Answer>,
        /// Header and payload.
        adu: &'a [u8],
        /// Its symbol.
        esi: Esi,
    },
    /// A repair packet.
    Repair {
        /// The answer in which it is sent; parity belongs to none.
        answer: Option<Answer>,
        /// The packet is the last parity of a frame.
        ends_parity: bool,
        /// Its window.
        id: RepairId,
        /// The repair symbol, up to the end of the longest of its source symbols.
        symbol: &'a [u8],
    },
    /// A report.
    Report(Report),
    /// A source or repair packet in parts.
    Parts(Parts<'a>),
}

/// Error in a datagram of this layer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum WireError {
    /// The first byte has no meaning.
    UnknownKind(u8),
    /// The datagram is shorter than its fields.
    TooShort {
        /// Its bytes.
        bytes: usize,
    },
    /// A field has a value that is not allowed.
    Invalid(&'static str),
    /// The head of a datagram in parts is damaged.
    Damaged,
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownKind(kind) => write!(f, "unknown kind {kind} of repair datagram"),
            Self::TooShort { bytes } => {
                write!(f, "a repair datagram of {bytes} bytes ends before its fields")
            }
            Self::Damaged => write!(f, "the head of a repair datagram is damaged"),
            Self::Invalid(field) => write!(f, "invalid {field} in a repair datagram"),
        }
    }
}

impl core::error::Error for WireError {}

impl<'a> Datagram<'a> {
    /// Reads a datagram.
    ///
    /// # Errors
    /// If the bytes are none.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, WireError> {
        let short = WireError::TooShort { bytes: bytes.len() };
        let (&first, rest) = bytes.split_first().ok_or(short)?;
        let kind = first & !LAST;
        let (answer, rest) = Answer::take(first, rest).ok_or(short)?;
        match kind {
            1 | 2 => {
                let (adu, esi) = Esi::decode(rest).ok_or(short)?;
                Ok(Self::Source { answer, adu, esi })
            }
            3 | 4 => {
                let (id, symbol) = RepairId::decode(rest).ok_or(short)?;
                Ok(Self::Repair { answer, ends_parity: ends_parity(first), id, symbol })
            }
            REPORT => Report::decode(rest, short).map(Self::Report),
            parts::KIND if rest.first() == Some(&REPORT) => match Self::decode(parts::open_report(bytes)?)? {
                Self::Report(report) => Ok(Self::Report(report)),
                _ => Err(WireError::Invalid("kind in parts")),
            },
            parts::KIND => Parts::decode(bytes).map(Self::Parts),
            _ => Err(WireError::UnknownKind(first)),
        }
    }
}

/// `true` if the bytes are a report, if anything.
#[must_use]
pub fn is_report(bytes: &[u8]) -> bool {
    matches!(bytes, [REPORT, ..] | [parts::KIND, REPORT, ..])
}

/// Reads a datagram of an end whose datagrams go in parts, or as a whole. Others may be damaged, or are not
/// understood.
pub(crate) fn decode(bytes: &[u8], in_parts: bool) -> Result<Datagram<'_>, WireError> {
    match bytes.first() {
        Some(&first) if (first == parts::KIND) != in_parts => Err(WireError::UnknownKind(first)),
        _ => Datagram::decode(bytes),
    }
}

/// Appends the first byte and the answer's number of a source packet.
pub fn begin_source(answer: Option<Answer>, out: &mut Vec<u8>) {
    begin(1, answer, false, out);
}

/// Appends the first byte and the answer's number of a repair packet, the last parity of a frame or another.
pub fn begin_repair(answer: Option<Answer>, ends_parity: bool, out: &mut Vec<u8>) {
    begin(3, answer, ends_parity, out);
}

fn begin(kind: u8, answer: Option<Answer>, ends_parity: bool, out: &mut Vec<u8>) {
    match answer {
        None => out.push(kind | if ends_parity { LAST } else { 0 }),
        Some(Answer { number, report, is_last }) => {
            out.extend_from_slice(&[(kind + 1) | if is_last { LAST } else { 0 }, number, report]);
        }
    }
}

/// Received and wanted symbols.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Report {
    /// Its number.
    pub number: u8,
    /// The first symbol that is not known to exist.
    pub next: Esi,
    /// The newest source symbol that arrived as a source packet.
    pub echo: Option<Esi>,
    /// The time since its arrival.
    pub hold: Duration,
    /// More should have arrived in that time, by the receiver's clock: it has waited for as long as the
    /// arrivals vary.
    pub is_overdue: bool,
    /// Nanoseconds from its arrival until its delivery is due; negative if it was late.
    pub lead: i64,
    /// The newest answer that is complete.
    pub answer: u8,
    /// The newest frame that was given up, or repaired more than half a frame after it was due.
    pub lost: Option<u16>,
    /// Frames right before it that were given up with it, at most [`Report::MOST_LOST_BEFORE`].
    pub lost_before: u8,
    /// The cause of the newest losses, by the receiver's classifier.
    pub cause: Cause,
    /// Bit i is set if the symbol `next - 1 - i` arrived as a source packet.
    pub arrivals: u128,
    /// The symbol of the first bit of `wanted`.
    pub first: Esi,
    wanted: [u64; WANTED_BYTES / 8],
}

impl Report {
    /// A report that wants nothing.
    #[must_use]
    pub const fn new(number: u8, next: Esi) -> Self {
        Self {
            number,
            next,
            echo: None,
            hold: Duration::ZERO,
            is_overdue: false,
            lead: 0,
            answer: 0,
            lost: None,
            lost_before: 0,
            cause: Cause::Unknown,
            arrivals: 0,
            first: next,
            wanted: [0; WANTED_BYTES / 8],
        }
    }
    /// The most symbols that a report can want.
    pub const MOST_WANTED: u32 = WANTED_BYTES as u32 * 8;

    /// The most frames that were given up with the newest.
    pub const MOST_LOST_BEFORE: u8 = 15;

    /// Wants a symbol. Returns `false` if it lies outside the bits.
    pub fn want(&mut self, esi: Esi) -> bool {
        let at = esi.since(self.first);
        if !(0..Self::MOST_WANTED as i32).contains(&at) {
            return false;
        }
        self.wanted[at as usize / 64] |= 1 << (at % 64);
        true
    }

    /// `true` if the symbol is wanted.
    #[must_use]
    pub fn wants(&self, esi: Esi) -> bool {
        let at = esi.since(self.first);
        (0..Self::MOST_WANTED as i32).contains(&at) && self.wanted[at as usize / 64] >> (at % 64) & 1 == 1
    }

    /// Symbols that are wanted.
    #[must_use]
    pub fn wanted_count(&self) -> u32 {
        self.wanted.iter().map(|word| word.count_ones()).sum()
    }

    /// `true` if the symbol arrived as a source packet; `None` if the report does not say.
    #[must_use]
    pub fn arrived(&self, esi: Esi) -> Option<bool> {
        let back = self.next.plus(u32::MAX).since(esi);
        (0..128).contains(&back).then(|| self.arrivals >> back & 1 == 1)
    }

    /// Appends the datagram.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(REPORT);
        out.push(self.number);
        out.extend_from_slice(&self.next.0.to_be_bytes());
        let echo = self.echo.and_then(|echo| u16::try_from(self.next.since(echo)).ok()).unwrap_or(0);
        out.extend_from_slice(&echo.to_be_bytes());
        let hold = u16::try_from(self.hold.as_nanos() / HOLD_UNIT).unwrap_or(u16::MAX);
        out.extend_from_slice(&hold.to_be_bytes());
        let lead = self.lead / HOLD_UNIT as i64;
        let lead = lead.clamp(i16::MIN.into(), i16::MAX.into()) as i16;
        out.extend_from_slice(&lead.to_be_bytes());
        out.push(self.answer);
        let [high, low] = self.lost.unwrap_or(0).to_be_bytes();
        let cause = match self.cause {
            Cause::Unknown => 0,
            Cause::Radio => 2,
            Cause::Congestion => 4,
        };
        let before = self.lost_before.min(Self::MOST_LOST_BEFORE) << 4;
        let overdue = if self.is_overdue { OVERDUE } else { 0 };
        out.extend_from_slice(&[u8::from(self.lost.is_some()) | cause | overdue | before, high, low]);
        put_bits(&self.arrivals.to_le_bytes(), out);
        let back = u16::try_from(self.next.since(self.first)).unwrap_or(0);
        out.extend_from_slice(&back.to_be_bytes());
        let mut bytes = [0; WANTED_BYTES];
        for (chunk, word) in bytes.chunks_exact_mut(8).zip(&self.wanted) {
            chunk.copy_from_slice(&word.to_le_bytes());
        }
        put_bits(&bytes, out);
    }

    fn decode(bytes: &[u8], short: WireError) -> Result<Self, WireError> {
        let (&[number, n0, n1, n2, n3, e0, e1, h0, h1, d0, d1, answer, marks, l0, l1], rest) =
            bytes.split_first_chunk().ok_or(short)?;
        let next = Esi(u32::from_be_bytes([n0, n1, n2, n3]));
        let (mut arrivals, mut wanted) = ([0; ARRIVAL_BYTES], [0; WANTED_BYTES]);
        let rest = take_bits(rest, &mut arrivals, "arrivals", short)?;
        let (&[b0, b1], rest) = rest.split_first_chunk().ok_or(short)?;
        let rest = take_bits(rest, &mut wanted, "wanted symbols", short)?;
        if !rest.is_empty() {
            return Err(WireError::Invalid("length of a report"));
        }
        let echo = u16::from_be_bytes([e0, e1]);
        let mut report = Self {
            number,
            next,
            echo: (echo > 0).then(|| next.plus(u32::from(echo).wrapping_neg())),
            hold: Duration::from_nanos(u64::from(u16::from_be_bytes([h0, h1])) * HOLD_UNIT),
            is_overdue: marks & OVERDUE != 0,
            lead: i64::from(i16::from_be_bytes([d0, d1])) * HOLD_UNIT as i64,
            answer,
            lost: (marks & 1 == 1).then(|| u16::from_be_bytes([l0, l1])),
            lost_before: marks >> 4,
            cause: match marks & 6 {
                2 => Cause::Radio,
                4 => Cause::Congestion,
                _ => Cause::Unknown,
            },
            arrivals: u128::from_le_bytes(arrivals),
            first: next.plus(u32::from(u16::from_be_bytes([b0, b1])).wrapping_neg()),
            wanted: [0; WANTED_BYTES / 8],
        };
        for (word, chunk) in report.wanted.iter_mut().zip(wanted.chunks_exact(8)) {
            *word = chunk.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
        }
        Ok(report)
    }
}

/// `true` if the first byte of a datagram marks a frame's last parity.
fn ends_parity(first: u8) -> bool {
    first == LAST | 3
}

/// Appends the number of the bytes up to the last that is not zero, and these.
fn put_bits(bits: &[u8], out: &mut Vec<u8>) {
    let length = bits.iter().rposition(|&byte| byte != 0).map_or(0, |last| last + 1);
    out.push(length as u8);
    out.extend_from_slice(&bits[..length]);
}

fn take_bits<'a>(
    bytes: &'a [u8],
    bits: &mut [u8],
    field: &'static str,
    short: WireError,
) -> Result<&'a [u8], WireError> {
    let (&length, rest) = bytes.split_first().ok_or(short)?;
    let target = bits.get_mut(..usize::from(length)).ok_or(WireError::Invalid(field))?;
    let (taken, rest) = rest.split_at_checked(target.len()).ok_or(short)?;
    target.copy_from_slice(taken);
    Ok(rest)
}

#[cfg(test)]
mod tests;
