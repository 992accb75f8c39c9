//! Loss detection after RACK (RFC 8985): the decision on a missing packet is delayed, datagrams are not.

use whimbrel_control::loss_detection::NDUPACK;
use whimbrel_control::reordering::{BufferSize, Output, ReorderBuffer, ReorderConfig, ReorderWindow};
use whimbrel_units::{ByteCount, Duration, Instant};

use super::ReorderSnapshot;
use super::queued_packet::QueuedPacket;
use crate::Config;

/// Three packets after a missing one declare it lost (RFC 5348, Section 5.1): while two wait, it is not.
const BY_PACKETS: BufferSize = BufferSize::Fixed(NDUPACK as u32 - 1);

/// The packets behind a missing one whose loss is not decided yet.
#[derive(Debug)]
pub(super) struct DetectionQueue {
    pub(super) buffer: ReorderBuffer<QueuedPacket>,
    window: ReorderWindow,
    /// Number of packets that arrived after they had been declared lost.
    pub(super) late: u64,
}

impl DetectionQueue {
    /// Creates the queue, if `config` enables it. `first` is the number of the first expected packet.
    pub(super) fn new(config: &Config, first: u64) -> Option<Self> {
        if !config.detects_by_time() {
            return None;
        }
        let buffer_config = ReorderConfig {
            delay: Duration::MAX,
            size: BY_PACKETS,
            max_packets: config.receive.max_datagrams,
            max_bytes: ByteCount::new(config.receive.max_bytes as u64),
        };
        Some(Self { buffer: ReorderBuffer::new(buffer_config, first), window: ReorderWindow::new(), late: 0 })
    }

    /// Updates the window with the round-trip time, measured with each feedback.
    pub(super) fn on_rtt(&mut self, now: Instant, rtt: Duration) {
        self.window.on_rtt(now, rtt);
        self.adapt();
    }

    /// Observes packet `sequence` before it is queued: it may be out of order, or late.
    pub(super) fn watch(&mut self, now: Instant, sequence: u64) {
        if sequence < self.buffer.next_sequence() {
            self.window.on_late(now);
        } else if sequence < self.buffer.greatest_sequence() {
            self.window.on_reordered(now);
        } else {
            return;
        }
        self.adapt();
    }

    /// Sets the delay to the window, or to three packets.
    fn adapt(&mut self) {
        let (delay, size) = match self.window.window() {
            Some(delay) => (delay, BufferSize::Dynamic),
            None => (Duration::MAX, BY_PACKETS),
        };
        self.buffer.set_delay(delay);
        self.buffer.set_size(size);
    }

    /// Returns the next packet or gap to be processed by loss detection, if any.
    pub(super) fn poll(&mut self, now: Instant) -> Option<Output<QueuedPacket>> {
        let output = self.buffer.poll(now)?;
        if let Output::Lost { .. } = output {
            self.window.on_lost(now);
            self.adapt();
        }
        Some(output)
    }

    pub(super) fn snapshot(&self) -> ReorderSnapshot {
        let counts = self.buffer.counts();
        ReorderSnapshot {
            held: self.buffer.held(),
            most_held: counts.most_held,
            capacity: self.buffer.capacity(),
            delay: self.window.window(),
            reordered: counts.reordered,
            expired: counts.expired,
            overflowed: counts.overflowed,
            late: self.late,
        }
    }
}
