//! Egress of a node: a link, or a station on a shared medium.

use crate::{LinkId, MediumId, NodeId, StationIndex};

/// A node's interface on a shared medium.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StationId {
    pub(crate) medium: MediumId,
    pub(crate) index: StationIndex,
}

impl StationId {
    /// The medium.
    pub const fn medium(self) -> MediumId {
        self.medium
    }

    /// The position among the medium's stations in the order of addition, from 0.
    pub const fn index(self) -> StationIndex {
        self.index
    }
}

/// An interface through which packets leave a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Egress {
    /// The near end of a simplex link.
    Link(LinkId),
    /// A station on a shared medium.
    Station(StationId),
}

/// The next hop of a packet: an egress and, on a shared medium, the node that is to receive the packet there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum NextHop {
    /// Over a link, to the node at its far end.
    Link(LinkId),
    /// Over a shared medium.
    Station {
        /// The station that sends.
        station: StationId,
        /// The node that receives.
        to: NodeId,
    },
}

impl NextHop {
    /// The interface that the packet leaves through.
    pub const fn egress(self) -> Egress {
        match self {
            Self::Link(link) => Egress::Link(link),
            Self::Station { station, .. } => Egress::Station(station),
        }
    }
}
