//! Q: the maximum number of held packets.

use whimbrel_units::{ByteCount, DataRate, Duration};

/// The weight of a new packet in the mean size, as a power of two: 1/16.
const SHIFT: u32 = 4;

/// The size of a buffer, in packets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum BufferSize {
    /// This number: the paper uses 12 for video and 5 for voice (Section III).
    Fixed(u32),
    /// Q = R_peak D_max (Section II.A), with the mean size of the received packets.
    Peak(DataRate),
    /// Q = X D_max (equation (2)), with X set by [`ReorderBuffer::set_rate`](super::ReorderBuffer::set_rate);
    /// no limit until then.
    Dynamic,
}

/// Converts a rate into a number of packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizing {
    size: BufferSize,
    delay: Duration,
    /// X of [`BufferSize::Dynamic`].
    rate: DataRate,
    /// The mean size of packets in sixteenths of a byte; zero before the first.
    mean: u64,
}

impl Sizing {
    pub(super) fn new(size: BufferSize, delay: Duration) -> Self {
        Self { size, delay, rate: DataRate::INFINITE, mean: 0 }
    }

    pub(super) fn on_packet(&mut self, size: ByteCount) {
        let size = size.as_u64();
        self.mean = match self.mean {
            0 => size << SHIFT,
            mean => mean - (mean >> SHIFT) + size,
        };
    }

    pub(super) fn set_size(&mut self, size: BufferSize) {
        self.size = size;
    }

    pub(super) fn set_rate(&mut self, rate: DataRate) {
        self.rate = rate;
    }

    pub(super) fn set_delay(&mut self, delay: Duration) {
        self.delay = delay;
    }

    /// Q, at least one.
    pub(super) fn packets(&self) -> usize {
        let rate = match self.size {
            BufferSize::Fixed(packets) => return (packets as usize).max(1),
            BufferSize::Peak(rate) => rate,
            BufferSize::Dynamic => self.rate,
        };
        let mean = (self.mean as f64 / f64::from(1u32 << SHIFT)).max(1.0);
        let packets = rate.as_bytes_per_second() * self.delay.as_secs_f64() / mean;
        // The cast saturates.
        (packets as usize).max(1)
    }
}
