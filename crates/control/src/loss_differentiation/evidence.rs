//! Evidence for a classification, for traces and reports.

use whimbrel_units::{DataRate, Duration};

use super::Rott;

/// Values on which an algorithm based its last classification.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[non_exhaustive]
pub enum Evidence {
    /// No evidence: there were too few statistics, or the cause was given.
    #[default]
    None,
    /// Time across the gap and the minimum inter-arrival time (Biaz, modified Biaz).
    InterArrival {
        /// T_i: time between the arrivals around the gap.
        interval: Duration,
        /// T_min: the minimum inter-arrival time.
        minimum: Duration,
        /// n: number of missing packets.
        count: u64,
    },
    /// Trip time and its range (Spike).
    Spike {
        /// Trip time of the packet that revealed the gap.
        rott: Rott,
        /// rott_min.
        minimum: Rott,
        /// rott_max.
        maximum: Rott,
        /// `true` if the path is in the spike state.
        in_spike: bool,
    },
    /// Trip time, its range and its mean (Standing).
    Standing {
        /// q: trip time of the packet that revealed the gap.
        rott: Rott,
        /// The least trip time and
        minimum: Rott,
        /// the greatest.
        maximum: Rott,
        /// m: mean queueing delay, in nanoseconds.
        standing: f64,
    },
    /// Trip time, its mean and its deviation (ZigZag).
    ZigZag {
        /// Trip time of the packet that revealed the gap.
        rott: Rott,
        /// rott_mean, in nanoseconds.
        mean: f64,
        /// rott_dev, in nanoseconds.
        deviation: f64,
        /// n: number of missing packets.
        count: u64,
    },
    /// Recent loss and the loss inherent to the path (Inherent).
    Inherent {
        /// p: estimated inherent loss rate.
        inherent: f64,
        /// B: estimated bandwidth limit, if there is one.
        limit: Option<DataRate>,
        /// n: packets sent recently.
        sent: u64,
        /// l: packets lost of these.
        lost: u64,
        /// n D(l/n || p): a value above 1.92 is classified as congestion.
        excess: f64,
    },
}

/// Name of a measure, which ends in its unit, and the function that reads it.
pub type Measure = (&'static str, fn(&Evidence) -> Option<f64>);

impl Evidence {
    /// All measures except [`Self::count`].
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
            Self::Spike { rott, minimum, .. } | Self::Standing { rott, minimum, .. } => {
                Some((*rott - *minimum) * 1e-9)
            }
            _ => None,
        }),
        ("range_s", |evidence| match evidence {
            Self::Spike { maximum, minimum, .. } | Self::Standing { maximum, minimum, .. } => {
                Some((*maximum - *minimum) * 1e-9)
            }
            _ => None,
        }),
        ("from_mean_s", |evidence| match evidence {
            Self::Standing { rott, minimum, standing, .. } => Some((*rott - *minimum - standing) * 1e-9),
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

    /// n: number of missing packets, where the classification depends on it.
    pub const fn count(&self) -> Option<u64> {
        match self {
            Self::InterArrival { count, .. } | Self::ZigZag { count, .. } => Some(*count),
            Self::None | Self::Spike { .. } | Self::Standing { .. } | Self::Inherent { .. } => None,
        }
    }

    /// Name of the base scheme that produced the evidence; for a hybrid it is one of its base schemes.
    pub const fn scheme(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::InterArrival { .. } => "biaz",
            Self::Spike { .. } => "spike",
            Self::Standing { .. } => "standing",
            Self::ZigZag { .. } => "zigzag",
            Self::Inherent { .. } => "inherent",
        }
    }
}
