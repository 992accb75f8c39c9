//! What one may choose about the algorithms.

use super::{Biaz, Spike};

/// Which packet's trip time ZigZag compares with the mean. The paper (Section 3.3) writes rott_i, "using the same notation as in
/// the Biaz scheme", where P_i is the packet before the gap; but at the time of the verdict the newest trip time is that of the packet
/// after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ComparedTrip {
    /// The packet that revealed the gap.
    #[default]
    Revealing,
    /// P_i: the last packet before the gap.
    BeforeGap,
}

/// What one may choose about the algorithms of Cen, Cosman and Voelker.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Parameters {
    /// Whether T_min is an estimate that jitter, duplicates and coalesced receives do not spoil, rather than the least
    /// time between two arrivals ever. Biaz and modified Biaz then allow for as much jitter as there is, and trust nothing where it hides
    /// how many packets are missing.
    pub robust: bool,
    /// Modified Biaz calls a loss wireless up to (n + this) T_min; from 1, which leaves no window, to 2, which is Biaz.
    pub modified_upper: f64,
    /// Spike: the part of the range of trip times above which a spike starts, and
    pub spike_start: f64,
    /// below which it ends; at most `spike_start`.
    pub spike_end: f64,
    /// The trip time that ZigZag compares.
    pub zigzag_trip: ComparedTrip,
    /// ZBS3: whether the time for which a scheme is used at least applies to its own two conditions as well, rather than
    /// to the ZBS inside alone.
    pub zbs3_locked: bool,
}

impl Parameters {
    /// What the paper chose (Sections 3 and 7).
    pub const PUBLISHED: Self = Self {
        robust: false,
        modified_upper: Biaz::MODIFIED_UPPER,
        spike_start: Spike::ALPHA,
        spike_end: Spike::BETA,
        zigzag_trip: ComparedTrip::Revealing,
        zbs3_locked: false,
    };
    /// The same, with a T_min for real links.
    pub const ROBUST: Self = Self { robust: true, ..Self::PUBLISHED };

    /// Whether each number is in its range.
    pub fn is_valid(&self) -> bool {
        (1.0..=2.0).contains(&self.modified_upper)
            && (0.0..=1.0).contains(&self.spike_end)
            && (self.spike_end..=1.0).contains(&self.spike_start)
    }
}

impl Default for Parameters {
    /// As the paper chose them.
    fn default() -> Self {
        Self::PUBLISHED
    }
}
