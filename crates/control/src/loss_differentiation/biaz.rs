//! Biaz and modified Biaz: classification by the inter-arrival time.

use super::inter_arrival::InterArrival;
use super::packet_time::Estimate;
use super::{Evidence, LossClass, LossDifferentiation, LossGap, PacketArrival};

/// Compares the time across a gap with the minimum inter-arrival time (paper, Section 3.1).
///
/// If n packets were lost on the last link and that link is the bottleneck, the next packet arrives about n +
/// 1 packet times after the previous one. The loss is wireless if `(n + 1) T_min <= T_i < (n + upper) T_min`.
/// The scheme works where the wireless link is the bottleneck, is the last link and is not shared; elsewhere
/// it classifies every loss as congestion.
///
/// In the [robust](Self::robust) variant, T_min is an estimate. Where jitter spreads the inter-arrival times
/// by up to J, the window reaches from (n + 1) T_min - J to the greater of (n + 1) T_min + J and (n + upper)
/// T_min.
#[derive(Clone, Debug)]
pub struct Biaz {
    upper: f64,
    arrivals: InterArrival,
    evidence: Evidence,
}

impl Biaz {
    /// Upper limit of the original Biaz: (n + 2) T_min.
    pub const UPPER: f64 = 2.0;
    /// Upper limit of modified Biaz: (n + 1.2) T_min (paper, Section 3.1, Figure 2).
    pub const MODIFIED_UPPER: f64 = 1.2;

    /// The original Biaz.
    pub fn new() -> Self {
        Self::with_upper(Self::UPPER)
    }

    /// Modified Biaz (mBiaz), with a narrower window.
    pub fn modified() -> Self {
        Self::with_upper(Self::MODIFIED_UPPER)
    }

    /// Biaz with a window that ends at (n + `upper`) T_min; the paper tried 1.1 to 1.8.
    pub fn with_upper(upper: f64) -> Self {
        Self { upper, arrivals: InterArrival::PUBLISHED, evidence: Evidence::None }
    }

    /// Uses an estimate of T_min that tolerates jitter, duplicates and coalesced receives.
    #[must_use]
    pub fn robust(self) -> Self {
        Self { arrivals: InterArrival::new(true), ..self }
    }

    /// The current estimate of T_min.
    pub(super) fn minimum_interval(&self) -> Option<Estimate> {
        self.arrivals.estimate()
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

    fn classify(&mut self, gap: &LossGap) -> LossClass {
        let Some(estimate) = self.arrivals.estimate() else {
            self.evidence = Evidence::None;
            return LossClass::Congestion;
        };
        let interval = self.arrivals.across_gap(gap.after - gap.before);
        self.evidence = Evidence::InterArrival { interval, minimum: estimate.time, count: gap.count };
        let (time, unit, n) = (interval.as_nanos() as f64, estimate.nanos(), gap.count as f64);
        let spread = if estimate.is_hidden { 0.0 } else { estimate.spread.as_nanos() as f64 };
        let due = (n + 1.0) * unit;
        LossClass::wireless_if(due - spread <= time && time < ((n + self.upper) * unit).max(due + spread))
    }

    fn evidence(&self) -> Evidence {
        self.evidence
    }

    fn on_path_change(&mut self) {
        self.arrivals.forget();
        self.evidence = Evidence::None;
    }
}
