//! Spike: classification by the fill level of the path's queue.

use super::common_size::{CommonSize, TripTime, trip_time};
use super::{Evidence, LossClass, LossDifferentiation, LossGap, PacketArrival, Rott};

/// Tracks the relative one-way trip time through spikes (paper, Section 3.2).
///
/// The path enters the spike state when the trip time of a packet exceeds `rott_min + alpha (rott_max -
/// rott_min)` and leaves it when one is less than `rott_min + beta (rott_max - rott_min)`. Losses in the
/// spike state are congestion, others wireless. Without trip times, every loss is congestion.
///
/// In the [robust](Self::robust) variant, only packets of a common size have a trip time, since transmission
/// times are part of it, and the path is not in the spike state within 1 ms of the minimum: so much the
/// timestamps of a loaded host vary, and on a path without a queue they are the whole range.
#[derive(Clone, Debug)]
pub struct Spike {
    alpha: f64,
    beta: f64,
    range: Option<Range>,
    sizes: Option<CommonSize>,
    in_spike: bool,
    evidence: Evidence,
}

/// Range of trip times so far.
#[derive(Clone, Copy, Debug)]
struct Range {
    minimum: Rott,
    maximum: Rott,
    last: Rott,
}

impl Spike {
    /// Threshold for the start of a spike.
    pub const ALPHA: f64 = 0.5;
    /// Threshold for the end of a spike.
    pub const BETA: f64 = 1.0 / 3.0;
    /// Trip time above the minimum, in nanoseconds, up to which the robust variant sees no queue.
    const NOISE: f64 = 1e6;

    /// Spike with the paper's thresholds, 1/2 and 1/3.
    pub fn new() -> Self {
        Self::with_thresholds(Self::ALPHA, Self::BETA)
    }

    /// Spike with other thresholds; `alpha >= beta`.
    pub fn with_thresholds(alpha: f64, beta: f64) -> Self {
        Self { alpha, beta, range: None, sizes: None, in_spike: false, evidence: Evidence::None }
    }

    /// Tolerates packets of several sizes and timestamps that are not exact.
    #[must_use]
    pub fn robust(self) -> Self {
        Self { sizes: Some(CommonSize::default()), ..self }
    }

    /// Difference between the last and the minimum trip time, in nanoseconds.
    pub(super) fn excess(&self) -> Option<f64> {
        self.range.map(|range| range.last - range.minimum)
    }
}

impl Default for Spike {
    fn default() -> Self {
        Self::new()
    }
}

impl LossDifferentiation for Spike {
    fn on_arrival(&mut self, arrival: &PacketArrival) {
        let rott = match trip_time(&mut self.sizes, arrival) {
            TripTime::None => return,
            TripTime::First(rott) => {
                (self.range, self.in_spike) = (None, false);
                rott
            }
            TripTime::Next(rott) => rott,
        };
        let range = self.range.get_or_insert(Range { minimum: rott, maximum: rott, last: rott });
        range.minimum = range.minimum.min(rott);
        range.maximum = range.maximum.max(rott);
        range.last = rott;
        let (level, full) = (rott - range.minimum, range.maximum - range.minimum);
        let is_noise = self.sizes.is_some() && level <= Self::NOISE;
        self.in_spike =
            !is_noise && if self.in_spike { level >= self.beta * full } else { level > self.alpha * full };
    }

    fn classify(&mut self, _gap: &LossGap) -> LossClass {
        let Some(Range { minimum, maximum, last }) = self.range else {
            self.evidence = Evidence::None;
            return LossClass::Congestion;
        };
        self.evidence = Evidence::Spike { rott: last, minimum, maximum, in_spike: self.in_spike };
        LossClass::wireless_if(!self.in_spike)
    }

    fn evidence(&self) -> Evidence {
        self.evidence
    }

    fn on_path_change(&mut self) {
        let sizes = self.sizes.map(|_| CommonSize::default());
        *self = Self { sizes, ..Self::with_thresholds(self.alpha, self.beta) };
    }
}
