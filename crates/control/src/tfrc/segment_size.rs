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
    /// The average over the last four loss intervals, in which recent round-trip times weigh more.
    Average {
        /// What to assume until a packet was sent.
        expected: ByteCount,
    },
}

/// Measures the sizes of the packets sent.
///
/// The average over the last four loss intervals is what RFC 5348, Section 4.1, says that a sender SHOULD take, and an example
/// in RFC 4342, Section 5.3, of one "over multiple round trip times". A stream that loses nothing, or little, would
/// remember its sizes for hours by that, and an equation asked for packets that it no longer sends holds it at a small
/// part of its rate, or lets it have many times as much. So what is remembered fades with each round-trip time, too.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SegmentMeter {
    mode: SegmentSize,
    /// Sums over the last loss intervals, the current one first.
    intervals: [Sum; Self::INTERVALS],
    largest: ByteCount,
}

/// Weighted sums.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Sum {
    bytes: f64,
    packets: f64,
}

impl SegmentMeter {
    const INTERVALS: usize = 4;
    /// What a round-trip time leaves of the weight of those before it.
    const FADING: f64 = 15.0 / 16.0;

    /// A meter that has seen nothing yet.
    pub fn new(mode: SegmentSize) -> Self {
        Self { mode, intervals: [Sum::default(); Self::INTERVALS], largest: ByteCount::ZERO }
    }

    /// A packet with `size` of application data was sent. Whether none was larger.
    #[inline]
    pub fn on_sent(&mut self, size: ByteCount) -> bool {
        self.intervals[0].bytes += size.as_f64();
        self.intervals[0].packets += 1.0;
        let is_largest = size > self.largest;
        self.largest = self.largest.max(size);
        is_largest
    }

    /// A new loss interval began.
    pub fn on_loss_event(&mut self) {
        // An interval in which nothing was sent would only push the others out.
        if self.intervals[0].packets > 0.0 {
            self.intervals.copy_within(0..Self::INTERVALS - 1, 1);
            self.intervals[0] = Sum::default();
        }
    }

    /// About a round-trip time has passed, in which something was sent.
    pub fn on_round_trip(&mut self) {
        for sum in &mut self.intervals {
            *sum = Sum { bytes: sum.bytes * Self::FADING, packets: sum.packets * Self::FADING };
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
        let bytes: f64 = self.intervals.iter().map(|sum| sum.bytes).sum();
        let packets: f64 = self.intervals.iter().map(|sum| sum.packets).sum();
        let mean =
            if packets > 0.0 { ByteCount::new((bytes / packets + 0.5) as u64) } else { self.expected() };
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
