//! Packets in flight, and detection of their loss (RFC 4341, Section 5).

use std::collections::VecDeque;

use whimbrel_units::Instant;
use whimbrel_wire::SeqNo;

use super::NUMDUPACK;

/// The most packets stored. The limit is reached only if an end sends tens of thousands of acknowledgements
/// of its own while one of its datagrams is in flight; the oldest then count as lost.
const MAX_PACKETS: usize = 1 << 16;

/// The packets from the oldest with an unknown outcome on, with data or without, in order of their numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Flight {
    /// Sequence number of the first of `packets`.
    base: SeqNo,
    packets: VecDeque<InFlightPacket>,
    /// Number of data packets that are neither acknowledged nor lost.
    pipe: u32,
    /// The highest acknowledged numbers, the highest first.
    highest: [Option<SeqNo>; NUMDUPACK],
}

/// A packet that was sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct InFlightPacket {
    /// Time of transmission.
    pub(super) at: Instant,
    /// `true` if it carried data.
    pub(super) is_data: bool,
    /// `true` if it was acknowledged.
    has_arrived: bool,
}

/// Result of an acknowledgement of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) enum AckOutcome {
    /// The first acknowledgement of that packet.
    First(InFlightPacket),
    /// A repeated acknowledgement.
    Repeated,
    /// The packet is no longer stored, or was never sent.
    Unknown,
}

impl Flight {
    /// `pipe`: number of data packets in the network.
    pub(super) fn pipe(&self) -> u32 {
        self.pipe
    }

    /// Adds a sent packet. Numbers increase.
    pub(super) fn push(&mut self, sequence: SeqNo, at: Instant, is_data: bool) {
        if self.packets.is_empty() {
            // Only packets *after* a datagram provide information about it.
            if !is_data {
                return;
            }
            self.base = sequence;
        }
        let sent = InFlightPacket { at, is_data, has_arrived: false };
        let skipped = sequence.distance_from(self.base) - self.packets.len() as i64;
        for _ in 0..skipped.clamp(0, MAX_PACKETS as i64) {
            self.packets.push_back(InFlightPacket { is_data: false, ..sent });
        }
        self.packets.push_back(sent);
        self.pipe += u32::from(is_data);
    }

    /// Processes the acknowledgement of packet `sequence`. Each is subtracted from `pipe` once.
    pub(super) fn on_arrival(&mut self, sequence: SeqNo) -> AckOutcome {
        let Some(sent) = self.get_mut(sequence) else { return AckOutcome::Unknown };
        if core::mem::replace(&mut sent.has_arrived, true) {
            return AckOutcome::Repeated;
        }
        let sent = *sent;
        self.pipe -= u32::from(sent.is_data);
        self.raise(sequence);
        AckOutcome::First(sent)
    }

    /// Returns the next lost data packet: at least three packets sent after it have arrived, and it was sent
    /// at `sent_by` or before. Removes packets with a known outcome on the way.
    pub(super) fn take_lost(&mut self, sent_by: Instant) -> Option<SeqNo> {
        loop {
            let is_full = self.packets.len() > MAX_PACKETS;
            if !is_full && (!self.is_overtaken() || self.suspect().is_some_and(|sent| sent > sent_by)) {
                return None;
            }
            let sent = self.packets.pop_front()?;
            let sequence = self.base;
            self.base = self.base.next();
            if sent.is_data && !sent.has_arrived {
                self.pipe -= 1;
                return Some(sequence);
            }
        }
    }

    /// Transmission time of the oldest packet, if it is a data packet that has not arrived and at least three
    /// packets sent after it have.
    pub(super) fn suspect(&self) -> Option<Instant> {
        let oldest = self.packets.front().filter(|oldest| oldest.is_data && !oldest.has_arrived)?;
        self.is_overtaken().then_some(oldest.at)
    }

    /// `true` if at least three packets sent after the oldest have arrived.
    fn is_overtaken(&self) -> bool {
        self.highest[NUMDUPACK - 1].is_some_and(|third| self.base.is_before(third))
    }

    /// `true` if a packet with a greater number has arrived.
    pub(super) fn is_below_highest(&self, sequence: SeqNo) -> bool {
        self.highest[0].is_some_and(|highest| sequence.is_before(highest))
    }

    /// The transmit timer expired: all packets are lost. Calls `on_lost` for each data packet among them.
    pub(super) fn clear(&mut self, mut on_lost: impl FnMut(SeqNo)) {
        for (index, sent) in (0..).zip(self.packets.drain(..)) {
            if sent.is_data && !sent.has_arrived {
                on_lost(self.base.add(index));
            }
        }
        self.highest = [None; NUMDUPACK];
        self.pipe = 0;
    }

    fn get_mut(&mut self, sequence: SeqNo) -> Option<&mut InFlightPacket> {
        let offset = sequence.distance_from(self.base);
        usize::try_from(offset).ok().and_then(|index| self.packets.get_mut(index))
    }

    /// Inserts a number among the highest.
    fn raise(&mut self, sequence: SeqNo) {
        let mut candidate = sequence;
        for highest in &mut self.highest {
            match highest {
                Some(number) if candidate.is_before(*number) => {}
                Some(number) => candidate = core::mem::replace(number, candidate),
                None => {
                    *highest = Some(candidate);
                    return;
                }
            }
        }
    }
}
