//! TFRC-SP: the differences of a sender of small packets (RFC 4828).
//!
//! TFRC's rate is proportional to its segment size, so that a voice stream of small packets gets a small
//! fraction of the rate of a TCP with large segments at the same loss rate. TFRC-SP applies the equation to a
//! *nominal* segment, with restrictions: headers count against the rate, packets are at least 10 ms apart,
//! and in loss intervals of at most two round-trip times each loss counts, because a sender with many packets
//! in a round-trip time could otherwise sustain several losses in each.

use whimbrel_units::{ByteCount, Duration};

use super::SegmentSize;

#[cfg(test)]
mod tests;

/// Nominal segment size of the equation, unless the path is known not to carry it (RFC 4828, Section 3).
pub const NOMINAL_SEGMENT_SIZE: ByteCount = ByteCount::new(1460);

/// The Min Interval between packets (RFC 4828, Section 3).
pub const MIN_INTERVAL: Duration = Duration::from_millis(10);

/// H, if the header size is not known (RFC 4828, Section 3).
pub const HEADER_SIZE: ByteCount = ByteCount::new(40);

/// Parameters of TFRC-SP (RFC 4828, Section 3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SmallPackets {
    /// The nominal segment size.
    pub segment_size: ByteCount,
    /// H: size of the headers of each packet.
    pub header_size: ByteCount,
    /// The Min Interval between packets.
    pub min_interval: Duration,
}

impl Default for SmallPackets {
    fn default() -> Self {
        Self::RFC4828
    }
}

impl SmallPackets {
    /// The parameters of RFC 4828, Section 3.
    pub const RFC4828: Self =
        Self { segment_size: NOMINAL_SEGMENT_SIZE, header_size: HEADER_SIZE, min_interval: MIN_INTERVAL };

    /// The rule for s.
    pub(super) fn nominal(&self) -> SegmentSize {
        SegmentSize::Fixed(self.segment_size)
    }

    /// Fraction of the rate available for data with an average packet size of `size`: s_true / (s_true + H).
    pub fn data_share(&self, size: ByteCount) -> f64 {
        size.as_f64() / (size.as_f64() + self.header_size.as_f64())
    }

    /// Fraction of a nominal segment that a packet with `size` of data amounts to, by which the result of the
    /// equation is divided.
    pub fn segments(&self, size: ByteCount) -> f64 {
        (size.as_f64() + self.header_size.as_f64()) / self.segment_size.as_f64()
    }
}
