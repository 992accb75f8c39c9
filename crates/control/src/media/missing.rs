//! Packets reported missing that may still arrive: they count as lost after a reordering time.

use alloc::vec::Vec;

use whimbrel_units::Duration;

use super::{PacketReport, Reception, SentPacket};

/// Most packets that wait for their reordering time; the oldest beyond count as lost.
const MOST: usize = 4096;

/// The packets that are missing and not yet lost, in the order of sequence numbers.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct MissingPackets {
    missing: Vec<SentPacket>,
    /// The packet sent last of those that arrived.
    newest: Option<SentPacket>,
}

impl MissingPackets {
    /// Processes the packets of a report; calls `lost` for each missing packet sent at least `reordering` before a
    /// packet that arrived.
    pub(super) fn on_report(
        &mut self,
        packets: &[PacketReport],
        reordering: Duration,
        lost: impl FnMut(&SentPacket),
    ) {
        self.judge(packets, |missing, newest| missing.sent_at + reordering <= newest.sent_at, lost);
    }

    /// Processes the packets of a report; calls `lost` for each missing packet that is lost by `is_lost`, which is given the packet
    /// and the one sent last of those that arrived.
    pub(super) fn judge(
        &mut self,
        packets: &[PacketReport],
        is_lost: impl Fn(&SentPacket, &SentPacket) -> bool,
        mut lost: impl FnMut(&SentPacket),
    ) {
        for packet in packets {
            match packet.reception {
                Reception::Missing => self.missing.push(packet.sent),
                Reception::Arrived { .. } => {
                    let is_newer = |newest: &SentPacket| newest.sent_at <= packet.sent.sent_at;
                    if self.newest.as_ref().is_none_or(is_newer) {
                        self.newest = Some(packet.sent);
                    }
                    self.missing.retain(|missing| missing.sequence != packet.sent.sequence);
                }
            }
        }
        let excess = self.missing.len().saturating_sub(MOST);
        let newest = self.newest;
        let mut index = 0;
        self.missing.retain(|missing| {
            index += 1;
            let is_lost = index <= excess || newest.is_some_and(|newest| is_lost(missing, &newest));
            if is_lost {
                lost(missing);
            }
            !is_lost
        });
    }
}

#[cfg(test)]
mod tests;
