//! The time between packets that arrive.

use alloc::boxed::Box;

use whimbrel_units::{ByteCount, Duration, Instant};

use super::PacketArrival;
use super::packet_time::{Estimate, PacketTime};

/// The time between two arrivals, and T_min, the time of a packet on the slowest link (paper, Section 3.1).
///
/// Packets without application data are left out: they are shorter than what T_min is to measure,
/// the time that a data packet takes on the slowest link.
#[derive(Clone, Debug)]
pub(super) enum InterArrival {
    /// As published: T_min is the least time between any two arrivals, and is never forgotten.
    Published { last: Option<Instant>, minimum: Option<Duration> },
    /// What a single odd arrival, and jitter, do not spoil.
    Robust(Box<RobustIntervals>),
}

impl InterArrival {
    /// As the paper has it.
    pub(super) const PUBLISHED: Self = Self::Published { last: None, minimum: None };

    /// One that has seen nothing yet.
    pub(super) fn new(is_robust: bool) -> Self {
        if is_robust { Self::Robust(Box::default()) } else { Self::PUBLISHED }
    }
    /// The same kind, which has seen nothing yet.
    pub(super) fn forget(&mut self) {
        *self = Self::new(matches!(self, Self::Robust(_)));
    }
    /// A packet arrived. The time since the one before, where there was one to reckon from.
    pub(super) fn on_arrival(&mut self, arrival: &PacketArrival) -> Option<Duration> {
        match self {
            Self::Robust(robust) => robust.on_arrival(arrival),
            Self::Published { .. } if arrival.size == ByteCount::ZERO => None,
            Self::Published { last, minimum } => {
                let interval = arrival.at - last.replace(arrival.at)?;
                *minimum = Some(minimum.map_or(interval, |minimum| minimum.min(interval)));
                Some(interval)
            }
        }
    }
    /// T_min, and how far jitter spreads the times around it.
    pub(super) fn estimate(&self) -> Option<Estimate> {
        match self {
            Self::Published { minimum, .. } => minimum.map(Estimate::exact),
            Self::Robust(robust) => robust.time.estimate(),
        }
    }
    /// T_i: the time across a gap that the last arrival revealed, where `said` is what the record of receptions makes of it. That
    /// reckons from whatever arrived last; a robust one from the packet with the greatest number before the gap.
    pub(super) fn across_gap(&self, said: Duration) -> Duration {
        match self {
            Self::Published { .. } => said,
            Self::Robust(robust) => robust.across_gap.unwrap_or(said),
        }
    }
}

/// Times between data packets with consecutive numbers. Duplicates and late packets, which have not come from the
/// slowest link one after the other, are left out.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RobustIntervals {
    /// The greatest number of all, and when that packet arrived.
    greatest: Option<(u64, Instant)>,
    /// When the newest data packet arrived.
    last_data: Option<Instant>,
    /// Between the packet with the greatest number and the one before it, whatever they carry.
    across_gap: Option<Duration>,
    batch: Option<Batch>,
    time: PacketTime,
}

/// Packets that arrive within this time may have been handed over together by a network interface or an operating system that
/// coalesces what it receives: their times are not those at which they came from the link.
const COALESCED: Duration = Duration::from_micros(50);

/// Data packets with consecutive numbers that arrived together. Mostly there is one.
#[derive(Clone, Copy, Debug)]
struct Batch {
    at: Instant,
    /// Packets in it.
    count: u64,
    /// Since the batch before, where nothing is missing in between.
    since: Option<Duration>,
}

impl RobustIntervals {
    fn on_arrival(&mut self, arrival: &PacketArrival) -> Option<Duration> {
        let PacketArrival { at, sequence, size, .. } = *arrival;
        if let Some((greatest, when)) = self.greatest {
            if sequence <= greatest {
                return None;
            }
            // Where packets wait for those before them, one may be shown after another that arrived later.
            self.across_gap = (at >= when).then(|| at - when);
        }
        let before = self.greatest.replace((sequence, at));
        if size == ByteCount::ZERO {
            return None;
        }
        let Some(last) = self.last_data.replace(at) else {
            self.insert(at, false);
            return None;
        };
        let is_adjacent = before.is_some_and(|(number, _)| number + 1 == sequence) && at >= last;
        self.insert(at, is_adjacent);
        (at >= last).then(|| at - last)
    }

    /// A data packet arrived, right after the one before it or not. The time of a packet is known when its batch is complete: the
    /// link has sent the packets of the batch since the batch before.
    fn insert(&mut self, at: Instant, is_adjacent: bool) {
        match &mut self.batch {
            Some(batch) if is_adjacent && at - batch.at < COALESCED => batch.count += 1,
            batch => {
                if let Some(Batch { count, since: Some(since), .. }) = *batch {
                    self.time.add(since / count);
                }
                let since = batch.filter(|_| is_adjacent).map(|batch| at - batch.at);
                *batch = Some(Batch { at, count: 1, since });
            }
        }
    }
}
