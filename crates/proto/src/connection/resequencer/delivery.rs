//! Delivery in order: datagrams wait for preceding ones.

use whimbrel_control::reordering::{LatenessMeter, Output, ReorderBuffer, ReorderConfig};
use whimbrel_control::window::InitialWindow;
use whimbrel_units::{ByteCount, DataRate, Duration, Instant};
use whimbrel_wire::SeqNo;

use super::ReorderSnapshot;
use super::queued_packet::QueuedPacket;
use crate::config::{Config, LatePolicy};
use crate::{Event, ReceiverSnapshot};

/// A sender may send at up to twice the rate received (RFC 5348, Section 4.3).
const RATE_AHEAD: f64 = 2.0;
/// Data of a packet that fills an Ethernet frame.
const ETHERNET: ByteCount = ByteCount::new(1460);
/// Factor applied to an older, higher receive rate when p rises. Otherwise the old rate is kept: a sender
/// with little data keeps its allowed rate, and halves it at a loss event (RFC 5348, Section 4.3, Maximize
/// X_recv_set).
const RATE_KEPT: f64 = 0.5;
/// Lower bound on an adaptive D_max as a fraction of a round-trip time, the initial reordering window of RACK
/// (RFC 8985, Section 6.2, Step 4): a path without recent reordering may still reorder a little.
const FLOOR_IN_RTT: u64 = 4;

/// A packet that waits for preceding ones.
#[derive(Debug)]
pub(in super::super) struct Waiting {
    pub(in super::super) packet: QueuedPacket,
    /// The event for the application.
    pub(in super::super) event: Option<Event>,
}

/// The reorder buffer in front of the application and, unless losses are detected otherwise, of loss
/// detection.
#[derive(Debug)]
pub(super) struct Delivery {
    pub(super) buffer: ReorderBuffer<Waiting>,
    /// `true` if a packet counts as lost when the buffer gives it up.
    pub(super) detects_losses: bool,
    /// `true` if late datagrams are delivered out of order rather than discarded.
    pub(super) delivers_late: bool,
    /// Number of datagrams that arrived after they had been given up.
    pub(super) late: u64,
    /// The configured D_max.
    ceiling: Duration,
    /// The current D_max.
    delay: Duration,
    /// `true` if D_max follows the measured lateness.
    adapts: bool,
    /// Lower bound on an adaptive D_max; `None` before a round-trip time is known.
    floor: Option<Duration>,
    /// The receiver's estimate of X, from which a dynamic size is computed.
    rate: DataRate,
    /// The last measured p.
    loss_event_rate: Option<f64>,
    /// The largest data in one packet so far, or expected.
    largest: ByteCount,
}

impl Delivery {
    /// Creates the buffer, if `config` enables it. `first` is the number of the first expected packet.
    pub(super) fn new(config: &Config, first: u64) -> Option<Self> {
        let receive = &config.receive;
        let ceiling = receive.reorder_delay?;
        let buffer_config = ReorderConfig {
            delay: ceiling,
            size: receive.reorder_size,
            max_packets: receive.max_datagrams,
            max_bytes: ByteCount::new(receive.max_bytes as u64),
        };
        Some(Self {
            buffer: ReorderBuffer::new(buffer_config, first),
            detects_losses: config.detects_by_delivery(),
            delivers_late: receive.late == LatePolicy::Deliver,
            late: 0,
            ceiling,
            delay: ceiling,
            adapts: receive.reorder_adapts,
            floor: None,
            rate: DataRate::ZERO,
            loss_event_rate: None,
            largest: ETHERNET,
        })
    }

    /// Records the size of a packet's data.
    pub(super) fn on_size(&mut self, size: ByteCount) {
        self.largest = self.largest.max(size);
    }

    /// Updates D_max and the size with the receiver's measurements, taken with each feedback, and the
    /// round-trip time.
    pub(super) fn on_measured(&mut self, measured: &ReceiverSnapshot, rtt: Option<Duration>) {
        self.floor = measured.rtt.or(rtt).map(|rtt| rtt / FLOOR_IN_RTT).or(self.floor);
        let (Some(rate), Some(rtt)) = (measured.receive_rate, measured.rtt) else { return };
        // Zero before anything was measured.
        if rate > DataRate::ZERO {
            let kept = if measured.loss_event_rate > self.loss_event_rate { RATE_KEPT } else { 1.0 };
            self.loss_event_rate = measured.loss_event_rate;
            // Lower bound: the initial rate of slow start (Section 4.2), however little was received.
            let initial = InitialWindow::Rfc6928.bytes(self.largest) / rtt;
            self.rate = (rate.max(initial) * RATE_AHEAD).max(self.rate * kept);
            self.buffer.set_rate(self.rate);
        }
    }

    /// Sets an adaptive D_max from the lateness of recent packets.
    pub(super) fn adapt(&mut self, now: Instant, lateness: &mut LatenessMeter) {
        if !self.adapts {
            return;
        }
        let floor = self.floor.unwrap_or(self.ceiling).min(self.ceiling);
        let delay = lateness.delay(now, floor, self.ceiling).unwrap_or(self.ceiling);
        if delay != self.delay {
            self.delay = delay;
            self.buffer.set_delay(delay);
        }
    }

    /// Position of `sequence` on the buffer's scale.
    pub(super) fn place(&self, sequence: SeqNo) -> u64 {
        sequence.unwrap_near(self.buffer.next_sequence())
    }

    /// `true` if packets before that number are missing.
    pub(super) fn holds(&self, sequence: SeqNo, not_missed: u64) -> bool {
        let place = self.place(sequence);
        let next = self.buffer.next_sequence();
        place >= next && (self.buffer.held() > 0 || place.saturating_sub(not_missed) > next)
    }

    /// Returns the next packet or gap to leave the buffer, if any.
    pub(super) fn poll(&mut self, now: Instant) -> Option<Output<Waiting>> {
        self.buffer.poll(now)
    }

    pub(super) fn snapshot(&self) -> ReorderSnapshot {
        let counts = self.buffer.counts();
        ReorderSnapshot {
            held: self.buffer.held(),
            most_held: counts.most_held,
            capacity: self.buffer.capacity(),
            delay: Some(self.delay),
            reordered: counts.reordered,
            expired: counts.expired,
            overflowed: counts.overflowed,
            late: self.late,
        }
    }
}
