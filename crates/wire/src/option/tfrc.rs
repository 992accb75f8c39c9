//! The options of CCID 3 and CCID 4 (RFC 4342, Section 8; RFC 5622, Section 8; RFC 6323, Section 3).
//!
//! On the wire they are [`DccpOption::CcidSpecific`]: only the half-connection determines if its CCID is one
//! of these.

use super::{DccpOption, MAX_DATA_LEN, OptionBytes};

#[cfg(test)]
mod tests;

/// Type of [`TfrcOption::RttEstimate`].
pub const RTT_ESTIMATE: u8 = 128;
/// Type of [`TfrcOption::Restoring`].
pub const RESTORING: u8 = 184;
/// Type of [`TfrcOption::Probing`].
pub const PROBING: u8 = 185;
/// Type of [`TfrcOption::LossEventRate`].
pub const LOSS_EVENT_RATE: u8 = 192;
/// Type of [`TfrcOption::LossIntervals`].
pub const LOSS_INTERVALS: u8 = 193;
/// Type of [`TfrcOption::ReceiveRate`].
pub const RECEIVE_RATE: u8 = 194;
/// Type of [`TfrcOption::DroppedPackets`].
pub const DROPPED_PACKETS: u8 = 195;

/// Type of [`TfrcOption::Unfrozen`].
pub const UNFROZEN: u8 = 248;
/// Type of [`TfrcOption::EcnCounts`].
pub const ECN_COUNTS: u8 = 249;

/// The value of Loss Event Rate before any loss (RFC 4342, Section 8.5).
pub const NO_LOSS_EVENT: u32 = u32::MAX;
/// Maximum number of loss intervals in a Loss Intervals option (RFC 4342, Section 8.6).
pub const MAX_LOSS_INTERVALS: usize = 28;
/// The maximum of a 24-bit field.
const MAX_24: u32 = 0xff_ffff;

/// An option of CCID 3 or 4, decoded from its data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TfrcOption<'a> {
    /// 128: the sender's round-trip time (RFC 6323, Section 3.2.1).
    RttEstimate(RttEstimate),
    /// 184: the sender has restored the rate it had before a freeze (OPT_RESTORING of `papers/freeze`,
    /// Section 4.3; this and the next are experimental, with numbers reserved for experiments).
    Restoring(ProbeRule),
    /// 185: the sender probes for a higher rate (OPT_PROBING).
    Probing(ProbeRule),
    /// 192: the inverse of the loss event rate, rounded up; [`NO_LOSS_EVENT`] before any loss
    /// (RFC 4342, Section 8.5).
    LossEventRate(u32),
    /// 193: the latest loss intervals (RFC 4342, Section 8.6).
    LossIntervals(LossIntervals<'a>),
    /// 194: the receive rate, in bytes per second (RFC 4342, Section 8.3).
    ReceiveRate(u32),
    /// 195: packets lost or marked in each of the latest loss intervals (RFC 5622, Section 8.7).
    DroppedPackets(DroppedPackets<'a>),
    /// 248: the receive rate covers a round-trip time of the restored rate (OPT_UNFROZEN).
    Unfrozen,
    /// 249: packets with data that arrived since the last report, and how many of them were marked. Of CCID
    /// 252; the number is one of those for experiments.
    EcnCounts(EcnCounts),
}

/// The data of an ECN Counts option: six bytes, the number of marked packets and the number of received ones,
/// each in 24 bits, the most significant byte first.
///
/// ```text
/// +--------+--------+--------+--------+--------+--------+--------+--------+
/// |11111001|00001000|      packets marked CE   |     packets received     |
/// +--------+--------+--------+--------+--------+--------+--------+--------+
///  Type=249  Len=8
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EcnCounts {
    /// Packets that arrived with Congestion Experienced, at most as many as were received.
    pub marked: u32,
    /// Packets with data that arrived since the last report, at most 16,777,215.
    pub received: u32,
}

impl EcnCounts {
    /// Share of the packets that were marked; zero if none were received.
    pub fn share(self) -> f64 {
        if self.received == 0 { 0.0 } else { f64::from(self.marked) / f64::from(self.received) }
    }

    /// `None` if more packets are marked than received.
    fn from_data(data: &[u8]) -> Option<Self> {
        let &[a, b, c, d, e, f] = data else { return None };
        let (marked, received) = (u32::from_be_bytes([0, a, b, c]), u32::from_be_bytes([0, d, e, f]));
        (marked <= received).then_some(Self { marked, received })
    }

    /// The option. Numbers beyond 24 bits saturate.
    pub fn to_option(self) -> DccpOption {
        let [_, a, b, c] = self.marked.min(self.received).min(MAX_24).to_be_bytes();
        let [_, d, e, f] = self.received.min(MAX_24).to_be_bytes();
        ccid_specific(ECN_COUNTS, OptionBytes::from_slice(&[a, b, c, d, e, f]))
    }
}

/// Criterion for the end of a sender's probing: the data of Restoring and Probing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ProbeRule {
    /// No data: a loss, as in the paper.
    #[default]
    Loss,
    /// 3 alone: a loss, after which the receiver creates one synthetic loss interval instead of eight, as the
    /// authors' Linux code does.
    LossOneInterval,
    /// 1, and the sender's round-trip time in three bytes: a receive rate that no longer follows the send
    /// rate. The receiver must measure over that time; its own estimate may still be the old path's.
    ReceiveRate {
        /// In microseconds, at most 16.7 s; 0 if there is none.
        rtt_micros: u32,
    },
    /// 2, and the sender's round-trip time: probing has ended, and the receiver must fit its loss history to
    /// the receive rate, at that round-trip time.
    Settle {
        /// In microseconds, at most 16.7 s; 0 if there is none.
        rtt_micros: u32,
    },
}

