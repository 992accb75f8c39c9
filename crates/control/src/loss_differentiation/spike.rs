//! Spike: classification by the fill level of the path's queue.

use super::{Evidence, LossClass, LossDifferentiation, LossGap, PacketArrival, Rott};

/// Tracks the relative one-way trip time through spikes (paper, Section 3.2).
///
/// The path enters the spike state when the trip time of a packet exceeds `rott_min + alpha (rott_max -
/// rott_min)` and leaves it when one is less than `rott_min + beta (rott_max - rott_min)`. Losses in the
/// spike state are congestion, others wireless. Without trip times, every loss is congestion.
#[derive(Clone, Debug)]
pub struct Spike {
    alpha: f64,
    beta: f64,
    range: Option<Range>,
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

    /// Spike with the paper's thresholds, 1/2 and 1/3.
    pub fn new() -> Self {
        Self::with_thresholds(Self::ALPHA, Self::BETA)
    }
    /// Spike with other thresholds; `alpha >= beta`.
    pub fn with_thresholds(alpha: f64, beta: f64) -> Self {
        Self { alpha, beta, range: None, in_spike: false, evidence: Evidence::None }
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
        let Some(rott) = Rott::of(arrival) else { return };
        let range = self.range.get_or_insert(Range { minimum: rott, maximum: rott, last: rott });
        range.minimum = range.minimum.min(rott);
        range.maximum = range.maximum.max(rott);
        range.last = rott;
        let (level, full) = (rott - range.minimum, range.maximum - range.minimum);
        if self.in_spike {
            self.in_spike = level >= self.beta * full;
        } else {
            self.in_spike = level > self.alpha * full;
        }
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
        *self = Self::with_thresholds(self.alpha, self.beta);
    }
}
