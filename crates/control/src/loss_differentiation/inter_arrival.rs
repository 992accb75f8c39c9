//! Inter-arrival times.

use alloc::boxed::Box;

use whimbrel_units::{ByteCount, Duration, Instant};

use super::PacketArrival;
use super::packet_time::{Estimate, PacketTime};

/// Inter-arrival times and T_min, the transmission time of a packet on the slowest link (paper, Section 3.1).
///
/// Packets without application data are ignored: they are shorter than the data packets whose transmission
/// time T_min estimates.
#[derive(Clone, Debug)]
pub(super) enum InterArrival {
    /// As published: T_min is the minimum time between any two arrivals and never expires.
    Published { last: Option<Instant>, minimum: Option<Duration> },
    /// Tolerates single outliers and jitter.
    Robust(Box<RobustIntervals>),
}

impl InterArrival {
    /// The variant of the paper.
    pub(super) const PUBLISHED: Self = Self::Published { last: None, minimum: None };

    /// The robust or the published variant, without samples.
    pub(super) fn new(is_robust: bool) -> Self {
        if is_robust { Self::Robust(Box::default()) } else { Self::PUBLISHED }
    }

    /// Resets to the same variant without samples.
    pub(super) fn forget(&mut self) {
        *self = Self::new(matches!(self, Self::Robust(_)));
    }

    /// Processes an arrival and returns the time since the previous one, if there is one to measure from.
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

    /// The estimate of T_min, and the spread of the samples by jitter.
    pub(super) fn estimate(&self) -> Option<Estimate> {
        match self {
            Self::Published { minimum, .. } => minimum.map(Estimate::exact),
            Self::Robust(robust) => robust.time.estimate(),
        }
    }

    /// T_i: time across the gap revealed by the last arrival. `measured` is the time according to the loss
    /// detector, which measures from the latest arrival; the robust variant measures from the packet with the
    /// greatest sequence number before the gap.
    pub(super) fn across_gap(&self, measured: Duration) -> Duration {
        match self {
            Self::Published { .. } => measured,
            Self::Robust(robust) => robust.across_gap.unwrap_or(measured),
        }
    }
}

/// Times between data packets with consecutive sequence numbers. Duplicates and late packets are ignored, as
/// they did not leave the slowest link one after the other.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RobustIntervals {
    /// Greatest sequence number so far, and its arrival time.
    greatest: Option<(u64, Instant)>,
    /// Arrival time of the newest data packet.
    last_data: Option<Instant>,
    /// Time between the packet with the greatest sequence number and the previous one, with or without data.
    across_gap: Option<Duration>,
    batch: Option<Batch>,
    time: PacketTime,
}

/// Packets that arrive within this time may have been delivered together by a network interface or an
/// operating system that coalesces receives: their arrival times do not show when they left the link.
const COALESCED: Duration = Duration::from_micros(50);

/// Data packets with consecutive sequence numbers that arrived together; usually one.
#[derive(Clone, Copy, Debug)]
struct Batch {
    at: Instant,
    /// Number of packets in the batch.
    count: u64,
    /// Time since the previous batch, if no packet is missing in between.
    since: Option<Duration>,
}

impl RobustIntervals {
    fn on_arrival(&mut self, arrival: &PacketArrival) -> Option<Duration> {
        let PacketArrival { at, sequence, size, .. } = *arrival;
        if let Some((greatest, when)) = self.greatest {
            if sequence <= greatest {
                return None;
            }
            // If packets were resequenced, one may be presented after another that arrived later.
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

    /// Adds a data packet. The packet time is known when its batch is complete: the link transmitted the
    /// packets of the batch since the previous batch.
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
