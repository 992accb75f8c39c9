//! RTP congestion control feedback (RFC 8888): arrival times and ECN marks of each packet of a media stream.
//!
//! A report covers a range of RTP sequence numbers of each stream. Arrival times are offsets before the
//! report's own timestamp, in units of 1/1024 s.
//!
//! ```
//! use whimbrel_units::Ecn;
//! use whimbrel_wire::congestion_feedback::{CongestionFeedback, PacketMetric, StreamReport};
//!
//! let report = CongestionFeedback {
//!     sender: 1,
//!     streams: vec![StreamReport {
//!         ssrc: 2,
//!         first: 65_535,
//!         metrics: vec![PacketMetric::received(Ecn::Ce, 512), PacketMetric::NOT_RECEIVED],
//!     }],
//!     timestamp: 0x0001_8000, // 1.5 s
//! };
//! let mut bytes = Vec::new();
//! report.encode(&mut bytes)?;
//! assert_eq!(bytes.len(), report.encoded_len());
//! assert_eq!(CongestionFeedback::decode(&bytes), Ok(report));
//! # Ok::<(), whimbrel_wire::congestion_feedback::FeedbackError>(())
//! ```

use alloc::vec::Vec;
use core::{error, fmt};

use whimbrel_units::Ecn;

#[cfg(test)]
mod tests;

/// RTCP packet type of transport-layer feedback (RFC 4585, Section 6.1).
const PACKET_TYPE: u8 = 205;
/// Feedback message type of congestion control feedback (RFC 8888, Section 3.1).
const FORMAT: u8 = 11;
/// Most packets of one stream in a report (RFC 8888, Section 3.1).
pub const MAX_METRICS: usize = 16_384;

/// The reception of a packet: a metric block of RFC 8888, Section 3.1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketMetric(u16);

/// The arrival time of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArrivalOffset {
    /// Time before the report's timestamp, in units of 1/1024 s.
    Before(u16),
    /// More than 8189/1024 s before it.
    OverRange,
    /// Unknown, or after it.
    Unavailable,
}

impl PacketMetric {
    /// A packet that has not been received.
    pub const NOT_RECEIVED: Self = Self(0);
    const RECEIVED: u16 = 0x8000;
    const OVER_RANGE: u16 = 0x1ffe;
    const UNAVAILABLE: u16 = 0x1fff;

    /// A packet received `offset`/1024 s before the report's timestamp, with that ECN field.
    pub const fn received(ecn: Ecn, offset: u64) -> Self {
        let offset = if offset > 0x1ffd { Self::OVER_RANGE } else { offset as u16 };
        Self(Self::RECEIVED | (ecn.bits() as u16) << 13 | offset)
    }

    /// `true` if the packet has been received.
    pub const fn is_received(self) -> bool {
        self.0 & Self::RECEIVED != 0
    }

    /// The packet's ECN field on arrival; not-ECT if it has not been received.
    pub const fn ecn(self) -> Ecn {
        if self.is_received() { Ecn::from_bits((self.0 >> 13) as u8) } else { Ecn::NotEct }
    }

    /// The packet's arrival time; `None` if it has not been received.
    pub const fn offset(self) -> Option<ArrivalOffset> {
        if !self.is_received() {
            return None;
        }
        Some(match self.0 & 0x1fff {
            Self::OVER_RANGE => ArrivalOffset::OverRange,
            Self::UNAVAILABLE => ArrivalOffset::Unavailable,
            offset => ArrivalOffset::Before(offset),
        })
    }
}

/// The packets of a stream: a report block of RFC 8888, Section 3.1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StreamReport {
    /// SSRC of the stream.
    pub ssrc: u32,
    /// `begin_seq`: RTP sequence number of the first packet.
    pub first: u16,
    /// The packets from that one on, in the order of their sequence numbers.
    pub metrics: Vec<PacketMetric>,
}

impl StreamReport {
    fn encoded_len(&self) -> usize {
        8 + self.metrics.len().next_multiple_of(2) * 2
    }
}

/// A congestion control feedback packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CongestionFeedback {
    /// SSRC of the sender of the report.
    pub sender: u32,
    /// The streams received.
    pub streams: Vec<StreamReport>,
    /// Report timestamp in units of 1/65536 s: the middle 32 bits of an NTP timestamp.
    pub timestamp: u32,
}

/// Error of decoding or encoding a report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FeedbackError {
    /// The bytes end before the report does.
    Truncated,
    /// The packet is not version 2 of RTCP.
    Version,
    /// The packet is another RTCP packet.
    Type,
    /// The padding is longer than the packet.
    Padding,
    /// A stream has more than [`MAX_METRICS`] packets, or the report is longer than an RTCP packet can be.
    TooLong,
}

