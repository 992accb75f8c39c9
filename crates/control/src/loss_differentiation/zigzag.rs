//! ZigZag: classification by the deviation of the trip time from its mean.

use super::common_size::{CommonSize, TripTime, trip_time};
use super::{ComparedTrip, Evidence, LossClass, LossDifferentiation, LossGap, PacketArrival, Rott};

/// Compares the trip time at a loss with its mean, more leniently the more packets are missing (paper,
/// Section 3.3).
///
/// Under a sawtooth congestion control, congestion losses occur at the peaks. With `d = rott - rott_mean`, a
/// loss of n packets is wireless if `d` is below `-rott_dev` (n = 1), `-rott_dev / 2` (n = 2), 0 (n = 3) or
/// `rott_dev / 2` (more). Without trip times, every loss is congestion.
///
/// In the [robust](Self::robust) variant, only packets of a common size have a trip time, since transmission
/// times are part of it.
#[derive(Clone, Debug)]
pub struct ZigZag {
    gain: f64,
    compared: ComparedTrip,
    sizes: Option<CommonSize>,
    statistics: Option<Statistics>,
    evidence: Evidence,
}

/// Mean and deviation of the trip time, relative to the first one to preserve precision.
#[derive(Clone, Copy, Debug)]
struct Statistics {
    first: Rott,
    /// The last trip time but one.
    previous: Rott,
    last: Rott,
    mean: f64,
    deviation: f64,
}

impl ZigZag {
    /// Weight of a new sample in the mean; its weight in the deviation is twice that.
    pub const GAIN: f64 = 1.0 / 32.0;

    /// ZigZag with the paper's gain.
    pub fn new() -> Self {
        Self::with_gain(Self::GAIN)
    }

    /// ZigZag with another gain, between 0 and 1/2.
    pub fn with_gain(gain: f64) -> Self {
        let compared = ComparedTrip::Revealing;
        Self { gain, compared, sizes: None, statistics: None, evidence: Evidence::None }
    }

    /// Tolerates packets of several sizes.
    #[must_use]
    pub fn robust(self) -> Self {
        Self { sizes: Some(CommonSize::default()), ..self }
    }

    /// Selects the packet whose trip time is compared.
    #[must_use]
    pub fn comparing(self, compared: ComparedTrip) -> Self {
        Self { compared, ..self }
    }

    /// rott_dev in nanoseconds.
    pub(super) fn deviation(&self) -> Option<f64> {
        self.statistics.map(|statistics| statistics.deviation)
    }
}

impl Default for ZigZag {
    fn default() -> Self {
        Self::new()
    }
}

impl LossDifferentiation for ZigZag {
    fn on_arrival(&mut self, arrival: &PacketArrival) {
        let rott = match trip_time(&mut self.sizes, arrival) {
            TripTime::None => return,
            TripTime::First(rott) => {
                self.statistics = None;
                rott
            }
            TripTime::Next(rott) => rott,
        };
        let Some(known) = &mut self.statistics else {
            self.statistics =
                Some(Statistics { first: rott, previous: rott, last: rott, mean: 0.0, deviation: 0.0 });
            return;
        };
        known.previous = core::mem::replace(&mut known.last, rott);
        let sample = rott - known.first;
        // In the order printed in the paper: the deviation is from the new mean.
        known.mean = (1.0 - self.gain) * known.mean + self.gain * sample;
        let distance = (sample - known.mean).abs();
        known.deviation = (1.0 - 2.0 * self.gain) * known.deviation + 2.0 * self.gain * distance;
    }

    fn classify(&mut self, gap: &LossGap) -> LossClass {
        let Some(Statistics { first, previous, last, mean, deviation }) = self.statistics else {
            self.evidence = Evidence::None;
            return LossClass::Congestion;
        };
        let rott = match self.compared {
            ComparedTrip::Revealing => last,
            ComparedTrip::BeforeGap => previous,
        };
        self.evidence = Evidence::ZigZag { rott, mean: first.0 as f64 + mean, deviation, count: gap.count };
        let below = match gap.count {
            0 | 1 => -deviation,
            2 => -deviation / 2.0,
            3 => 0.0,
            _ => deviation / 2.0,
        };
        LossClass::wireless_if((rott - first) - mean < below)
    }

    fn evidence(&self) -> Evidence {
        self.evidence
    }

    fn on_path_change(&mut self) {
        let sizes = self.sizes.map(|_| CommonSize::default());
        *self = Self { sizes, ..Self::with_gain(self.gain).comparing(self.compared) };
    }
}
