//! Selection of the packets whose trip times can be compared.

use whimbrel_units::ByteCount;

use super::{PacketArrival, Rott};

/// Number of arrivals in a period over which the largest packet is known.
const PERIOD: u32 = 256;
/// Size from which a packet counts as full, as a fraction of the largest.
const FULL: f64 = 0.75;

/// Trip times of full-size packets.
///
/// The transmission time of a packet is part of its trip time. On a link of 4 Mbit/s an acknowledgement is
/// 2.3 ms faster than 1,200 bytes, a difference that a range of trip times mistakes for a queue. Packets
/// smaller than three quarters of the largest of the last 256 to 512 arrivals have no trip time here.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullSize {
    /// Largest packet of the current period, and of this and the previous one.
    current: ByteCount,
    largest: ByteCount,
    arrivals: u32,
}

impl FullSize {
    /// Trip time of `arrival`, if the packet is of full size and carries its send time.
    pub(super) fn trip_time(&mut self, arrival: &PacketArrival) -> TripTime {
        let size = arrival.size;
        let is_full = size > ByteCount::ZERO && size.as_f64() >= FULL * self.largest.as_f64();
        let is_first = self.largest.as_f64() < FULL * size.as_f64();
        self.current = self.current.max(size);
        self.largest = self.largest.max(size);
        self.arrivals += 1;
        if self.arrivals == PERIOD {
            *self = Self { current: ByteCount::ZERO, largest: self.current, arrivals: 0 };
        }
        match Rott::of(arrival) {
            Some(rott) if is_first => TripTime::First(rott),
            Some(rott) if is_full => TripTime::Next(rott),
            _ => TripTime::None,
        }
    }
}

/// A trip time and what it can be compared with.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum TripTime {
    /// The packet has no send time, or is small.
    None,
    /// No trip time before can be compared with this one: the packets were small.
    First(Rott),
    /// Trip time of a packet of the same size.
    Next(Rott),
}

/// Trip time of `arrival`, of a full-size packet where `sizes` are known; any one otherwise.
pub(super) fn trip_time(sizes: &mut Option<FullSize>, arrival: &PacketArrival) -> TripTime {
    match sizes {
        Some(sizes) => sizes.trip_time(arrival),
        None => Rott::of(arrival).map_or(TripTime::None, TripTime::Next),
    }
}
