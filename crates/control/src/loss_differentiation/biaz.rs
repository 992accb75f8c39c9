//! Biaz, and modified Biaz: did the next packet come when it should have?

use whimbrel_units::Duration;

use super::inter_arrival::InterArrival;
use super::{Evidence, LossCause, LossDifferentiation, LossGap, PacketArrival};

/// Compares the time across a gap with the least time between two packets (paper, Section 3.1).
///
/// If n packets were lost on the last link, and that is the slowest, the next comes about n + 1
/// packet times after the one before. The loss is wireless where
/// `(n + 1) T_min <= T_i < (n + upper) T_min`. Works where the wireless link is the bottleneck, is
/// the last and is not shared; calls everything congestion elsewhere.
#[derive(Clone, Debug)]
pub struct Biaz {
    upper: f64,
    arrivals: InterArrival,
    evidence: Evidence,
}

impl Biaz {
    /// The original's upper limit: (n + 2) T_min.
    pub const UPPER: f64 = 2.0;
    /// Modified Biaz: (n + 1.2) T_min (paper, Section 3.1, Figure 2).
    pub const MODIFIED_UPPER: f64 = 1.2;

    /// The original.
    pub fn new() -> Self {
        Self::with_upper(Self::UPPER)
    }
    /// Modified Biaz (mBiaz), with a narrower window.
    pub fn modified() -> Self {
        Self::with_upper(Self::MODIFIED_UPPER)
    }
    /// One whose window ends at (n + `upper`) T_min; the paper tried 1.1 to 1.8.
    pub fn with_upper(upper: f64) -> Self {
        Self { upper, arrivals: InterArrival::default(), evidence: Evidence::None }
    }

    /// T_min.
    pub(super) fn minimum_interval(&self) -> Option<Duration> {
        self.arrivals.minimum()
    }
}

impl Default for Biaz {
    fn default() -> Self {
        Self::new()
    }
}

impl LossDifferentiation for Biaz {
    fn on_arrival(&mut self, arrival: &PacketArrival) {
        self.arrivals.on_arrival(arrival);
    }

    fn judge(&mut self, gap: &LossGap) -> LossCause {
        let Some(minimum) = self.arrivals.minimum() else {
            self.evidence = Evidence::None;
            return LossCause::Congestion;
        };
        let interval = gap.after - gap.before;
        self.evidence = Evidence::InterArrival { interval, minimum, count: gap.count };
        let (time, unit, n) = (interval.as_nanos() as f64, minimum.as_nanos() as f64, gap.count as f64);
        LossCause::wireless_if((n + 1.0) * unit <= time && time < (n + self.upper) * unit)
    }

    fn evidence(&self) -> Evidence {
        self.evidence
    }

    fn on_path_change(&mut self) {
        *self = Self::with_upper(self.upper);
    }
}
