//! Arrival times of datagrams.
//!
//! A driver receives packets in batches, some time after their arrival. Kernels timestamp each packet on
//! arrival, on the system's clock. Datagrams that the kernel coalesced (GRO) have one such timestamp for the
//! batch, the arrival time of the last of them.

use std::net::SocketAddr;
use std::time::Duration as StdDuration;

use rustc_hash::FxHashMap;
use whimbrel_units::{Duration, Instant};

use crate::clock::Clock;

#[cfg(test)]
mod tests;

/// The most peers with a stored rate. Beyond that all are measured again.
const MAX_PEERS: usize = 4096;
/// The longest time over which a batch arrives: kernels and network cards coalesce packets that arrive close
/// together, Wi-Fi and modems the packets of one burst of some milliseconds.
const LONGEST_BATCH: Duration = Duration::from_millis(5);
/// The weight of a new sample of a peer's rate.
const SAMPLE_WEIGHT: f64 = 0.125;

/// Arrival times of datagrams.
#[derive(Debug)]
pub(crate) struct ArrivalTimes {
    clock: Clock,
    kernel: KernelTime,
    peers: FxHashMap<SocketAddr, Pace>,
}

impl ArrivalTimes {
    pub(crate) fn new(clock: Clock) -> Self {
        Self { clock, kernel: KernelTime::default(), peers: FxHashMap::default() }
    }

    /// Arrival times of the datagrams of one receive call, of `stride` bytes each but for the last, `length`
    /// in all. `stamp` is the kernel's timestamp, since 1970; without it, the present time is used.
    pub(crate) fn of(
        &mut self,
        remote: SocketAddr,
        stamp: Option<StdDuration>,
        length: usize,
        stride: usize,
    ) -> Option<Batch> {
        let stamp = stamp?;
        let last = self.kernel.arrival(stamp, &self.clock);
        if self.peers.len() >= MAX_PEERS && !self.peers.contains_key(&remote) {
            self.peers.clear();
        }
        let spacing = self.peers.entry(remote).or_default().spacing(last, length, stride);
        let behind = length.div_ceil(stride.max(1)).saturating_sub(1) as u64;
        Some(Batch { next: last.saturating_sub(spacing * behind), spacing })
    }
}

/// The times of the datagrams of a batch, in order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Batch {
    next: Instant,
    spacing: Duration,
}

impl Iterator for Batch {
    type Item = Instant;

    fn next(&mut self) -> Option<Instant> {
        let next = self.next;
        self.next = next + self.spacing;
        Some(next)
    }
}

/// Turns times of the system's clock into instants of the driver's.
///
/// The system's clock may be set at any time, also between the arrival of a packet and its reception here.
/// Both offsets between the clocks are then tried: a packet did not arrive in the future, and not before the
/// one in front of it.
#[derive(Debug, Default)]
pub(crate) struct KernelTime {
    /// Offset by which the system's clock was ahead when last read, in nanoseconds.
    offset: Option<i64>,
    /// The offset before the clock was set, while packets from before that may remain.
    earlier: Option<i64>,
    /// Arrival time of the last packet.
    last: Instant,
}

impl KernelTime {
    /// A change of the offset by more than this is not a correction of the clock's rate.
    const STEP: i64 = 1_000_000;
    /// Largest disorder of packets that arrive on several processors at once, in nanoseconds.
    const DISORDER: i64 = 1_000_000;
    /// Largest error of a reading of the two clocks, in nanoseconds.
    const UNCERTAINTY: i64 = 100_000;

    /// Arrival time on `clock` of a packet that the kernel stamped with `stamp` and that was just received.
    pub(crate) fn arrival(&mut self, stamp: StdDuration, clock: &Clock) -> Instant {
        let offset = clock.behind_system();
        self.place(stamp, offset, clock.now())
    }

    /// Arrival time of a packet that the kernel stamped with `stamp`. `offset` is the present lead of the
    /// system's clock.
    fn place(&mut self, stamp: StdDuration, offset: i64, now: Instant) -> Instant {
        if let Some(known) = self.offset.replace(offset)
            && (offset - known).abs() > Self::STEP
        {
            self.earlier = Some(known);
        }
        let (stamp, now_nanos) = (stamp.as_nanos() as i64, now.as_nanos() as i64);
        let possible = |at: &i64| {
            *at <= now_nanos + Self::UNCERTAINTY && *at + Self::DISORDER >= self.last.as_nanos() as i64
        };
        let current = Some(stamp - offset).filter(possible);
        let earlier = self.earlier.map(|earlier| stamp - earlier).filter(possible);
        if current.is_some() && current > earlier {
            // The packets behind it arrived later.
            self.earlier = None;
        }
        let at = match current.max(earlier) {
            Some(at) => Instant::from_nanos(at.clamp(0, now_nanos) as u64),
            None => now,
        };
        self.last = at;
        at
    }
}

/// An estimate of the rate of a peer's datagrams.
#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    last: Option<Instant>,
    /// Nanoseconds for each byte, averaged.
    per_byte: Option<f64>,
}

impl Pace {
    /// The time between two datagrams of a batch of `length` bytes that was complete at `at`: their length at
    /// the peer's average rate, but at most the time since the last arrival.
    fn spacing(&mut self, at: Instant, length: usize, stride: usize) -> Duration {
        let gap = self.last.replace(at).map(|last| at - last);
        let (Some(gap), true) = (gap, length > 0) else { return Duration::ZERO };
        let known = self.per_byte;
        let sample = gap.as_nanos() as f64 / length as f64;
        self.per_byte = Some(known.map_or(sample, |known| known + SAMPLE_WEIGHT * (sample - known)));
        let count = length.div_ceil(stride.max(1)) as u64;
        if count < 2 {
            return Duration::ZERO;
        }
        let longest = gap.min(LONGEST_BATCH) / count;
        let expected = known.map_or(longest, |known| Duration::from_nanos((known * stride as f64) as u64));
        expected.min(longest)
    }
}
