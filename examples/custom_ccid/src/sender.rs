//! The end that sends data.

use std::collections::VecDeque;

use whimbrel_proto::ccid::{Feedback, HcSender, SenderMarks, SentPacket};
use whimbrel_proto::{SendVerdict, SenderSnapshot};
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::FeatureNumber;
use whimbrel_wire::{DccpOption, PacketType, SeqNo};

use crate::{RECEIVED_COUNT, SEND_RECEIVED_COUNT};

/// Paces packets at a window per round-trip time.
#[derive(Debug)]
pub struct Sender {
    rtt: Duration,
    /// Packets per round-trip time.
    window: f64,
    next_at: Instant,
    /// The data packets beyond the last one acknowledged.
    unacknowledged: VecDeque<SeqNo>,
    /// Data packets up to the last one acknowledged, whether they arrived or not.
    acknowledged: u64,
    lost: u64,
    /// `true` once both ends have agreed that the receiver reports its count.
    counts: bool,
}

impl Sender {
    /// A sender that begins with one packet per round-trip time.
    pub fn new(now: Instant, rtt: Duration) -> Self {
        Self {
            rtt,
            window: 1.0,
            next_at: now,
            unacknowledged: VecDeque::new(),
            acknowledged: 0,
            lost: 0,
            counts: false,
        }
    }

    /// Compares the receiver's count with what was sent up to the packet that it acknowledges.
    fn on_count(&mut self, ack: SeqNo, received: u32) {
        while self.unacknowledged.front().is_some_and(|sequence| !sequence.is_after(ack)) {
            self.unacknowledged.pop_front();
            self.acknowledged += 1;
        }
        // The count is of 32 bits and the difference small, so it survives a wrap.
        let lost = u64::from((self.acknowledged as u32).wrapping_sub(received));
        if lost > self.lost {
            self.lost = lost;
            self.window = (self.window / 2.0).max(1.0);
        } else {
            self.window += 1.0;
        }
    }
}

impl HcSender for Sender {
    fn poll_send(&mut self, now: Instant, _size: usize) -> SendVerdict {
        if self.next_at <= now { SendVerdict::Now } else { SendVerdict::At(self.next_at) }
    }

    fn on_sent(&mut self, now: Instant, packet: SentPacket, _marks: SenderMarks<'_>) {
        if matches!(packet.packet_type, PacketType::Data | PacketType::DataAck) {
            self.unacknowledged.push_back(packet.sequence);
            self.next_at = now + self.rtt.mul_f64(1.0 / self.window);
        }
    }

    fn needs_ack_of_ack(&self, _now: Instant) -> bool {
        false
    }

    fn on_feedback(&mut self, _now: Instant, feedback: &Feedback<'_>) {
        if let Some(rtt) = feedback.timestamp_rtt {
            self.rtt = rtt;
        }
        for option in feedback.options {
            if let DccpOption::CcidSpecific { kind: RECEIVED_COUNT, data } = option
                && self.counts
                && let Ok(count) = <[u8; 4]>::try_from(&data[..])
            {
                self.on_count(feedback.ack, u32::from_be_bytes(count));
            }
        }
    }

    fn handle_timeout(&mut self, _now: Instant) {}

    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    fn on_feature(&mut self, _now: Instant, feature: FeatureNumber, value: u64) {
        if feature == SEND_RECEIVED_COUNT {
            self.counts = value == 1;
        }
    }

    fn snapshot(&self) -> SenderSnapshot {
        let mut snapshot = SenderSnapshot::default();
        snapshot.rtt = Some(self.rtt);
        snapshot.cwnd = Some(self.window as u32);
        snapshot.lost = self.lost;
        snapshot
    }
}
