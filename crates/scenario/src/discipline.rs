//! The queue discipline of a link.

use core::fmt;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error, MapAccess, Visitor};

use super::quantity::{Probability, Rate, Time};

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
        /// Queue protection (RFC 9957): packets of flows that build the queue of ECT(1) and CE are redirected
        /// to the Classic queue; false by default.
        #[serde(default)]
        protection: QueueProtection,
    },
}

/// Queue protection of DualPI2: `true` for the parameters of RFC 9957, or a table of parameters.
#[derive(Clone, Copy, PartialEq, Debug, JsonSchema)]
#[schemars(untagged)]
pub enum QueueProtection {
    /// On with the default parameters, or off.
    Switch(bool),
    /// On with these parameters.
    Parameters(QueueProtectionParameters),
}

/// The parameters of queue protection (RFC 9957, Section 4.1).
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QueueProtectionParameters {
    /// `CRITICALqL`: the low-latency queue's delay above which packets are redirected; 1.2 ms by default.
    #[serde(default)]
    pub critical_delay: Option<Time>,
    /// `CRITICALqLSCORE`: the score above which packets are redirected at that delay; 4 ms by default.
    #[serde(default)]
    pub critical_score: Option<Time>,
    /// `AGING`: the rate of marked bytes that a flow may send without a score; 2^19 B/s by default.
    #[serde(default)]
    pub aging: Option<Rate>,
    /// `NBUCKETS`: the number of flows with a score of their own, a power of two; 32 by default.
    #[serde(default)]
    pub buckets: Option<u32>,
}

impl Default for QueueProtection {
    fn default() -> Self {
        Self::Switch(false)
    }
}

/// Unlike a derived implementation for an untagged enum, this one names the key at fault within the table.
impl<'de> Deserialize<'de> for QueueProtection {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(QueueProtectionVisitor)
    }
}

struct QueueProtectionVisitor;

impl<'de> Visitor<'de> for QueueProtectionVisitor {
    type Value = QueueProtection;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("true, false or a table of parameters")
    }

    fn visit_bool<E: Error>(self, on: bool) -> Result<QueueProtection, E> {
        Ok(QueueProtection::Switch(on))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<QueueProtection, A::Error> {
        QueueProtectionParameters::deserialize(MapAccessDeserializer::new(map))
            .map(QueueProtection::Parameters)
    }
}

fn yes() -> bool {
    true
}
