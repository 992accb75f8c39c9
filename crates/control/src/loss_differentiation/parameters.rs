//! Parameters of the algorithms.

use super::{Biaz, Spike, ZigZag};

/// The packet whose trip time ZigZag compares with the mean. The paper (Section 3.3) writes rott_i, "using
/// the same notation as in the Biaz scheme", where P_i is the packet before the gap; but when the loss is
/// classified, the newest trip time belongs to the packet after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ComparedTrip {
    /// The packet that revealed the gap.
    #[default]
    Revealing,
    /// P_i: the last packet before the gap.
    BeforeGap,
}

/// Parameters of the algorithms of Cen, Cosman and Voelker.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Parameters {
    /// `true` to tolerate what real paths do. T_min is then an estimate that tolerates jitter, duplicates and
    /// coalesced receives instead of the minimum inter-arrival time; Biaz and modified Biaz widen their
    /// window by the jitter, and classify no loss as wireless where jitter hides the number of missing
    /// packets. Spike and ZigZag compare the trip times of full-size packets only, and Spike ignores
    /// differences of less than 1 ms.
    pub robust: bool,
    /// Modified Biaz classifies a loss as wireless up to (n + this) T_min; from 1, which leaves no window, to
    /// 2, which is Biaz.
    pub modified_upper: f64,
    /// Spike: fraction of the range of trip times above which a spike starts, and
    pub spike_start: f64,
    /// fraction below which it ends; at most `spike_start`.
    pub spike_end: f64,
    /// The trip time that ZigZag compares.
    pub zigzag_trip: ComparedTrip,
    /// ZBS3: `true` to apply the minimum time of use of a scheme to its own two conditions as well, instead
    /// of only to the ZBS within it.
    pub zbs3_locked: bool,
}

impl Parameters {
    /// Values of the paper (Sections 3 and 7).
    pub const PUBLISHED: Self = Self {
        robust: false,
        modified_upper: Biaz::MODIFIED_UPPER,
        spike_start: Spike::ALPHA,
        spike_end: Spike::BETA,
        zigzag_trip: ComparedTrip::Revealing,
        zbs3_locked: false,
    };
    /// Values of the paper, robust.
    pub const ROBUST: Self = Self { robust: true, ..Self::PUBLISHED };

    /// Biaz with a window that ends at (n + `upper`) T_min.
    pub(super) fn biaz(&self, upper: f64) -> Biaz {
        let biaz = Biaz::with_upper(upper);
        if self.robust { biaz.robust() } else { biaz }
    }

    /// Spike with these parameters.
    pub(super) fn spike(&self) -> Spike {
        let spike = Spike::with_thresholds(self.spike_start, self.spike_end);
        if self.robust { spike.robust() } else { spike }
    }

    /// ZigZag with these parameters.
    pub(super) fn zigzag(&self) -> ZigZag {
        let zigzag = ZigZag::new().comparing(self.zigzag_trip);
        if self.robust { zigzag.robust() } else { zigzag }
    }

    /// `true` if each value is in its range.
    pub fn is_valid(&self) -> bool {
        (1.0..=2.0).contains(&self.modified_upper)
            && (0.0..=1.0).contains(&self.spike_end)
            && (self.spike_end..=1.0).contains(&self.spike_start)
    }
}

impl Default for Parameters {
    /// The values of the paper.
    fn default() -> Self {
        Self::PUBLISHED
    }
}
