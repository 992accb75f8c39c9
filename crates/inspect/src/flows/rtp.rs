//! RTP streams in a UDP flow (RFC 3550).
//!
//! RTP has no port and no magic number of its own: a stream is RTP by evidence, a constant SSRC with
//! advancing sequence numbers.

use whimbrel_control::reordering::LatenessMeter;
use whimbrel_units::Duration;
use whimbrel_wire::SeqNo;

use super::Tally;
use crate::follow::sequence::{Sequence, SequencePlace};
use crate::segment::{Datagram, Segment};

mod frames;
mod jitter;

#[cfg(test)]
mod tests;

pub(crate) use frames::Frames;
pub(crate) use jitter::Jitter;

/// Maximum number of sources of a flow that may be RTP.
const MAX_STREAMS: usize = 16;
/// Payload types that cannot be distinguished from RTCP (RFC 5761, Section 4), without the marker bit.
const LIKE_RTCP: core::ops::RangeInclusive<u8> = 64..=95;
/// Packets in order from which a source is RTP, and the distance of their numbers. RFC 3550, Appendix A.1,
/// asks for two; the third excludes what other protocols have at this place by chance.
const IN_ORDER: u32 = 3;
const CLOSE: u16 = 64;
/// Numbers in order that were captured before, from which they begin anew.
const IN_ORDER_AGAIN: u64 = 8;
/// Distance of numbers, forwards or backwards, from which they begin anew (RFC 3550, Appendix A.1:
/// MAX_DROPOUT).
const MAX_DROPOUT: u16 = 3000;
/// Sequence Window in which numbers up to the same distance are accepted.
const WINDOW: u64 = 4 * MAX_DROPOUT as u64 / 3;

/// The place of a datagram in an RTP stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RtpPlace {
    /// Synchronization source.
    pub ssrc: u32,
    /// Sequence number, unwrapped.
    pub sequence: u64,
    /// `true` if the number was not captured before.
    pub is_new: bool,
    /// Timestamp, unwrapped.
    pub timestamp: i64,
}

/// The sources of a flow that may be RTP.
#[derive(Clone, Debug, Default)]
pub(crate) struct RtpStreams(Vec<RtpStream>);

/// Fields of an RTP header.
#[derive(Clone, Copy, Debug)]
struct Header {
    marker: bool,
    payload_type: u8,
    number: u16,
    timestamp: u32,
    ssrc: u32,
}

impl Header {
    /// The header, if the datagram may be RTP.
    fn parse(datagram: &Datagram) -> Option<Self> {
        let [first, second, a, b, c, d, e, f, g, h, i, j] = datagram.head?;
        let payload_type = second & 0x7f;
        (first >> 6 == 2 && !LIKE_RTCP.contains(&payload_type)).then_some(Self {
            marker: second & 0x80 != 0,
            payload_type,
            number: u16::from_be_bytes([a, b]),
            timestamp: u32::from_be_bytes([c, d, e, f]),
            ssrc: u32::from_be_bytes([g, h, i, j]),
        })
    }
}

/// A source.
#[derive(Clone, Debug)]
pub(crate) struct RtpStream {
    pub(crate) ssrc: u32,
    pub(crate) payload_type: u8,
    pub(crate) tally: Tally,
    pub(crate) numbers: Numbers,
    pub(crate) lateness: LatenessMeter,
    pub(crate) jitter: Jitter,
    pub(crate) frames: Frames,
    evidence: u32,
}

impl RtpStreams {
    pub(super) fn on_datagram(
        &mut self,
        segment: &Segment<Datagram>,
        interval: Duration,
    ) -> Option<RtpPlace> {
        let header = Header::parse(&segment.packet)?;
        let index = match self.0.iter().position(|stream| stream.ssrc == header.ssrc) {
            Some(index) => index,
            None => {
                if self.0.len() == MAX_STREAMS {
                    // A stream not confirmed makes room.
                    let chance = self.0.iter().position(|stream| !stream.is_confirmed())?;
                    self.0.remove(chance);
                }
                self.0.push(RtpStream::new(&header, segment, interval));
                self.0.len() - 1
            }
        };
        self.0[index].on_packet(&header, segment)
    }

    /// The streams that are RTP.
    pub(crate) fn confirmed(&self) -> impl Iterator<Item = &RtpStream> {
        self.0.iter().filter(|stream| stream.is_confirmed())
    }
}

impl RtpStream {
    fn new(header: &Header, segment: &Segment<Datagram>, interval: Duration) -> Self {
        Self {
            ssrc: header.ssrc,
            payload_type: header.payload_type,
            tally: Tally::new(segment, interval),
            numbers: Numbers::default(),
            lateness: LatenessMeter::new(),
            jitter: Jitter::default(),
            frames: Frames::default(),
            evidence: 1,
        }
    }

    pub(crate) fn is_confirmed(&self) -> bool {
        self.evidence >= IN_ORDER
    }

