//! The time of a packet on the slowest link, from times between arrivals that are not exact.

use whimbrel_units::Duration;

/// Samples in a block. The smallest ones of a block are looked at.
const BLOCK: u32 = 200;
/// How many of these are kept: the tenth part, beside the least of all.
const KEPT: usize = 21;
/// Blocks that are remembered: 3200 packets, 160 s of a flow of 150 kbit/s.
const BLOCKS: usize = 16;
/// The centre of times that jitter spreads around one value lies above their 10th percentile by this many times what that
/// lies above the first: 1.81 for the difference of two uniform delays, 1.23 for that of two normal ones.
const TO_CENTRE: f64 = 1.7;
/// How far they reach from there, likewise: 3.3 for two uniform delays; of two normal ones, one time in 1700 lies beyond.
const TO_EDGE: f64 = 3.3;
/// The part of a packet's time that jitter may be: beyond, times between packets do not tell how many are missing.
const TRUSTED: f64 = 1.0 / 3.0;

/// What is known of the time of a packet on the slowest link.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Estimate {
    /// T_min.
    pub(super) time: Duration,
    /// How far the time between two packets may be from what it would be without jitter.
    pub(super) spread: Duration,
    /// Whether the times between packets lie too far apart to tell it: `time` is the least then, and `spread` at most that.
    pub(super) is_hidden: bool,
}

impl Estimate {
    /// A time that nothing spreads.
    pub(super) fn exact(time: Duration) -> Self {
        Self { time, spread: Duration::ZERO, is_hidden: false }
    }
    /// T_min in nanoseconds.
    pub(super) fn nanos(&self) -> f64 {
        self.time.as_nanos() as f64
    }
}

/// Estimates the time of a packet from the small ones among the times between arrivals.
///
/// Of each block of 200 samples, the first and the 10th percentile. Without jitter both are the time of a packet, as long as one packet
/// in ten comes right behind another; with jitter, what lies between them tells how far it spreads, and the time lies above.
/// Where they lie too far apart for that, packets do not come back to back, or jitter hides it, and the first percentile
/// stands alone. The least estimate of the last 16 blocks counts. The two least times of a block have no influence.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketTime {
    /// The least of the current block, in order.
    low: [Duration; KEPT],
    samples: u32,
    /// Those of the last blocks, in a ring.
    blocks: [Option<Estimate>; BLOCKS],
    next: usize,
}

impl Default for PacketTime {
    fn default() -> Self {
        Self { low: [Duration::ZERO; KEPT], samples: 0, blocks: [None; BLOCKS], next: 0 }
    }
}

impl PacketTime {
    /// A packet took that long after the one before it.
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

    /// What is known so far; nothing without a sample.
    pub(super) fn estimate(&self) -> Option<Estimate> {
        let least = self.blocks.iter().flatten().copied().min_by_key(|estimate| estimate.time);
        least.or_else(|| (self.samples > 0).then(|| self.of_block()))
    }

    /// What the current block says, which has a sample; the least one is left out where there are others.
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
