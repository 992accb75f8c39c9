//! Biaz, and modified Biaz: did the next packet come when it should have?

use super::inter_arrival::InterArrival;
use super::packet_time::Estimate;
use super::{Evidence, LossClass, LossDifferentiation, LossGap, PacketArrival};

/// Compares the time across a gap with the least time between two packets (paper, Section 3.1).
///
/// If n packets were lost on the last link, and that is the slowest, the next comes about n + 1
/// packet times after the one before. The loss is wireless where
/// `(n + 1) T_min <= T_i < (n + upper) T_min`. Works where the wireless link is the bottleneck, is
/// the last and is not shared; calls everything congestion elsewhere.
///
/// Made [robust](Self::robust), T_min is an estimate, and where jitter spreads the times between packets by up to J,
/// the window reaches from (n + 1) T_min - J to the greater of (n + 1) T_min + J and (n + upper) T_min.
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
        Self { upper, arrivals: InterArrival::PUBLISHED, evidence: Evidence::None }
    }
    /// The same, with a T_min that jitter, duplicates and coalesced receives do not spoil.
    #[must_use]
    pub fn robust(self) -> Self {
        Self { arrivals: InterArrival::new(true), ..self }
    }

    /// T_min.
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
