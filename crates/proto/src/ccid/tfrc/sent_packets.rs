//! Transmission times of the packets not acknowledged yet.
//!
//! An acknowledgement has a sequence number and the time since that packet arrived; with the packet's
//! transmission time, that gives a round-trip time sample (RFC 4342, Section 10.1).

use std::collections::VecDeque;

use whimbrel_units::Instant;
use whimbrel_wire::SeqNo;

#[cfg(test)]
mod tests;

/// A packet that was sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SentRecord {
    /// Time of transmission.
    pub(super) at: Instant,
    /// Its window counter, if it is a data packet.
    pub(super) counter: Option<u8>,
}

/// The packets sent since the last acknowledged one, that one, and on request some before.
#[derive(Clone, Debug)]
pub(super) struct SentPackets {
    /// The number of the packet at the front.
    first: SeqNo,
    packets: VecDeque<SentRecord>,
    /// The number of the packet after the last data packet.
    after_data: SeqNo,
}

impl SentPackets {
    /// The most packets stored: more than a round-trip time of 10 Gbit/s and 100 ms. If the receiver is
    /// silent, the oldest are dropped.
    const KEPT: usize = 1 << 17;

    /// The most packets stored once so many have followed the last data packet: more than the
    /// acknowledgements that an end sends in a round-trip time at 100 Mbit/s and 100 ms. The peer reports
    /// data only, and an end that only receives would store them all.
    const KEPT_WITHOUT_DATA: usize = 1024;

    pub(super) fn new(next: SeqNo) -> Self {
        Self { first: next, packets: VecDeque::new(), after_data: next }
    }

    /// Adds a sent packet. Numbers are consecutive; after a gap, the earlier packets are dropped.
    pub(super) fn push(&mut self, sequence: SeqNo, sent: SentRecord) {
        if self.first.add(self.packets.len() as u64) != sequence {
            self.packets.clear();
            self.first = sequence;
        }
        if sent.counter.is_some() {
            self.after_data = sequence.next();
        }
        let without_data = sequence.distance_from(self.after_data).unsigned_abs();
        let most =
            if without_data < Self::KEPT_WITHOUT_DATA as u64 { Self::KEPT } else { Self::KEPT_WITHOUT_DATA };
        while self.packets.len() >= most {
            self.packets.pop_front();
            self.first = self.first.next();
        }
        self.packets.push_back(sent);
    }

    /// Returns the record of packet `ack`, which was acknowledged. Those before it that were sent before
    /// `keep` are dropped.
    pub(super) fn acknowledge(&mut self, ack: SeqNo, keep: Instant) -> Option<SentRecord> {
        let index = usize::try_from(ack.distance_from(self.first)).ok()?;
        let acknowledged = *self.packets.get(index)?;
        let old = if keep > acknowledged.at {
            index
        } else {
            self.packets.partition_point(|sent| sent.at < keep).min(index)
        };
        self.packets.drain(..old);
        self.first = self.first.add(old as u64);
        Some(acknowledged)
    }

    /// The record of a packet.
    pub(super) fn get(&self, sequence: SeqNo) -> Option<SentRecord> {
        let index = usize::try_from(sequence.distance_from(self.first)).ok()?;
        self.packets.get(index).copied()
    }
}
