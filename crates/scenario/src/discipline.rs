//! The queue discipline of a link.

use schemars::JsonSchema;
use serde::Deserialize;

use super::quantity::{Probability, Time};

/// The order in which packets leave a link's queue, and which of them are dropped or marked.
///
/// With every discipline but `droptail`, the link's `queue` bounds the waiting packets, without the one in
/// transmission.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(tag = "kind")]
pub enum Discipline {
    /// A FIFO that drops packets which do not fit.
    #[default]
    Droptail,
    /// Random Early Detection (Floyd and Jacobson 1993, gentle).
    Red {
        /// The average queue, in packets, from which packets are dropped; 5 by default.
        #[serde(default)]
        min_threshold: Option<f64>,
        /// The average queue, in packets, at which the drop probability is `max_probability`; 15 by default.
        #[serde(default)]
        max_threshold: Option<f64>,
        /// The drop probability at `max_threshold`; 10 % by default.
        #[serde(default)]
        max_probability: Option<Probability>,
        /// The weight of the present queue in its average; 0.002 by default.
        #[serde(default)]
        weight: Option<f64>,
        /// If true, the probability rises to 1 between `max_threshold` and twice as much; true by default.
        #[serde(default)]
        gentle: Option<bool>,
        /// If true, ECN-capable packets are marked instead of dropped; false by default.
        #[serde(default)]
        ecn: bool,
    },
    /// Controlled Delay (RFC 8289).
    Codel {
        /// The acceptable standing delay; 5 ms by default.
        #[serde(default)]
        target: Option<Time>,
        /// About a worst-case round-trip time; 100 ms by default.
        #[serde(default)]
        interval: Option<Time>,
        /// If true, ECN-capable packets are marked instead of dropped; false by default.
        #[serde(default)]
        ecn: bool,
    },
    /// Flow queueing with CoDel (RFC 8290).
    FqCodel {
        /// The acceptable standing delay of each flow; 5 ms by default.
        #[serde(default)]
        target: Option<Time>,
        /// About a worst-case round-trip time; 100 ms by default.
        #[serde(default)]
        interval: Option<Time>,
        /// If true, ECN-capable packets are marked instead of dropped; true by default.
        #[serde(default = "yes")]
        ecn: bool,
        /// The number of queues that flows are hashed into; 1024 by default.
        #[serde(default)]
        queues: Option<u32>,
        /// The quantum: bytes that a flow may send per round; 1514 by default.
        #[serde(default)]
        quantum: Option<u32>,
    },
    /// Proportional Integral controller Enhanced (RFC 8033).
    Pie {
        /// The target of the queueing delay; 15 ms by default.
        #[serde(default)]
        target: Option<Time>,
        /// The interval between updates of the drop probability; 15 ms by default.
        #[serde(default)]
        update_interval: Option<Time>,
        /// If true, ECN-capable packets are marked instead of dropped; false by default.
        #[serde(default)]
        ecn: bool,
    },
    /// The dual-queue coupled AQM for L4S (RFC 9332): ECT(1) and CE have a queue of their own.
    #[serde(rename = "dualpi2")]
    DualPi2 {
        /// The target of the Classic queue's delay; 15 ms by default.
        #[serde(default)]
        target: Option<Time>,
        /// The longest typical round-trip time; 100 ms by default.
        #[serde(default)]
        rtt_max: Option<Time>,
    },
}

fn yes() -> bool {
    true
}
