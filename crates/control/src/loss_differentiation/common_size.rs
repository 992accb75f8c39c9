//! Selection of the packets whose trip times can be compared.

use whimbrel_units::ByteCount;

use super::{PacketArrival, Rott};

/// Sizes that count as alike: from this fraction of a size to its inverse.
const ALIKE: f64 = 0.75;
/// Weight of a packet of the common size, in packets that are smaller. With an eighth of the packets a size
/// stays the common one.
const WEIGHT: i32 = 7;
/// Weight of a packet that is larger: with an eighth of the packets, a larger size becomes the common one.
const LARGER: i32 = WEIGHT * WEIGHT;
/// Largest score of a size: it outlasts 224 smaller packets, or four larger ones, in a row.
const SCORE: i32 = 32 * WEIGHT;

/// Trip times of packets of a common size.
///
/// The transmission time of a packet is part of its trip time. On a link of 4 Mbit/s an acknowledgement is
/// 2.3 ms faster than 1,200 bytes, a difference that a range of trip times mistakes for a queue. Only packets
/// of about the same size have a trip time here: of the largest size that an eighth of the packets have. Rare
/// packets that are larger have none either. Where a relay divides most datagrams in two, those that pass
/// undivided are the largest, and most random losses counted as congestion when these had the trip times.
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
        let (size, common) = (arrival.size.as_f64(), self.size.as_f64());
        let is_common = size > 0.0 && (ALIKE * common..=common / ALIKE).contains(&size);
        self.score += match is_common {
            true => WEIGHT,
            false if size > common => -LARGER,
            false => -1,
        };
        self.score = self.score.min(SCORE);
        let is_first = self.score < 0;
        if is_first {
            *self = Self { size: arrival.size, score: WEIGHT };
        }
        match Rott::of(arrival) {
            Some(rott) if is_first => TripTime::First(rott),
            Some(rott) if is_common => TripTime::Next(rott),
            _ => TripTime::None,
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
