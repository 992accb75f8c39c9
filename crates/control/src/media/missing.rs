//! Packets reported missing that may still arrive: they count as lost after a reordering time.

use alloc::vec::Vec;

use whimbrel_units::{Duration, Instant};

use super::{PacketReport, Reception, SentPacket};

/// Most packets that wait for their reordering time; the oldest beyond count as lost.
const MOST: usize = 4096;

/// The packets that are missing and not yet lost, in the order of sequence numbers.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct MissingPackets {
    missing: Vec<SentPacket>,
    /// Sending time of the newest packet that arrived.
    newest: Instant,
}

impl MissingPackets {
    /// Processes the packets of a report; calls `lost` for each missing packet sent at least `reordering`
    /// before a packet that arrived.
    pub(super) fn on_report(
        &mut self,
        packets: &[PacketReport],
        reordering: Duration,
        mut lost: impl FnMut(&SentPacket),
    ) {
        for packet in packets {
            match packet.reception {
                Reception::Missing => self.missing.push(packet.sent),
                Reception::Arrived { .. } => {
                    self.newest = self.newest.max(packet.sent.sent_at);
                    self.missing.retain(|missing| missing.sequence != packet.sent.sequence);
                }
            }
        }
        let excess = self.missing.len().saturating_sub(MOST);
        let newest = self.newest;
        let mut index = 0;
        self.missing.retain(|missing| {
            index += 1;
            let is_lost = index <= excess || missing.sent_at + reordering <= newest;
            if is_lost {
                lost(missing);
            }
            !is_lost
        });
    }
}

#[cfg(test)]
mod tests;
