//! Scenario keys of hosts with a limited processor.

use schemars::JsonSchema;
use serde::Deserialize;

use super::quantity::{QueueLimit, Time};

/// The processor of a node: sending takes time, and packets wait for it in a send queue.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Processing time of a packet that an application of the node sends.
    pub send_cost: Time,
    /// Further processing time per byte on the link; none by default.
    #[serde(default)]
    pub send_cost_per_byte: Time,
    /// The limit of the send queue, the packet being processed included; 50 packets by default.
    #[serde(default = "Host::default_queue")]
    pub queue: QueueLimit,
}

impl Host {
    fn default_queue() -> QueueLimit {
        QueueLimit::Packets(50)
    }
}
