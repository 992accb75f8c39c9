//! Transmission time of a packet on the slowest link, estimated from inexact inter-arrival times.

use whimbrel_units::Duration;

/// Number of samples in a block, of which the smallest are used.
const BLOCK: u32 = 200;
/// Number of smallest samples kept per block: a tenth, and the minimum.
const KEPT: usize = 21;
/// Number of blocks kept: 3200 packets, 160 s of a flow of 150 kbit/s.
const BLOCKS: usize = 16;
/// Distance between the centre of samples spread by jitter and their 10th percentile, as a multiple of the
/// distance between the 10th and the first percentile: 1.81 for the difference of two uniform delays, 1.23
/// for two normal ones.
const TO_CENTRE: f64 = 1.7;
/// Distance between the centre and the edge of the samples, likewise: 3.3 for two uniform delays; with two
/// normal ones, one sample in 1700 lies beyond.
const TO_EDGE: f64 = 3.3;
/// Largest jitter, as a fraction of the packet time, at which inter-arrival times still show the number of
/// missing packets.
const TRUSTED: f64 = 1.0 / 3.0;

/// Estimated transmission time of a packet on the slowest link.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Estimate {
    /// T_min.
    pub(super) time: Duration,
    /// Greatest deviation of an inter-arrival time caused by jitter.
    pub(super) spread: Duration,
    /// `true` if the samples are too spread for an estimate: `time` is then the minimum and `spread` is
    /// limited to it.
    pub(super) is_hidden: bool,
}

impl Estimate {
    /// An estimate without jitter.
    pub(super) fn exact(time: Duration) -> Self {
        Self { time, spread: Duration::ZERO, is_hidden: false }
    }

    /// T_min in nanoseconds.
    pub(super) fn nanos(&self) -> f64 {
        self.time.as_nanos() as f64
    }
}

/// Estimates the packet time from the smallest inter-arrival times.
///
/// The estimate uses the first and the 10th percentile of each block of 200 samples. Without jitter both
/// equal the packet time, as long as one packet in ten directly follows another; with jitter, their distance
/// shows the spread, and the packet time lies above both. If they are too far apart, packets are not sent
/// back to back or jitter hides the packet time, and the first percentile is used alone. The result is the
/// minimum over the last 16 blocks. The two smallest samples of a block have no influence.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketTime {
    /// Smallest samples of the current block, in ascending order.
    low: [Duration; KEPT],
    samples: u32,
    /// Estimates of the last blocks, as a ring buffer.
    blocks: [Option<Estimate>; BLOCKS],
    next: usize,
}

impl Default for PacketTime {
    fn default() -> Self {
        Self { low: [Duration::ZERO; KEPT], samples: 0, blocks: [None; BLOCKS], next: 0 }
    }
}

impl PacketTime {
    /// Adds the time between a packet and its predecessor.
    pub(super) fn add(&mut self, sample: Duration) {
        let held = KEPT.min(self.samples as usize);
        let place = self.low[..held].partition_point(|low| *low <= sample);
        if place < KEPT {
            self.low.copy_within(place..held.min(KEPT - 1), place + 1);
            self.low[place] = sample;
        }
        self.samples += 1;
        if self.samples == BLOCK {
            self.blocks[self.next] = Some(self.of_block());
            self.next = (self.next + 1) % BLOCKS;
            self.samples = 0;
        }
    }

    /// The current estimate; `None` without a sample.
    pub(super) fn estimate(&self) -> Option<Estimate> {
        let least = self.blocks.iter().flatten().copied().min_by_key(|estimate| estimate.time);
        least.or_else(|| (self.samples > 0).then(|| self.of_block()))
    }

    /// The estimate of the current block, which has a sample; the minimum is ignored if there are others.
    fn of_block(&self) -> Estimate {
        let rank = |percent: u32| (self.samples * percent).div_ceil(100).min(self.samples - 1) as usize;
        let [first, tenth] = [1, 10].map(|percent| self.low[rank(percent)]);
        let apart = (tenth - first).as_nanos() as f64;
        let (time, spread) = (tenth.as_nanos() as f64 + TO_CENTRE * apart, TO_EDGE * apart);
        if spread <= TRUSTED * time {
            Estimate { time: nanos(time), spread: nanos(spread), is_hidden: false }
        } else {
            Estimate { time: first, spread: nanos(spread).min(first), is_hidden: true }
        }
    }
}

fn nanos(value: f64) -> Duration {
    Duration::from_nanos(value as u64)
}
