//! A packet as the congestion control is shown it in its turn.

use whimbrel_wire::{DccpOption, Options};

use crate::ccid::ReceivedPacket;

/// A packet that waits for those before it.
#[derive(Debug)]
pub(super) struct InTurn {
    /// All but the options.
    packet: ReceivedPacket<'static>,
    options: Options,
}

impl InTurn {
    /// `options`: the packet's. Those that no congestion control reads in turn were read on arrival, may be long, and are not kept.
    pub(super) fn new(packet: &ReceivedPacket<'_>, mut options: Options) -> Self {
        options.retain(|option| matches!(option, DccpOption::Timestamp(_) | DccpOption::CcidSpecific { .. }));
        options.shrink_to_fit();
        Self { packet: ReceivedPacket { options: &[], ..*packet }, options }
    }
    /// The packet, as on its arrival.
    pub(super) fn shown(&self) -> ReceivedPacket<'_> {
        ReceivedPacket { options: &self.options, ..self.packet }
    }
}
