//! Datagrams of a multipath connection.

use bytes::Bytes;
use whimbrel_proto::multipath::SubflowId;
use whimbrel_units::Instant;
use whimbrel_wire::{Ecn, SeqNo};

use crate::feedback::Delivered;

/// A datagram as the application receives it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MultipathReceived {
    /// Its data. May be a slice of a receive buffer of 64 KiB: copy it if you keep it for long.
    pub payload: Bytes,
    /// Its number in the multipath connection.
    pub sequence: SeqNo,
    /// The subflow on which it arrived.
    pub subflow: SubflowId,
    /// The number of its packet on that subflow.
    pub packet: SeqNo,
    /// The ECN codepoint with which it arrived.
    pub ecn: Ecn,
    /// Time of its reception from the kernel, or of its release by the reorder buffer, on the socket's clock.
    pub arrival: Instant,
}

impl Delivered for MultipathReceived {
    type Packet = (SubflowId, SeqNo);

    fn packet(&self) -> (SubflowId, SeqNo) {
        (self.subflow, self.packet)
    }
}
