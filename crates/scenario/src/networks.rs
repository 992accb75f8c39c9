//! Measured networks by name: what `network = "umts"` gives a link, and `to = "umts"` a handover.
//!
//! The first four come from the paper `freeze`, Table 5, with ns-2's default queue of 50 packets. Its "Avg.
//! RTT" is the delay of one direction: only so do the round-trip times of Table 3 come out
//! (`papers/freeze/README.md`). The other two are medians of recordings: the rate of 2564 (LTE) and 5064 (5G
//! NSA) seconds of downloads while driving in Ireland (Raca and others, "Beyond Throughput, The Next
//! Generation: a 5G Dataset with Channel and Context Metrics", MMSys 2020); half of the least round-trip time
//! of 109 reports of a game streamed to a car (Hassan and others, "Vivisecting Mobility Management in 5G
//! Cellular Networks", SIGCOMM 2022).

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer};
use whimbrel_control::handover_model::networks::by_name;
use whimbrel_units::{DataRate, Duration};

use super::quantity::{QueueLimit, TextVisitor};

/// A measured network.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MeasuredNetwork {
    /// The name in scenarios.
    pub name: &'static str,
    /// The rate to the mobile node, and from it.
    pub rate: DataRate,
    /// The delay of one direction, without any queue.
    pub delay: Duration,
    /// The queue limit.
    pub queue: QueueLimit,
}

/// Name, rate in kbit/s, delay in ms.
const MEASURED: [(&str, f64, u64); 6] = [
    ("umts", 384.0, 250),
    ("802.16", 9_500.0, 80),
    ("802.11b", 11_000.0, 20),
    ("802.11g", 54_000.0, 20),
    ("lte", 7_900.0, 25),
    ("5g", 18_900.0, 25),
];

impl MeasuredNetwork {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        MEASURED.into_iter().map(|(name, rate, delay)| Self {
            name,
            rate: DataRate::from_kilobits_per_second(rate),
            delay: Duration::from_millis(delay),
            queue: QueueLimit::Packets(50),
        })
    }

    /// The one with that name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::all().find(|network| network.name == name)
    }

    /// The round-trip time of a sender that fills it: from Table 3, or twice the delay if the paper has none.
    pub fn stationary_rtt(&self) -> Duration {
        by_name(self.name).map_or(self.delay * 2, |network| network.rtt)
    }
}

const EXPECTED: &str = "one of umts, 802.16, 802.11b, 802.11g, lte, 5g";

impl<'de> Deserialize<'de> for MeasuredNetwork {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TextVisitor { parse: Self::by_name, expected: EXPECTED })
    }
}

impl JsonSchema for MeasuredNetwork {
    fn schema_name() -> Cow<'static, str> {
        "MeasuredNetwork".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A measured network: its rate, delay and queue.",
            "type": "string",
            "enum": MEASURED.map(|(name, ..)| name),
        })
    }
}
