//! Causes of losses.

use whimbrel_units::Instant;

use crate::{AgentId, FlowId, LinkId, NodeId, PacketId, StationId};

/// Cause of a loss on a shared medium: of the last transmission, if the sender repeated it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum MediumLoss {
    /// Another transmission overlapped.
    Collision,
    /// The receiver was, or became, occupied with a stronger transmission.
    Capture,
    /// The receiver was out of range, or off.
    OutOfRange,
    /// The receiver itself transmitted.
    HalfDuplex,
    /// Noise or fading.
    Noise,
    /// The packet was never transmitted: the receiver did not answer the request to send.
    NoResponse,
    /// The receiver's radio was on another channel, or changed its channel.
    OffChannel,
    /// The client was not associated with the access point that sent, or was to receive, the packet.
    NotAssociated,
    /// The packet was never transmitted: the receiver's address was not resolved, or a newer packet replaced
    /// this one while it was held for the resolution.
    Unresolved,
    /// The client dozed, and the access point's buffer was full, or it sent while the client was not awake.
    PowerSave,
    /// The queue of the bearer was full: congestion.
    BearerQueue,
    /// The packet has waited for longer than the discard timer of its bearer: congestion.
    Discard,
    /// All transmissions of a block with a part of it failed, and RLC does not repeat.
    Harq,
    /// RLC has given up waiting for a part of it.
    Rlc,
    /// PDCP has not waited for it.
    Order,
    /// The terminal has left the cell that had the packet.
    Handover,
}

impl MediumLoss {
    /// Lower-case name of the cause.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Collision => "collision",
            Self::Capture => "capture",
            Self::OutOfRange => "out-of-range",
            Self::HalfDuplex => "half-duplex",
            Self::Noise => "noise",
            Self::NoResponse => "no-response",
            Self::OffChannel => "off-channel",
            Self::NotAssociated => "not-associated",
            Self::Unresolved => "arp",
            Self::PowerSave => "power-save",
            Self::BearerQueue => "queue",
            Self::Discard => "discard",
            Self::Harq => "harq",
            Self::Rlc => "rlc",
            Self::Order => "order",
            Self::Handover => "handover",
        }
    }
}

/// The true cause of a loss, which a real receiver never learns.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum LossCause {
    /// The link's queue was full: congestion.
    QueueOverflow(LinkId),
    /// The link's active queue management dropped the packet to signal congestion.
    EarlyDrop(LinkId),
    /// The link's impairment destroyed the packet after it was transmitted.
    Wireless(LinkId),
    /// The link was down, or went down with the packet queued or under way.
    LinkDown(LinkId),
    /// The send queue of this node's host was full: congestion at the source.
    HostOverflow(NodeId),
    /// The station's queue was full: congestion.
    StationOverflow(StationId),
    /// The station's active queue management dropped the packet to signal congestion.
    StationDrop(StationId),
    /// The station sent the packet, or tried to, and the medium lost it.
    Medium(StationId, MediumLoss),
    /// At this node no link leads to the destination.
    NoRoute(NodeId),
    /// The destination node has no agent for the flow.
    NoAgent(NodeId),
    /// The packet crossed 255 links, so the routes run in a circle through this node.
    HopLimit(NodeId),
}

impl LossCause {
    /// The link at which the packet was lost, if it was at a link.
    pub const fn link(self) -> Option<LinkId> {
        match self {
            Self::QueueOverflow(link)
            | Self::EarlyDrop(link)
            | Self::Wireless(link)
            | Self::LinkDown(link) => Some(link),
            Self::HostOverflow(_)
            | Self::StationOverflow(_)
            | Self::StationDrop(_)
            | Self::Medium(..)
            | Self::NoRoute(_)
            | Self::NoAgent(_)
            | Self::HopLimit(_) => None,
        }
    }

    /// `true` if congestion control should respond to the loss.
    pub const fn is_congestion(self) -> bool {
        matches!(
            self,
            Self::QueueOverflow(_)
                | Self::EarlyDrop(_)
                | Self::HostOverflow(_)
                | Self::StationOverflow(_)
                | Self::StationDrop(_)
                | Self::Medium(_, MediumLoss::BearerQueue | MediumLoss::Discard)
        )
    }
}

/// One line of the loss log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LossRecord {
    /// Time of the drop; for a wireless loss, the time at which the packet would have arrived.
    pub at: Instant,
    /// Cause and place of the loss.
    pub cause: LossCause,
    /// The packet's flow.
    pub flow: FlowId,
    /// The node that sent it.
    pub source: NodeId,
    /// The agent that should have received it, if there is one.
    pub receiver: Option<AgentId>,
    /// The packet's number.
    pub packet: PacketId,
    /// Bytes on the link.
    pub size: u32,
}
