//! Scenario keys of the loss classifiers.

use schemars::JsonSchema;
use serde::Deserialize;
use whimbrel_control::loss_differentiation::{ComparedTrip, Parameters};

/// Parameters of the classifiers; the defaults are the paper's, except for `robust`.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Classification {
    /// If true, T_min is an estimate that is robust against jitter, duplicates and coalesced receives. Off in
    /// papers' experiments: then it is the least time between any two arrivals.
    pub robust: bool,
    /// `mbiaz` and the hybrids: a loss of n packets is wireless up to (n + this) T_min; 1 to 2.
    pub mbiaz_upper: f64,
    /// `spike` and the hybrids: the part of the trip time range above which a spike starts; `spike_end` to 1.
    pub spike_start: f64,
    /// The part below which it ends; 0 to 1.
    pub spike_end: f64,
    /// `zigzag` and the hybrids: the packet whose trip time is compared with the mean.
    pub zigzag_trip: ZigzagTrip,
    /// `zbs3`: if true, its own conditions are held for 3 s or 50 packets as well, as the choice of ZBS is.
    pub zbs3_locked: bool,
}

/// The packet whose trip time `zigzag` compares.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ZigzagTrip {
    /// The packet that reveals the gap.
    Revealing,
    /// The last packet before the gap.
    BeforeGap,
}

impl Default for Classification {
    fn default() -> Self {
        let Parameters { modified_upper, spike_start, spike_end, zbs3_locked, .. } = Parameters::ROBUST;
        Self {
            robust: true,
            mbiaz_upper: modified_upper,
            spike_start,
            spike_end,
            zigzag_trip: ZigzagTrip::Revealing,
            zbs3_locked,
        }
    }
}

impl Classification {
    pub(super) fn parameters(self) -> Parameters {
        Parameters {
            robust: self.robust,
            modified_upper: self.mbiaz_upper,
            spike_start: self.spike_start,
            spike_end: self.spike_end,
            zigzag_trip: match self.zigzag_trip {
                ZigzagTrip::Revealing => ComparedTrip::Revealing,
                ZigzagTrip::BeforeGap => ComparedTrip::BeforeGap,
            },
            zbs3_locked: self.zbs3_locked,
        }
    }
}