impl ProbeRule {
    /// The sender's round-trip time in microseconds, if it is signalled.
    pub const fn rtt_micros(self) -> Option<u32> {
        match self {
            Self::ReceiveRate { rtt_micros } | Self::Settle { rtt_micros } if rtt_micros > 0 => {
                Some(rtt_micros)
            }
            _ => None,
        }
    }

    fn from_data(data: &[u8]) -> Option<Self> {
        match data {
            [] => Some(Self::Loss),
            [3] => Some(Self::LossOneInterval),
            [rule, a, b, c] => {
                let rtt_micros = u32::from_be_bytes([0, *a, *b, *c]);
                match rule {
                    1 => Some(Self::ReceiveRate { rtt_micros }),
                    2 => Some(Self::Settle { rtt_micros }),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn to_data(self) -> OptionBytes {
        let (rule, rtt_micros) = match self {
            Self::Loss => return OptionBytes::from_slice(&[]),
            Self::LossOneInterval => return OptionBytes::from_slice(&[3]),
            Self::ReceiveRate { rtt_micros } => (1, rtt_micros),
            Self::Settle { rtt_micros } => (2, rtt_micros),
        };
        let [_, a, b, c] = rtt_micros.min(MAX_24).to_be_bytes();
        OptionBytes::from_slice(&[rule, a, b, c])
    }
}

impl<'a> TfrcOption<'a> {
    /// Decodes an option; `None` if it is none of these or its data has an invalid length.
    pub fn parse(option: &'a DccpOption) -> Option<Self> {
        let DccpOption::CcidSpecific { kind, data } = option else {
            return None;
        };
        Some(match *kind {
            RTT_ESTIMATE => Self::RttEstimate(RttEstimate::from_data(data)?),
            LOSS_EVENT_RATE => Self::LossEventRate(u32::from_be_bytes(data.as_slice().try_into().ok()?)),
            RECEIVE_RATE => Self::ReceiveRate(u32::from_be_bytes(data.as_slice().try_into().ok()?)),
            LOSS_INTERVALS => Self::LossIntervals(LossIntervals::from_data(data)?),
            DROPPED_PACKETS => Self::DroppedPackets(DroppedPackets::from_data(data)?),
            RESTORING => Self::Restoring(ProbeRule::from_data(data)?),
            PROBING => Self::Probing(ProbeRule::from_data(data)?),
            UNFROZEN if data.is_empty() => Self::Unfrozen,
            ECN_COUNTS => Self::EcnCounts(EcnCounts::from_data(data)?),
            _ => return None,
        })
    }
}

/// The round-trip time in an RTT Estimate option, in microseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RttEstimate {
    /// 0: the sender has no sample yet.
    None,
    /// The time, from 1 to 0xFFFFFE microseconds.
    Micros(u32),
    /// 0xFFFFFF: longer than 16.7 seconds.
    Spike,
}

impl RttEstimate {
    /// A time of `nanos` nanoseconds, rounded up to whole microseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        match nanos.div_ceil(1_000) {
            0 => Self::Micros(1),
            micros if micros < MAX_24 as u64 => Self::Micros(micros as u32),
            _ => Self::Spike,
        }
    }

    /// The time in nanoseconds, if it is known.
    pub const fn nanos(self) -> Option<u64> {
        match self {
            Self::Micros(micros) => Some(micros as u64 * 1_000),
            Self::None | Self::Spike => None,
        }
    }

    fn from_data(data: &[u8]) -> Option<Self> {
        if data.is_empty() || data.len() > 3 {
            return None;
        }
        Some(match data.iter().fold(0, |value, byte| value << 8 | u32::from(*byte)) {
            0 => Self::None,
            MAX_24 => Self::Spike,
            micros => Self::Micros(micros),
        })
    }

    /// The option, in the minimum number of bytes.
    pub fn to_option(self) -> DccpOption {
        let value = match self {
            Self::None => 0,
            Self::Micros(micros) => micros.clamp(1, MAX_24 - 1),
            Self::Spike => MAX_24,
        };
        let bytes = value.to_be_bytes();
        let zeros = (value.leading_zeros() / 8).min(3) as usize;
        ccid_specific(RTT_ESTIMATE, short(bytes, zeros))
    }
}

/// A loss interval in the receiver's report: lost packets, followed by received packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LossInterval {
    /// Number of packets in its newer, lossless part: 24 bits.
    pub lossless_length: u32,
    /// The nonce echo of the lossless part. Only a wire field since RFC 8311.
    pub nonce: bool,
    /// Number of packets in its older, lossy part: 23 bits.
    pub loss_length: u32,
    /// Length in data packets (RFC 4342, Section 6.1.1): 24 bits.
    pub data_length: u32,
}

