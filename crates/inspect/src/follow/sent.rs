//! Captured packets that await acknowledgement, and their state by Ack Vectors (RFC 4340, Section 11.4).

use std::collections::VecDeque;

use whimbrel_units::Instant;
use whimbrel_wire::SeqNo;
use whimbrel_wire::option::ack_vector::{AckState, Run};

#[cfg(test)]
mod tests;

/// Maximum number of packets kept.
const MOST: usize = 2048;

/// State of a packet.
#[derive(Clone, Copy, Debug)]
struct Sent {
    /// Capture time; `None` if it was not captured.
    at: Option<Instant>,
    payload: u32,
    outcome: Acknowledged,
    /// `true` once a packet with its Acknowledgement Number was captured.
    is_acknowledged: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Acknowledged {
    Unknown,
    Received,
    Lost,
}

/// Changes by an Ack Vector.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct AckVectorUpdate {
    /// Application data received, in bytes.
    pub(crate) bytes: u64,
    /// Packets reported as received that were reported as lost before.
    pub(crate) recovered: u64,
    /// Packets reported as not received for the first time.
    pub(crate) lost: u64,
    /// Packets received with a mark of congestion.
    pub(crate) marked: u64,
    /// Packets reported as received that were not captured.
    pub(crate) unseen: u64,
}

/// The packets of one direction, in the order of their numbers, without gaps.
#[derive(Clone, Debug, Default)]
pub(crate) struct SentPackets {
    oldest: SeqNo,
    packets: VecDeque<Sent>,
}

impl SentPackets {
    /// Adds the newest packet, after `missing` others that were not captured.
    pub(crate) fn push(&mut self, sequence: SeqNo, missing: u64, at: Instant, payload: usize) {
        if missing as usize >= MOST {
            self.packets.clear();
        } else {
            for _ in 0..missing {
                self.make_room();
                self.packets.push_back(Sent {
                    at: None,
                    payload: 0,
                    outcome: Acknowledged::Unknown,
                    is_acknowledged: false,
                });
            }
        }
        self.make_room();
        let payload = u32::try_from(payload).unwrap_or(u32::MAX);
        self.packets.push_back(Sent {
            at: Some(at),
            payload,
            outcome: Acknowledged::Unknown,
            is_acknowledged: false,
        });
        self.oldest = sequence.sub(self.packets.len() as u64 - 1);
    }

    /// Records the capture of a reordered packet.
    pub(crate) fn fill(&mut self, sequence: SeqNo, at: Instant, payload: usize) {
        if let Some(sent) = self.find(sequence) {
            sent.at = Some(at);
            sent.payload = u32::try_from(payload).unwrap_or(u32::MAX);
        }
    }

    /// Processes an Acknowledgement Number: returns the capture time of the packet on its first
    /// acknowledgement.
    pub(crate) fn acknowledge(&mut self, ack: SeqNo) -> Option<Instant> {
        let sent = self.find(ack).filter(|sent| !sent.is_acknowledged)?;
        sent.is_acknowledged = true;
        sent.at
    }

    /// Processes an Ack Vector.
    pub(crate) fn on_ack_vector(&mut self, runs: impl Iterator<Item = Run>) -> AckVectorUpdate {
        let mut update = AckVectorUpdate::default();
        for run in runs {
            if self.packets.is_empty() || run.newest.is_before(self.oldest) {
                break;
            }
            let newest = self.oldest.add(self.packets.len() as u64 - 1);
            if run.oldest.is_after(newest) {
                continue;
            }
            let from = run.oldest.max(self.oldest).distance_from(self.oldest).unsigned_abs() as usize;
            let last = if run.newest.is_after(newest) { newest } else { run.newest };
            let to = last.distance_from(self.oldest).unsigned_abs() as usize;
            for sent in self.packets.range_mut(from..=to) {
                update.record(sent, run.state);
            }
        }
        // The state of received packets does not change any more.
        while self
            .packets
            .front()
            .is_some_and(|sent| sent.outcome == Acknowledged::Received && sent.is_acknowledged)
        {
            self.packets.pop_front();
            self.oldest = self.oldest.next();
        }
        update
    }

    fn find(&mut self, sequence: SeqNo) -> Option<&mut Sent> {
        let at = usize::try_from(sequence.distance_from(self.oldest)).ok()?;
        self.packets.get_mut(at)
    }

    fn make_room(&mut self) {
        if self.packets.len() == MOST {
            self.packets.pop_front();
        }
    }
}

impl AckVectorUpdate {
    fn record(&mut self, sent: &mut Sent, state: AckState) {
        match (sent.outcome, state) {
            (Acknowledged::Received, _)
            | (Acknowledged::Lost, AckState::NotReceived)
            | (_, AckState::Reserved) => {}
            (Acknowledged::Unknown, AckState::NotReceived) => {
                sent.outcome = Acknowledged::Lost;
                self.lost += 1;
            }
            (before, AckState::Received | AckState::ReceivedEcnMarked) => {
                sent.outcome = Acknowledged::Received;
                self.bytes += u64::from(sent.payload);
                self.recovered += u64::from(before == Acknowledged::Lost);
                self.marked += u64::from(state == AckState::ReceivedEcnMarked);
                self.unseen += u64::from(sent.at.is_none());
            }
        }
    }
}
