//! The end that sends feedback.

use whimbrel_proto::ReceiverSnapshot;
use whimbrel_proto::ccid::{HcReceiver, ReceivedPacket};
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::FeatureNumber;
use whimbrel_wire::{DccpOption, OptionBytes, Options, PacketType, SeqNo};

use crate::{RECEIVED_COUNT, SEND_RECEIVED_COUNT};

/// Acknowledges once per round-trip time.
#[derive(Debug)]
pub struct Receiver {
    rtt: Duration,
    received: u32,
    /// When the next acknowledgement is due; `None` while nothing has arrived since the last one.
    due_at: Option<Instant>,
    /// `true` once both ends have agreed that the count is reported.
    counts: bool,
}

impl Receiver {
    /// A receiver that has received nothing.
    pub fn new(rtt: Duration) -> Self {
        Self { rtt, received: 0, due_at: None, counts: false }
    }
}

impl HcReceiver for Receiver {
    fn on_received(&mut self, now: Instant, packet: ReceivedPacket<'_>) {
        if let Some(rtt) = packet.rtt_hint {
            self.rtt = rtt;
        }
        if matches!(packet.packet_type, PacketType::Data | PacketType::DataAck) {
            self.received = self.received.wrapping_add(1);
            self.due_at.get_or_insert(now + self.rtt);
        }
    }

    fn feedback_due(&self, now: Instant) -> bool {
        self.due_at.is_some_and(|due_at| due_at <= now)
    }

    fn write_feedback(&mut self, _now: Instant, _ack: SeqNo, options: &mut Options) {
        if self.counts {
            let data = OptionBytes::from_slice(&self.received.to_be_bytes());
            options.push(DccpOption::CcidSpecific { kind: RECEIVED_COUNT, data });
        }
        self.due_at = None;
    }

    fn handle_timeout(&mut self, _now: Instant) {}

    fn poll_timeout(&self) -> Option<Instant> {
        self.due_at
    }

    fn on_feature(&mut self, _now: Instant, feature: FeatureNumber, value: u64) {
        if feature == SEND_RECEIVED_COUNT {
            self.counts = value == 1;
        }
    }

    fn snapshot(&self) -> ReceiverSnapshot {
        ReceiverSnapshot::default()
    }
}
