//! TFRC-SP: what a sender of small packets does otherwise (RFC 4828).
//!
//! TFRC's rate is proportional to its segment size, so that a voice stream of small packets gets a small
//! part of what a TCP with large ones gets at the same loss rate. TFRC-SP asks the equation for a
//! *nominal* segment, and pays for it: headers count against the rate, packets are at least 10 ms
//! apart, and in loss intervals of at most two round-trip times each loss counts, because a sender with many
//! packets in a round-trip time could otherwise live with several losses in each.

use whimbrel_units::{ByteCount, Duration};

use super::SegmentSize;

#[cfg(test)]
mod tests;

/// The segment that the equation is asked for, unless the path is known to carry no such one (RFC 4828,
/// Section 3).
pub const NOMINAL_SEGMENT_SIZE: ByteCount = ByteCount::new(1460);

/// The Min Interval between packets (RFC 4828, Section 3).
pub const MIN_INTERVAL: Duration = Duration::from_millis(10);

/// H, where nothing is known of the headers (RFC 4828, Section 3).
pub const HEADER_SIZE: ByteCount = ByteCount::new(40);

/// What TFRC-SP does otherwise than TFRC (RFC 4828, Section 3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SmallPackets {
    /// The nominal segment size.
    pub segment_size: ByteCount,
    /// H: headers that each packet costs.
    pub header_size: ByteCount,
    /// The Min Interval between packets.
    pub min_interval: Duration,
}

impl Default for SmallPackets {
    fn default() -> Self {
        Self { segment_size: NOMINAL_SEGMENT_SIZE, header_size: HEADER_SIZE, min_interval: MIN_INTERVAL }
    }
}

impl SmallPackets {
    /// What counts as s with it.
    pub(super) fn nominal(&self) -> SegmentSize {
        SegmentSize::Fixed(self.segment_size)
    }

    /// The part of the rate that is left for the data of packets with `size` of them on average:
    /// s_true / (s_true + H).
    pub fn data_share(&self, size: ByteCount) -> f64 {
        size.as_f64() / (size.as_f64() + self.header_size.as_f64())
    }

    /// How much of a nominal segment a packet with `size` of data amounts to: so many segments the equation
    /// must give for each.
    pub fn segments(&self, size: ByteCount) -> f64 {
        (size.as_f64() + self.header_size.as_f64()) / self.segment_size.as_f64()
    }
}
