//! Observations that a medium hands to agents and controllers.

use whimbrel_units::{Duration, Instant};
use whimbrel_wifi::dcf::Step;

use crate::NodeId;
use crate::queue::FlowKey;

/// An observation that a station makes of its medium.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum Observation {
    /// A frame was sent; where the medium has acknowledgements, it was acknowledged.
    Sent(FrameReport),
    /// The station has given a frame up: its next hop does not answer.
    Failed(FrameReport),
    /// A step of an 802.11 MAC, if its steps are traced.
    Mac {
        /// Time of the step.
        at: Instant,
        /// The step.
        step: Step,
    },
    /// The share of a span of time in which the station found the medium busy.
    Channel {
        /// Start of the span.
        from: Instant,
        /// End of the span.
        to: Instant,
        /// Time in it in which the medium was busy, the station's own transmissions included.
        busy: Duration,
    },
}

/// The transmission of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameReport {
    /// The packet's number.
    pub packet: u64,
    /// The packet's flow.
    pub flow: FlowKey,
    /// Bytes of the packet.
    pub size: u32,
    /// The next hop; `None` for a broadcast.
    pub to: Option<NodeId>,
    /// Transmissions of the frame.
    pub attempts: u32,
    /// Time from the frame's arrival at the head of the queue to the end of its last transmission.
    pub service: Duration,
}
