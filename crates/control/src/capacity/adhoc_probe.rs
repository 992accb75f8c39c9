//! AdHoc Probe: the path capacity from packet pairs.

use whimbrel_units::{ByteCount, DataRate, Instant};

/// The arrival of a probe packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProbeArrival {
    /// Number of the pair.
    pub pair: u64,
    /// `true` for the second packet of the pair.
    pub is_second: bool,
    /// Send time on the sender's clock.
    pub sent: Instant,
    /// Arrival time on the receiver's clock.
    pub received: Instant,
}

impl ProbeArrival {
    /// One-way delay in nanoseconds with an unknown offset of the clocks.
    fn delay(&self) -> i128 {
        i128::from(self.received.as_nanos()) - i128::from(self.sent.as_nanos())
    }
}

/// AdHoc Probe (Chen et al., "AdHoc Probe: path capacity probing in wireless ad hoc networks", Wireless
/// Networks 15(1), 2009).
///
/// The sender sends pairs of packets of one size back to back. The receiver takes the pair with the minimum
/// sum of one-way delays, which most probably had to wait for no other traffic, and divides the size by the
/// time between its two arrivals. A constant offset of the clocks does not change the order of the sums.
/// Pairs of which a packet is lost, or which arrive in the wrong order, are not used.
#[derive(Clone, Debug)]
pub struct AdHocProbe {
    size: ByteCount,
    first: Option<ProbeArrival>,
    /// Minimum sum of delays in nanoseconds, and the dispersion of its pair in nanoseconds.
    best: Option<(i128, u64)>,
    pairs: u64,
}

impl AdHocProbe {
    /// Pairs per estimate in the authors' implementation.
    pub const PAIRS: u64 = 200;

    /// A receiver of packets of `size`.
    pub fn new(size: ByteCount) -> Self {
        Self { size, first: None, best: None, pairs: 0 }
    }

    /// Processes an arrival.
    pub fn on_arrival(&mut self, arrival: &ProbeArrival) {
        if !arrival.is_second {
            self.first = Some(*arrival);
            return;
        }
        let Some(first) = self.first.take().filter(|first| first.pair == arrival.pair) else { return };
        let dispersion = arrival.received.saturating_since(first.received).as_nanos();
        if dispersion == 0 {
            return;
        }
        self.pairs += 1;
        let sum = first.delay() + arrival.delay();
        if self.best.is_none_or(|(least, _)| sum < least) {
            self.best = Some((sum, dispersion));
        }
    }

    /// Complete pairs so far.
    pub fn pairs(&self) -> u64 {
        self.pairs
    }

    /// The capacity of the path; `None` before a complete pair.
    pub fn capacity(&self) -> Option<DataRate> {
        self.best.map(|(_, dispersion)| {
            DataRate::from_bits_per_second(self.size.as_f64() * 8.0 / (dispersion as f64 * 1e-9))
        })
    }

    /// Begins the next estimate.
    pub fn restart(&mut self) {
        *self = Self::new(self.size);
    }
}
