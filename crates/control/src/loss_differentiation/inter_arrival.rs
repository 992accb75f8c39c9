//! The time between packets that arrive.

use whimbrel_units::{ByteCount, Duration, Instant};

use super::PacketArrival;

/// The least time between two arrivals, T_min (paper, Section 3.1).
///
/// Packets without application data are left out: they are shorter than what T_min is to measure,
/// the time that a data packet takes on the slowest link.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct InterArrival {
    last: Option<Instant>,
    minimum: Option<Duration>,
}

impl InterArrival {
    /// A packet arrived. The time since the one before, where there was one.
    pub(super) fn on_arrival(&mut self, arrival: &PacketArrival) -> Option<Duration> {
        if arrival.size == ByteCount::ZERO {
            return None;
        }
        let interval = arrival.at - self.last.replace(arrival.at)?;
        self.minimum = Some(self.minimum.map_or(interval, |minimum| minimum.min(interval)));
        Some(interval)
    }
    /// T_min.
    pub(super) fn minimum(&self) -> Option<Duration> {
        self.minimum
    }
}