impl LossInterval {
    const LEN: usize = 9;
    /// Maximum Lossless Length and Data Length, which also represents all larger ones.
    pub const MAX_LENGTH: u32 = MAX_24;
    /// Maximum Loss Length, which also represents all larger ones.
    pub const MAX_LOSS_LENGTH: u32 = 0x7f_ffff;

    fn from_bytes(bytes: &[u8; Self::LEN]) -> Self {
        let &[a, b, c, d, e, f, g, h, i] = bytes;
        Self {
            lossless_length: u32::from_be_bytes([0, a, b, c]),
            nonce: d & 0x80 != 0,
            loss_length: u32::from_be_bytes([0, d & 0x7f, e, f]),
            data_length: u32::from_be_bytes([0, g, h, i]),
        }
    }

    /// Lengths beyond their field saturate.
    fn to_bytes(self) -> [u8; Self::LEN] {
        let [_, a, b, c] = self.lossless_length.min(MAX_24).to_be_bytes();
        let [_, d, e, f] = self.loss_length.min(Self::MAX_LOSS_LENGTH).to_be_bytes();
        let [_, g, h, i] = self.data_length.min(MAX_24).to_be_bytes();
        [a, b, c, d | u8::from(self.nonce) << 7, e, f, g, h, i]
    }

    /// `true` if it may have more packets than its fields can represent, so that neither its first packet nor
    /// the position of any older interval can be derived from it.
    pub const fn is_saturated(self) -> bool {
        self.lossless_length >= Self::MAX_LENGTH || self.loss_length >= Self::MAX_LOSS_LENGTH
    }

    /// Number of all its packets: the lossless and the lossy part.
    pub const fn sequence_length(self) -> u32 {
        self.lossless_length + self.loss_length
    }
}

/// The data of a Loss Intervals option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LossIntervals<'a> {
    /// Number of packets, down from the Acknowledgement Number, that belong to no interval yet.
    pub skip_length: u8,
    intervals: &'a [[u8; LossInterval::LEN]],
}