impl fmt::Display for FeedbackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Truncated => "the bytes end before the feedback report does",
            Self::Version => "not version 2 of RTCP",
            Self::Type => "not an RTCP congestion control feedback packet",
            Self::Padding => "the padding is longer than the packet",
            Self::TooLong => "more than 16384 packets of one stream, or more than 256 KiB",
        })
    }
}

impl error::Error for FeedbackError {}

/// Takes big-endian words off the front of a slice.
struct Words<'a>(&'a [u8]);

impl Words<'_> {
    fn u16(&mut self) -> Result<u16, FeedbackError> {
        let (head, tail) = self.0.split_first_chunk().ok_or(FeedbackError::Truncated)?;
        self.0 = tail;
        Ok(u16::from_be_bytes(*head))
    }

    fn u32(&mut self) -> Result<u32, FeedbackError> {
        let (head, tail) = self.0.split_first_chunk().ok_or(FeedbackError::Truncated)?;
        self.0 = tail;
        Ok(u32::from_be_bytes(*head))
    }
}

impl CongestionFeedback {
    /// Length of the encoded report in bytes.
    pub fn encoded_len(&self) -> usize {
        12 + self.streams.iter().map(StreamReport::encoded_len).sum::<usize>()
    }

    /// Appends the report to `out`.
    ///
    /// # Errors
    /// [`FeedbackError::TooLong`]; then nothing is appended.
    pub fn encode(&self, out: &mut Vec<u8>) -> Result<(), FeedbackError> {
        let words = self.encoded_len() / 4 - 1;
        let length = u16::try_from(words).map_err(|_| FeedbackError::TooLong)?;
        if self.streams.iter().any(|stream| stream.metrics.len() > MAX_METRICS) {
            return Err(FeedbackError::TooLong);
        }
        out.extend([2 << 6 | FORMAT, PACKET_TYPE]);
        out.extend(length.to_be_bytes());
        out.extend(self.sender.to_be_bytes());
        for stream in &self.streams {
            out.extend(stream.ssrc.to_be_bytes());
            out.extend(stream.first.to_be_bytes());
            out.extend((stream.metrics.len() as u16).to_be_bytes());
            stream.metrics.iter().for_each(|metric| out.extend(metric.0.to_be_bytes()));
            if stream.metrics.len() % 2 == 1 {
                out.extend([0; 2]);
            }
        }
        out.extend(self.timestamp.to_be_bytes());
        Ok(())
    }

    /// Decodes the report at the start of `bytes`; what follows it, as in a compound packet, is ignored.
    ///
    /// `num_reports` is read as the number of metric blocks, as receivers use it: RFC 8888 gives the range as
    /// inclusive of `begin_seq + num_reports`, but also has 0 mean that there is no block.
    ///
    /// # Errors
    /// The [`FeedbackError`] found first.
    pub fn decode(bytes: &[u8]) -> Result<Self, FeedbackError> {
        let mut header = Words(bytes);
        let [first, packet_type] = header.u16()?.to_be_bytes();
        let length = usize::from(header.u16()?) * 4;
        if first >> 6 != 2 {
            return Err(FeedbackError::Version);
        }
        if packet_type != PACKET_TYPE || first & 0x1f != FORMAT {
            return Err(FeedbackError::Type);
        }
        let mut body = header.0.get(..length).ok_or(FeedbackError::Truncated)?;
        if first & 0x20 != 0 {
            let padding = usize::from(*body.last().ok_or(FeedbackError::Padding)?);
            let kept = length.checked_sub(padding).filter(|_| padding > 0 && padding % 4 == 0);
            body = &body[..kept.ok_or(FeedbackError::Padding)?];
        }
        let mut words = Words(body);
        let sender = words.u32()?;
        let mut streams = Vec::new();
        while words.0.len() > 4 {
            streams.push(Self::decode_stream(&mut words)?);
        }
        Ok(Self { sender, streams, timestamp: words.u32()? })
    }

    fn decode_stream(words: &mut Words<'_>) -> Result<StreamReport, FeedbackError> {
        let (ssrc, first, count) = (words.u32()?, words.u16()?, usize::from(words.u16()?));
        if count > MAX_METRICS {
            return Err(FeedbackError::TooLong);
        }
        // The blocks must be there before memory is allocated for them.
        if words.0.len() < count.next_multiple_of(2) * 2 {
            return Err(FeedbackError::Truncated);
        }
        let metric = |_| {
            // A packet that was not received has no other bits (RFC 8888, Section 3.1).
            words
                .u16()
                .map(|bits| if bits & PacketMetric::RECEIVED == 0 { 0 } else { bits })
                .map(PacketMetric)
        };
        let metrics = (0..count).map(metric).collect::<Result<_, _>>()?;
        if count % 2 == 1 {
            words.u16()?;
        }
        Ok(StreamReport { ssrc, first, metrics })
    }
}
