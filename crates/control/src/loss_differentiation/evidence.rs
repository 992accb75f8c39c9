//! What a verdict rests on, for traces and for people.

use whimbrel_units::{DataRate, Duration};

use super::Rott;

/// What an algorithm went by when it last judged a gap.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[non_exhaustive]
pub enum Evidence {
    /// Nothing: there was too little to go by, or somebody told it.
    #[default]
    None,
    /// The time across the gap, beside the least between two packets (Biaz, modified Biaz).
    InterArrival {
        /// T_i: between the arrivals around the gap.
        interval: Duration,
        /// T_min: the least interval seen.
        minimum: Duration,
        /// n: packets missing.
        count: u64,
    },
    /// The trip time beside the range seen (Spike).
    Spike {
        /// The revealing packet's trip time.
        rott: Rott,
        /// rott_min.
        minimum: Rott,
        /// rott_max.
        maximum: Rott,
        /// Whether the path is in the spike state.
        in_spike: bool,
    },
    /// The trip time beside its mean (ZigZag).
    ZigZag {
        /// The revealing packet's trip time.
        rott: Rott,
        /// rott_mean, in nanoseconds.
        mean: f64,
        /// rott_dev, in nanoseconds.
        deviation: f64,
        /// n: packets missing.
        count: u64,
    },
    /// The loss of late beside the loss inherent to the path (Inherent).
    Inherent {
        /// p: the estimate of the inherent loss.
        inherent: f64,
        /// B: the rate beyond which packets are lost to congestion, where there seems to be one.
        limit: Option<DataRate>,
        /// n: packets sent lately.
        sent: u64,
        /// l: packets of these that were lost.
        lost: u64,
        /// n D(l/n || p): more than 1.92 is congestion.
        excess: f64,
    },
}

impl Evidence {
    /// The base scheme whose evidence this is; a hybrid's verdict is that of one of them.
    pub const fn scheme(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::InterArrival { .. } => "biaz",
            Self::Spike { .. } => "spike",
            Self::ZigZag { .. } => "zigzag",
            Self::Inherent { .. } => "inherent",
        }
    }
}