impl<'a> LossIntervals<'a> {
    fn from_data(data: &'a [u8]) -> Option<Self> {
        let (&skip_length, rest) = data.split_first()?;
        let (intervals, rest) = rest.as_chunks();
        rest.is_empty().then_some(Self { skip_length, intervals })
    }

    /// The intervals, the newest first.
    pub fn iter(self) -> impl ExactSizeIterator<Item = LossInterval> + 'a {
        self.intervals.iter().map(LossInterval::from_bytes)
    }
}

/// The data of a Dropped Packets option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DroppedPackets<'a>(&'a [[u8; 3]]);

impl<'a> DroppedPackets<'a> {
    fn from_data(data: &'a [u8]) -> Option<Self> {
        let (counts, rest) = data.as_chunks();
        rest.is_empty().then_some(Self(counts))
    }

    /// Packets lost or marked in each interval, the newest interval first.
    pub fn iter(self) -> impl ExactSizeIterator<Item = u32> + 'a {
        self.0.iter().map(|&[a, b, c]| u32::from_be_bytes([0, a, b, c]))
    }
}

/// A Loss Event Rate option. `inverse`: data packets per loss event, rounded up.
pub fn loss_event_rate(inverse: u32) -> DccpOption {
    ccid_specific(LOSS_EVENT_RATE, short(inverse.to_be_bytes(), 0))
}

/// A Receive Rate option, in bytes per second.
pub fn receive_rate(bytes_per_second: u32) -> DccpOption {
    ccid_specific(RECEIVE_RATE, short(bytes_per_second.to_be_bytes(), 0))
}

/// A Restoring option.
pub fn restoring(rule: ProbeRule) -> DccpOption {
    ccid_specific(RESTORING, rule.to_data())
}

/// A Probing option.
pub fn probing(rule: ProbeRule) -> DccpOption {
    ccid_specific(PROBING, rule.to_data())
}

/// An Unfrozen option.
pub fn unfrozen() -> DccpOption {
    ccid_specific(UNFROZEN, OptionBytes::new())
}

/// Loss Intervals options with `intervals`, the newest first, 28 in each; the first has the skip length, the
/// others zero. There is always at least one.
pub fn loss_intervals(
    skip_length: u8,
    intervals: impl IntoIterator<Item = LossInterval>,
) -> impl Iterator<Item = DccpOption> {
    let mut intervals = intervals.into_iter().fuse();
    let mut skip = Some(skip_length);
    core::iter::from_fn(move || {
        let mut batch = intervals.by_ref().take(MAX_LOSS_INTERVALS).peekable();
        if skip.is_none() && batch.peek().is_none() {
            return None;
        }
        // One allocation for all of them, as every feedback packet has this option.
        let mut data = [0; MAX_DATA_LEN];
        data[0] = skip.take().unwrap_or(0);
        let mut len = 1;
        for interval in batch {
            data[len..len + LossInterval::LEN].copy_from_slice(&interval.to_bytes());
            len += LossInterval::LEN;
        }
        Some(ccid_specific(LOSS_INTERVALS, OptionBytes::from_slice(&data[..len])))
    })
}

/// Dropped Packets options with `counts`, the newest interval first, 84 in each. Counts beyond 24
/// bits saturate.
pub fn dropped_packets(counts: impl IntoIterator<Item = u32>) -> impl Iterator<Item = DccpOption> {
    let mut data = OptionBytes::new();
    counts.into_iter().for_each(|count| data.extend_from_slice(&count.min(MAX_24).to_be_bytes()[1..]));
    super::split(data, MAX_DATA_LEN / 3 * 3).map(|data| ccid_specific(DROPPED_PACKETS, data))
}

/// The bytes from `from` on, without a copy by the C library, which would cost more than such short ones.
fn short(bytes: [u8; 4], from: usize) -> OptionBytes {
    let mut data = [0; 16];
    let value = u32::from_be_bytes(bytes) << (8 * from).min(24);
    data[..4].copy_from_slice(&value.to_be_bytes());
    OptionBytes::from_buf_and_len(data, 4 - from.min(4))
}

fn ccid_specific(kind: u8, data: OptionBytes) -> DccpOption {
    DccpOption::CcidSpecific { kind, data }
}
