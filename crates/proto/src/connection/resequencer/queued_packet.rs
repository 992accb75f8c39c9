//! A packet in the form kept until congestion control processes it in order.

use whimbrel_wire::{DccpOption, Options};

use crate::ccid::ReceivedPacket;

/// A packet that waits for preceding ones.
#[derive(Debug)]
pub(in super::super) struct QueuedPacket {
    /// The packet without its options.
    packet: ReceivedPacket<'static>,
    options: Options,
}

impl QueuedPacket {
    /// `options`: the packet's. Options that no congestion control reads in order were read on arrival and
    /// are dropped, as they may be long.
    pub(in super::super) fn new(packet: &ReceivedPacket<'_>, mut options: Options) -> Self {
        options.retain(|option| matches!(option, DccpOption::Timestamp(_) | DccpOption::CcidSpecific { .. }));
        options.shrink_to_fit();
        Self { packet: ReceivedPacket { options: &[], ..*packet }, options }
    }

    /// The packet, in the form passed on arrival.
    pub(in super::super) fn packet(&self) -> ReceivedPacket<'_> {
        ReceivedPacket { options: &self.options, ..self.packet }
    }
}
