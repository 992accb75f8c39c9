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

/// A measure's name, which ends in its unit, and how to read it.
pub type Measure = (&'static str, fn(&Evidence) -> Option<f64>);

impl Evidence {
    /// Everything measured that a verdict can rest on; [`Self::count`] besides.
    pub const MEASURES: [Measure; 11] = [
        ("t_i_s", |evidence| match evidence {
            Self::InterArrival { interval, .. } => Some(interval.as_secs_f64()),
            _ => None,
        }),
        ("t_min_s", |evidence| match evidence {
            Self::InterArrival { minimum, .. } => Some(minimum.as_secs_f64()),
            _ => None,
        }),
        ("above_minimum_s", |evidence| match evidence {
            Self::Spike { rott, minimum, .. } => Some((*rott - *minimum) * 1e-9),
            _ => None,
        }),
        ("range_s", |evidence| match evidence {
            Self::Spike { maximum, minimum, .. } => Some((*maximum - *minimum) * 1e-9),
            _ => None,
        }),
        ("from_mean_s", |evidence| match evidence {
            Self::ZigZag { rott, mean, .. } => Some((rott.0 as f64 - mean) * 1e-9),
            _ => None,
        }),
        ("deviation_s", |evidence| match evidence {
            Self::ZigZag { deviation, .. } => Some(deviation * 1e-9),
            _ => None,
        }),
        ("inherent_loss", |evidence| match evidence {
            Self::Inherent { inherent, .. } => Some(*inherent),
            _ => None,
        }),
        ("limit_bps", |evidence| match evidence {
            Self::Inherent { limit, .. } => limit.map(DataRate::as_bits_per_second),
            _ => None,
        }),
        ("recent_packets", |evidence| match evidence {
            Self::Inherent { sent, .. } => Some(*sent as f64),
            _ => None,
        }),
        ("recent_lost", |evidence| match evidence {
            Self::Inherent { lost, .. } => Some(*lost as f64),
            _ => None,
        }),
        ("excess", |evidence| match evidence {
            Self::Inherent { excess, .. } => Some(*excess),
            _ => None,
        }),
    ];

    /// n: packets missing, where the verdict depends on it.
    pub const fn count(&self) -> Option<u64> {
        match self {
            Self::InterArrival { count, .. } | Self::ZigZag { count, .. } => Some(*count),
            Self::None | Self::Spike { .. } | Self::Inherent { .. } => None,
        }
    }
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
