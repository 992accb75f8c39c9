//! The fairness controller: pools of positive and negative feedback.

use super::XcpReading;

/// Bound of a requested decrease in bit/s, so that the pools stay finite.
const MAX_DECREASE: f64 = 1e18;

/// Feedback that remains to be handed out in this control interval, in bit/s.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub(super) struct Pools {
    /// `residue_pos_fbk`.
    pub(super) positive: f64,
    /// `residue_neg_fbk`.
    pub(super) negative: f64,
    /// `Cp`: positive feedback per second of X.
    pub(super) per_x: f64,
    /// `Cn`: negative feedback per bit.
    pub(super) per_bit: f64,
}

impl Pools {
    /// Pools for the aggregate feedback F and the shuffled traffic, both in bit/s. The next interval is
    /// assumed to have the packets of the last one: with `sum_x` seconds of X and `input` bits. A pool
    /// without packets to go to is not used.
    pub(super) fn new(feedback: f64, shuffled: f64, sum_x: f64, input: f64) -> Self {
        let positive = shuffled + feedback.max(0.0);
        let negative = shuffled + (-feedback).max(0.0);
        let share = |pool: f64, among: f64| if among > 0.0 { pool / among } else { 0.0 };
        Self { positive, negative, per_x: share(positive, sum_x), per_bit: share(negative, input) }
    }

    /// The allocation of a packet of `bits` with the given X that requests a change of `request` bit/s, which
    /// is limited to `cap` where it is reduced.
    pub(super) fn allocate(&mut self, x: f64, bits: f64, request: f64, cap: f64, reading: XcpReading) -> f64 {
        let mut positive = self.per_x * x;
        let mut negative = self.per_bit * bits;
        if reading == XcpReading::Ns2 {
            positive = positive.min(self.positive);
            negative = negative.min(self.negative);
        }
        let feedback = positive - negative;
        // A decrease by more than any rate has no further effect.
        let request = if request < -MAX_DECREASE { -MAX_DECREASE } else { request };
        let is_reduced = request > feedback
            || (request == feedback && reading != XcpReading::Draft)
            // A header without a number requests nothing in particular.
            || request.is_nan();
        let allocation = if is_reduced { feedback.min(cap) } else { request };
        if !is_reduced || allocation < feedback {
            (positive, negative) = match reading {
                XcpReading::Draft | XcpReading::Ns2 => {
                    let negative = self.negative.min(negative + (feedback - allocation));
                    (allocation + negative, negative)
                }
                XcpReading::Sigcomm if allocation > 0.0 => (allocation, feedback - allocation),
                XcpReading::Sigcomm => (0.0, -allocation + feedback.max(0.0)),
            };
        }
        self.positive = (self.positive - positive).max(0.0);
        self.negative = (self.negative - negative).max(0.0);
        if self.positive == 0.0 {
            self.per_x = 0.0;
        }
        if self.negative == 0.0 {
            self.per_bit = 0.0;
        }
        allocation
    }
}
