//! Counts of marked packets, for the ECN Counts option.

use whimbrel_wire::option::tfrc::EcnCounts;
use whimbrel_wire::{Ecn, PacketType};

use crate::ccid::ReceivedPacket;

/// Counts packets with data, and how many of them were marked.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MarkCounter {
    /// The counts since the last report.
    counts: EcnCounts,
    /// Marked packets so far.
    total: u64,
}

impl MarkCounter {
    /// Counts a packet that has arrived.
    pub(super) fn on_received(&mut self, packet: &ReceivedPacket<'_>) {
        if !matches!(packet.packet_type, PacketType::Data | PacketType::DataAck) {
            return;
        }
        let is_marked = packet.ecn == Ecn::Ce;
        self.total += u64::from(is_marked);
        // Reports are sent once per round-trip time: the numbers saturate only if none can be sent.
        self.counts.received = self.counts.received.saturating_add(1);
        self.counts.marked = self.counts.marked.saturating_add(u32::from(is_marked));
    }

    /// The counts since the last call.
    pub(super) fn take(&mut self) -> EcnCounts {
        core::mem::take(&mut self.counts)
    }

    /// Number of marked packets so far.
    pub(super) fn total(&self) -> u64 {
        self.total
    }
}
