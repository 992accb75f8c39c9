//! Scenario keys of packet reordering.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer};
use whimbrel_proto::config::{self, BufferSize};

use whimbrel_scenario::quantity::{QueueLimit, Rate, TextVisitor};

/// Number of packets that may wait for earlier ones: `"12 packets"`, a peak rate such as `"1 Mbit/s"` that is
/// multiplied with the delay, or `"dynamic"`, the same with the rate at which data comes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ReorderSize(pub BufferSize);

const REORDER_SIZE: &str =
    "a number of packets such as \"12 packets\", a peak rate such as \"1 Mbit/s\", or \"dynamic\"";
const DYNAMIC: &str = "dynamic";

impl ReorderSize {
    fn parse(text: &str) -> Option<Self> {
        if text.trim() == DYNAMIC {
            return Some(Self::default());
        }
        if let Some(QueueLimit::Packets(packets)) = QueueLimit::parse(text) {
            return Some(Self(BufferSize::Fixed(packets)));
        }
        Rate::parse(text).map(|Rate(rate)| Self(BufferSize::Peak(rate)))
    }
}

impl Default for ReorderSize {
    fn default() -> Self {
        Self(BufferSize::Dynamic)
    }
}

impl<'de> Deserialize<'de> for ReorderSize {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TextVisitor { parse: Self::parse, expected: REORDER_SIZE })
    }
}

impl JsonSchema for ReorderSize {
    fn schema_name() -> Cow<'static, str> {
        "ReorderSize".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "description": REORDER_SIZE, "examples": ["12 packets", "1 Mbit/s", DYNAMIC] })
    }
}

/// The condition under which a missing packet counts as lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LossDetection {
    /// The end of its waiting time in the reorder buffer, if there is one (`reorder_delay`); otherwise `rack`
    /// in a repaired flow, and three packets in others.
    #[default]
    Automatic,
    /// Three packets with higher numbers (RFC 5348, Section 5.1), even with a reorder buffer.
    Ndupack,
    /// A single packet with a higher number, as in ns-2's TFRC.
    FirstPacket,
    /// After the first reordering, a time that adapts to the lateness of packets, as in RACK (RFC 8985).
    Rack,
}

impl From<LossDetection> for config::LossDetection {
    fn from(detection: LossDetection) -> Self {
        match detection {
            LossDetection::Automatic => Self::Automatic,
            LossDetection::Ndupack => Self::Packets,
            LossDetection::FirstPacket => Self::FirstPacket,
            LossDetection::Rack => Self::Rack,
        }
    }
}

/// Handling of data that arrives after the reorder buffer has given it up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Late {
    /// Late packets are discarded and count as lost (`papers/reorder`, Section II.B).
    #[default]
    Discard,
    /// Late packets are delivered out of order.
    Deliver,
}

impl From<Late> for config::LatePolicy {
    fn from(late: Late) -> Self {
        match late {
            Late::Discard => Self::Discard,
            Late::Deliver => Self::Deliver,
        }
    }
}
