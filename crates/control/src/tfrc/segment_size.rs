//! s: the segment size.

use whimbrel_units::ByteCount;

#[cfg(test)]
mod tests;

/// Rule for s, in application data per packet (RFC 5348, Section 4.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SegmentSize {
    /// A fixed size, regardless of the packets' sizes, such as TFRC-SP's nominal size (RFC 4828) or the
    /// maximum segment size (RFC 5348, Section 4.1). The equation then gives the bytes per second of a TCP
    /// with segments of that size.
    Fixed(ByteCount),
    /// The average over the last four loss intervals, with a higher weight for recent round-trip times.
    Average {
        /// Size assumed until a packet is sent.
        expected: ByteCount,
    },
}

/// Measures the sizes of sent packets.
///
/// RFC 5348, Section 4.1, recommends (SHOULD) the average over the last four loss intervals, and RFC 4342,
/// Section 5.3, gives it as an example of one "over multiple round trip times". A stream with little or no
/// loss would keep its sizes for hours this way, and an equation applied to packets that it no longer sends
/// limits it to a small fraction of its rate, or allows many times as much. So the weight of old packets also
/// decays with each round-trip time.
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
    /// Factor by which the weight of older packets decays per round-trip time.
    const FADING: f64 = 15.0 / 16.0;

    /// A meter without samples.
    pub fn new(mode: SegmentSize) -> Self {
        Self { mode, intervals: [Sum::default(); Self::INTERVALS], largest: ByteCount::ZERO }
    }

    /// Processes the sending of a packet with `size` of application data. Returns `true` if it is the largest
    /// so far.
    #[inline]
    pub fn on_sent(&mut self, size: ByteCount) -> bool {
        self.intervals[0].bytes += size.as_f64();
        self.intervals[0].packets += 1.0;
        let is_largest = size > self.largest;
        self.largest = self.largest.max(size);
        is_largest
    }

    /// Starts a new loss interval.
    pub fn on_loss_event(&mut self) {
        // An interval without packets would only displace the others.
        if self.intervals[0].packets > 0.0 {
            self.intervals.copy_within(0..Self::INTERVALS - 1, 1);
            self.intervals[0] = Sum::default();
        }
    }

    /// Processes the end of a round-trip time in which packets were sent.
    pub fn on_round_trip(&mut self) {
        for sum in &mut self.intervals {
            *sum = Sum { bytes: sum.bytes * Self::FADING, packets: sum.packets * Self::FADING };
        }
    }

    /// Sets the size expected until packets are sent; if s is fixed, sets s.
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

    /// The average size of sent packets, regardless of the rule for s; at least one byte.
    pub fn mean(&self) -> ByteCount {
        let bytes: f64 = self.intervals.iter().map(|sum| sum.bytes).sum();
        let packets: f64 = self.intervals.iter().map(|sum| sum.packets).sum();
        let mean =
            if packets > 0.0 { ByteCount::new((bytes / packets + 0.5) as u64) } else { self.expected() };
        mean.max(ByteCount::new(1))
    }

    /// The size that determines the initial window: the largest packet sent, or the given s (RFC
    /// 5348, Section 4.2).
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
