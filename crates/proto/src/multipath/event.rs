//! Events of a multipath connection.

use core::net::IpAddr;

use whimbrel_wire::option::multipath::PathPriority;
use whimbrel_wire::{Ecn, Payload, SeqNo};

use super::SubflowId;
use crate::{ConnectionError, DatagramId, DropReason, Event};

/// An event that a multipath connection reports to its application.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum MultipathEvent {
    /// The first handshake is complete: data flow both ways.
    Established {
        /// `true` if both ends use the multipath extensions; `false` after a fallback to a regular
        /// connection.
        is_multipath: bool,
    },
    /// A datagram arrived.
    Datagram {
        /// Its data.
        payload: Payload,
        /// Its number in the multipath connection; in a regular connection its packet's.
        sequence: SeqNo,
        /// The subflow on which it arrived.
        subflow: SubflowId,
        /// The number of its packet on that subflow.
        packet: SeqNo,
        /// The ECN codepoint with which it arrived.
        ecn: Ecn,
        /// The paths had lost it: [repair](crate::repair) brought it.
        repaired: bool,
    },
    /// A datagram passed to `send` left. With copies on several subflows, reported for each.
    DatagramSent {
        /// Identifier of the datagram.
        id: DatagramId,
        /// Its number in the multipath connection; in a regular connection its packet's.
        sequence: SeqNo,
        /// The subflow that carries it.
        subflow: SubflowId,
    },
    /// A datagram passed to `send` will never be sent.
    DatagramDropped {
        /// Identifier of the datagram.
        id: DatagramId,
        /// Reason for dropping it.
        reason: DropReason,
    },
    /// The send queue has room again after a refused `send`.
    SendReady,
    /// As [`Event::NewStartNeeded`].
    NewStartNeeded {
        /// The stream of the frame.
        stream: u64,
    },
    /// A further subflow has joined.
    SubflowUp(SubflowId),
    /// A subflow has ended.
    SubflowDown {
        /// The subflow.
        subflow: SubflowId,
        /// Reason for its end.
        error: ConnectionError,
    },
    /// The acknowledgements of a subflow have ceased: no data is sent on it while another is alive.
    PathFailed(SubflowId),
    /// A failed subflow answers again.
    PathRecovered(SubflowId),
    /// The peer can be reached at a further address.
    AddressAdded {
        /// The peer's identifier of the address.
        address_id: u8,
        /// The address.
        address: IpAddr,
        /// The DCCP port; `None`: the one in use.
        port: Option<u16>,
    },
    /// The peer can no longer be reached at an address. Its subflows are closed.
    AddressRemoved {
        /// The peer's identifier of the address.
        address_id: u8,
    },
    /// The peer has set the priority of a path.
    PriorityChanged {
        /// The subflow.
        subflow: SubflowId,
        /// Its priority.
        priority: PathPriority,
    },
    /// An event of one subflow that has no counterpart here.
    Subflow {
        /// The subflow.
        subflow: SubflowId,
        /// The event.
        event: Event,
    },
    /// The connection has ended. Only [`MultipathEvent::SubflowDown`] and [`MultipathEvent::Drained`] follow.
    Closed(ConnectionError),
    /// The last timer has expired: the state may be discarded.
    Drained,
}
