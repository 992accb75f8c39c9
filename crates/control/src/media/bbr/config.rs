//! Parameters of BBR for media.

use whimbrel_units::DataRate;

use super::super::RateLimits;
use crate::bbr::Parameters;

/// Parameters of [`Bbr`](super::Bbr).
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct BbrConfig {
    /// Limits of the rate.
    pub limits: RateLimits,
    /// The draft's parameters.
    pub parameters: Parameters,
    /// `true` to fill with padding in the phases that send faster.
    pub padding: bool,
    /// Time by which packets may be reordered, in minimum round-trip times (RFC 8985, Section 6.2, Step 4). A
    /// longer time makes random losses of 1 % look like more than the threshold, because losses are counted
    /// until they are detected.
    pub reordering_rtts: f64,
}

impl BbrConfig {
    /// The defaults with other limits.
    pub fn new(limits: RateLimits) -> Self {
        Self { limits, ..Self::default() }
    }
}

impl Default for BbrConfig {
    fn default() -> Self {
        let min = DataRate::from_kilobits_per_second(150.0);
        Self {
            limits: RateLimits { min, start: min, max: DataRate::from_megabits_per_second(1.5) },
            parameters: Parameters::default(),
            padding: true,
            reordering_rtts: 0.25,
        }
    }
}
