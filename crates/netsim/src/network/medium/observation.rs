//! Observations that a medium hands to agents and controllers.

use whimbrel_cell::handover::HandoverEvent;
use whimbrel_units::{Duration, Instant};
use whimbrel_wifi::dcf::Step;
use whimbrel_wifi::infrastructure::HandoverReport;

use crate::queue::FlowKey;
use crate::{NodeId, PacketId};

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
    /// An 802.11 client is associated with an access point: its packets go there from now on.
    Associated(Association),
    /// An 802.11 client has lost its access point, or leaves it to look for another one. Its packets wait
    /// until it is associated again.
    Disassociated {
        /// Node of the access point.
        access_point: NodeId,
    },
    /// An 802.11 client has found no better access point than its present one, to which it returns.
    Stayed {
        /// Node of the access point.
        access_point: NodeId,
    },
    /// A step of a terminal's change of its cell, as a modem reports it.
    Cell(HandoverEvent),
    /// A client is associated with this 802.11 access point.
    StationJoined {
        /// Node of the client.
        client: NodeId,
    },
    /// A client is no longer associated with this 802.11 access point.
    StationLeft {
        /// Node of the client.
        client: NodeId,
    },
}

/// The association of a client, its first one or after a handover.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Association {
    /// Node of the access point before; `None` if the client joins.
    pub from: Option<NodeId>,
    /// Node of the access point now.
    pub to: NodeId,
    /// The phases.
    pub report: HandoverReport,
}

/// The transmission of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FrameReport {
    /// The packet's number.
    pub packet: PacketId,
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
