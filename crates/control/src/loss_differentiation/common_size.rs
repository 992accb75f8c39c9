//! Selection of the packets whose trip times can be compared.

use whimbrel_units::ByteCount;

use super::{PacketArrival, Rott};

/// Sizes that count as alike: from this fraction of a size to its inverse.
const ALIKE: f64 = 0.75;
/// Weight of a packet of the common size, in packets of other sizes: with an eighth of the packets it stays.
const WEIGHT: i32 = 7;
/// Largest score of a size: it outlasts 56 packets of other sizes in a row.
const SCORE: i32 = 8 * WEIGHT;

/// Trip times of packets of a common size.
///
/// The transmission time of a packet is part of its trip time. On a link of 4 Mbit/s an acknowledgement is
/// 2.3 ms faster than 1,200 bytes, a difference that a range of trip times mistakes for a queue. Only packets
/// of about the same size have a trip time here, and that size lasts until hardly any packet has it: each
/// change discards what is known of the queue. Rare packets that are larger have no trip time. Where a relay
/// divides most datagrams in two, those that pass undivided are the largest, and most random losses counted
/// as congestion when these had the trip times.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CommonSize {
    /// The common size; zero at first.
    size: ByteCount,
    /// Evidence for it.
    score: i32,
}

impl CommonSize {
    /// Trip time of `arrival`, if the packet is of the common size and carries its send time.
    pub(super) fn trip_time(&mut self, arrival: &PacketArrival) -> TripTime {
        let Some(rott) = Rott::of(arrival) else { return TripTime::None };
        let (size, common) = (arrival.size.as_f64(), self.size.as_f64());
        let is_common = (ALIKE * common..=common / ALIKE).contains(&size);
        self.score = (self.score + if is_common { WEIGHT } else { -1 }).min(SCORE);
        let is_first = self.score < 0;
        if is_first {
            *self = Self { size: arrival.size, score: WEIGHT };
        }
        match (is_first, is_common) {
            (true, _) => TripTime::First(rott),
            (false, true) => TripTime::Next(rott),
            (false, false) => TripTime::None,
        }
    }
}

/// A trip time and what it can be compared with.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum TripTime {
    /// The packet has no send time, or another size.
    None,
    /// No trip time before can be compared with this one: another size was common.
    First(Rott),
    /// Trip time of a packet of the same size.
    Next(Rott),
}

/// Trip time of `arrival`, of a packet of the common size where `sizes` are known; any one otherwise.
pub(super) fn trip_time(sizes: &mut Option<CommonSize>, arrival: &PacketArrival) -> TripTime {
    match sizes {
        Some(sizes) => sizes.trip_time(arrival),
        None => Rott::of(arrival).map_or(TripTime::None, TripTime::Next),
    }
}
