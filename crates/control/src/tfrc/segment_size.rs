//! s: the segment size.

use whimbrel_units::ByteCount;

#[cfg(test)]
mod tests;

/// What the sender takes for s, in application data per packet (RFC 5348, Section 4.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SegmentSize {
    /// A given size, whatever the packets' own, as TFRC-SP's nominal size (RFC 4828) or the maximum segment size (RFC
    /// 5348, Section 4.1). The equation then gives the bytes per second of a TCP with segments of that size.
    Fixed(ByteCount),
    /// The average over the last four loss intervals.
    Average {
        /// What to assume until a packet was sent.
        expected: ByteCount,
    },
}

/// Measures the sizes of the packets sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SegmentMeter {
    mode: SegmentSize,
    /// Sums over the last loss intervals, the current one first.
    intervals: [Sum; Self::INTERVALS],
    largest: ByteCount,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Sum {
    bytes: ByteCount,
    packets: u64,
}

impl SegmentMeter {
    const INTERVALS: usize = 4;

    /// A meter that has seen nothing yet.
    pub fn new(mode: SegmentSize) -> Self {
        Self { mode, intervals: [Sum::default(); Self::INTERVALS], largest: ByteCount::ZERO }
    }

    /// A packet with `size` of application data was sent. Whether none was larger.
    #[inline]
    pub fn on_sent(&mut self, size: ByteCount) -> bool {
        self.intervals[0].bytes += size;
        self.intervals[0].packets += 1;
        let is_largest = size > self.largest;
        self.largest = self.largest.max(size);
        is_largest
    }

    /// A new loss interval began.
    pub fn on_loss_event(&mut self) {
        // An interval in which nothing was sent would only push the others out.
        if self.intervals[0].packets > 0 {
            self.intervals.copy_within(0..Self::INTERVALS - 1, 1);
            self.intervals[0] = Sum::default();
        }
    }

    /// Packets of `size` are now to be expected, until some were sent; so is s where it is fixed.
    pub fn expect(&mut self, size: ByteCount) {
        self.mode = match self.mode {
            SegmentSize::Fixed(_) => SegmentSize::Fixed(size),
            SegmentSize::Average { .. } => SegmentSize::Average { expected: size },
        };
    }

    /// s; at least one byte.
    pub fn segment_size(&self) -> ByteCount {
        match self.mode {
            SegmentSize::Fixed(size) => size.max(ByteCount::new(1)),
            SegmentSize::Average { .. } => self.mean(),
        }
    }

    /// The average size of the packets sent, whatever counts as s; at least one byte.
    pub fn mean(&self) -> ByteCount {
        let bytes: ByteCount = self.intervals.iter().map(|sum| sum.bytes).sum();
        let packets: u64 = self.intervals.iter().map(|sum| sum.packets).sum();
        let mean = match packets {
            0 => self.expected(),
            _ => ByteCount::new((bytes.as_u64() + packets / 2) / packets),
        };
        mean.max(ByteCount::new(1))
    }

    /// The size that sets the initial window: that of the largest packet sent, or what s was said
    /// to be (RFC 5348, Section 4.2).
    pub fn largest(&self) -> ByteCount {
        match self.mode {
            SegmentSize::Fixed(size) => size,
            SegmentSize::Average { expected } if self.largest == ByteCount::ZERO => expected,
            SegmentSize::Average { .. } => self.largest,
        }
        .max(ByteCount::new(1))
    }

    fn expected(&self) -> ByteCount {
        match self.mode {
            SegmentSize::Fixed(size) => size,
            SegmentSize::Average { expected } => expected,
        }
    }
}