    fn on_packet(&mut self, header: &Header, segment: &Segment<Datagram>) -> Option<RtpPlace> {
        if !self.is_confirmed() {
            let ahead = self.numbers.ahead(header.number);
            let is_close = ahead.is_none_or(|ahead| (1..=CLOSE).contains(&ahead));
            self.evidence = if is_close { self.evidence + u32::from(ahead.is_some()) } else { 1 };
        }
        let size = segment.packet.size;
        self.tally.count(segment, size);
        let place = self.numbers.on_packet(header.number)?;
        let row = self.tally.table.row(segment.at);
        let mut missing_before = 0;
        match place {
            NumberPlace::New { missing, sequence, .. } => {
                missing_before = missing;
                row.holes += missing.cast_signed();
                self.lateness.on_packet(segment.at, sequence);
            }
            NumberPlace::Late { sequence } => {
                row.holes -= 1;
                self.lateness.on_packet(segment.at, sequence);
            }
            NumberPlace::Repeated { .. } => {}
        }
        let sequence = place.sequence();
        let is_new = !matches!(place, NumberPlace::Repeated { .. });
        if is_new {
            self.tally.gaps.on_packet(segment.at, size);
            self.tally.gaps.on_missing(missing_before, true);
        }
        if matches!(place, NumberPlace::New { restarts: true, .. }) {
            self.jitter.restart();
            self.frames.restart();
        }
        let timestamp = self.jitter.on_packet(segment.at, header.timestamp, header.payload_type, is_new);
        if is_new {
            self.frames.on_packet(sequence, timestamp, header.marker);
        }
        Some(RtpPlace { ssrc: header.ssrc, sequence, is_new, timestamp })
    }
}

/// The sequence numbers of a source.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbers {
    sequence: Sequence,
    /// Difference between the unwrapped numbers and the 16-bit ones, from the latest restart on.
    offset: u64,
    /// The number expected after one that does not fit.
    expected: Option<u16>,
    /// The number expected after one that was captured before, and how many in a row were.
    again: (u16, u64),
    /// Times that the numbers began anew.
    pub(crate) restarts: u64,
}

/// The place of a number among the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum NumberPlace {
    New { sequence: u64, missing: u64, restarts: bool },
    Late { sequence: u64 },
    Repeated { sequence: u64 },
}

impl NumberPlace {
    fn sequence(self) -> u64 {
        match self {
            Self::New { sequence, .. } | Self::Late { sequence } | Self::Repeated { sequence } => sequence,
        }
    }
}

impl Numbers {
    /// The first unwrapped number leaves room below it for packets that were overtaken.
    const FIRST: u64 = 1 << 17;

    pub(crate) fn missing(&self) -> u64 {
        self.sequence.holes
    }

    pub(crate) fn late(&self) -> u64 {
        self.sequence.late
    }

    pub(crate) fn repeated(&self) -> u64 {
        self.sequence.repeated
    }

    fn greatest(&self) -> Option<u64> {
        self.sequence.greatest().map(SeqNo::value)
    }

    /// Distance from the greatest number.
    fn ahead(&self, number: u16) -> Option<u16> {
        let greatest = self.greatest()?.wrapping_sub(self.offset) as u16;
        Some(number.wrapping_sub(greatest))
    }

    /// `true` if numbers that were captured before go on in their order: a sender that begins anew a little
    /// further back.
    fn begins_anew(&mut self, number: u16) -> bool {
        let (expected, count) = self.again;
        let count = if number == expected { count + 1 } else { 1 };
        self.again = (number.wrapping_add(1), count);
        if count < IN_ORDER_AGAIN {
            return false;
        }
        self.sequence.repeated = self.sequence.repeated.saturating_sub(count);
        self.again = (0, 0);
        true
    }

    /// Processes a number; `None` if it does not fit. The next one after it begins anew.
    fn on_packet(&mut self, number: u16) -> Option<NumberPlace> {
        let Some(ahead) = self.ahead(number) else {
            let sequence = Self::FIRST + u64::from(number);
            self.offset = Self::FIRST;
            self.sequence.on_packet(SeqNo::new(sequence), Some(WINDOW));
            return Some(NumberPlace::New { sequence, missing: 0, restarts: false });
        };
        let greatest = self.greatest().unwrap_or_default();
        let mut sequence = greatest.wrapping_add_signed(i64::from(ahead.cast_signed()));
        let is_far = (MAX_DROPOUT..=MAX_DROPOUT.wrapping_neg()).contains(&ahead);
        let mut restarts = false;
        if is_far {
            let is_expected = self.expected == Some(number);
            self.expected = Some(number.wrapping_add(1));
            if !is_expected {
                return None;
            }
            // RFC 3550, Appendix A.1: two in a row. The first counts as one that was not captured.
            sequence = greatest + 1;
            self.offset = sequence.wrapping_sub(u64::from(number));
            self.restarts += 1;
            restarts = true;
        }
        self.expected = None;
        let mut place = self.sequence.on_packet(SeqNo::new(sequence), Some(WINDOW));
        if place == SequencePlace::Old && self.begins_anew(number) {
            sequence = greatest + 1;
            self.offset = sequence.wrapping_sub(u64::from(number));
            self.restarts += 1;
            restarts = true;
            place = self.sequence.on_packet(SeqNo::new(sequence), Some(WINDOW));
        }
        Some(match place {
            SequencePlace::New { missing } => NumberPlace::New { sequence, missing, restarts },
            SequencePlace::Late => NumberPlace::Late { sequence },
            SequencePlace::First | SequencePlace::Jump => NumberPlace::New { sequence, missing: 0, restarts },
            SequencePlace::Old | SequencePlace::Stray => NumberPlace::Repeated { sequence },
        })
    }
}
