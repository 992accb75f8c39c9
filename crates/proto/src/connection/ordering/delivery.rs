//! Delivery in order: datagrams wait for those sent before them.

use whimbrel_control::reordering::{LatenessMeter, Output, ReorderBuffer, ReorderConfig};
use whimbrel_control::tfrc::send_rate::initial_window;
use whimbrel_units::{ByteCount, DataRate, Duration, Instant};
use whimbrel_wire::SeqNo;

use super::ReorderSnapshot;
use super::turn::InTurn;
use crate::config::{Config, LatePolicy};
use crate::{Event, ReceiverSnapshot};

/// The rate that may come is twice what came (RFC 5348, Section 4.3).
const RATE_AHEAD: f64 = 2.0;
/// The data of a packet that fills a frame of Ethernet.
const ETHERNET: ByteCount = ByteCount::new(1460);
/// What is kept of a rate that no longer comes when p rises. Else all of it is: a sender that has little to send keeps its right to
/// more, and loses half of it with a loss event (RFC 5348, Section 4.3, Maximize X_recv_set).
const RATE_KEPT: f64 = 0.5;
/// An adaptive D_max is this part of a round-trip time at least, the initial reordering window of RACK (RFC 8985, Section 6.2,
/// Step 4): a path on which nothing was late lately may yet reorder a little.
const FLOOR_IN_RTT: u64 = 4;

/// A packet that waits for its turn.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) packet: InTurn,
    /// What the application gets.
    pub(super) event: Option<Event>,
}

/// The reorder buffer in front of the application, and, unless losses are judged otherwise, in front of loss detection.
#[derive(Debug)]
pub(super) struct Delivery {
    pub(super) buffer: ReorderBuffer<Waiting>,
    /// Whether a packet counts as lost when its turn is over.
    pub(super) judges: bool,
    /// Whether late datagrams are delivered out of order rather than discarded.
    pub(super) delivers_late: bool,
    /// Datagrams that arrived after their turn.
    pub(super) late: u64,
    /// The configured D_max.
    ceiling: Duration,
    /// D_max as the buffer has it now.
    delay: Duration,
    /// Whether D_max follows the late times that are measured.
    adapts: bool,
    /// The least adaptive D_max; `None` before a round-trip time is known.
    floor: Option<Duration>,
    /// X, as far as a receiver knows it: what a dynamic size goes by.
    rate: DataRate,
    /// p, as it was measured last.
    loss_event_rate: Option<f64>,
    /// The largest data that came in one packet, or may well come.
    largest: ByteCount,
}

impl Delivery {
    /// What `config` asks for, if it does. `first` is the number of the first packet to come.
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
            judges: config.judges_by_delivery(),
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

    /// A packet arrived with that much data.
    pub(super) fn on_size(&mut self, size: ByteCount) {
        self.largest = self.largest.max(size);
    }

    /// The receiver's measurements, taken with each feedback, and the connection's round-trip time.
    pub(super) fn on_measured(&mut self, measured: &ReceiverSnapshot, rtt: Option<Duration>) {
        self.floor = measured.rtt.or(rtt).map(|rtt| rtt / FLOOR_IN_RTT).or(self.floor);
        let (Some(rate), Some(rtt)) = (measured.receive_rate, measured.rtt) else { return };
        // Before anything was measured it is zero.
        if rate > DataRate::ZERO {
            let kept = if measured.loss_event_rate > self.loss_event_rate { RATE_KEPT } else { 1.0 };
            self.loss_event_rate = measured.loss_event_rate;
            // The least that a sender may begin with in slow start (Section 4.2), however little came.
            let initial = initial_window(self.largest) / rtt;
            self.rate = (rate.max(initial) * RATE_AHEAD).max(self.rate * kept);
            self.buffer.set_rate(self.rate);
        }
    }

    /// Sets an adaptive D_max to what late packets have needed lately.
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

    /// The number of `sequence` on the buffer's scale.
    pub(super) fn place(&self, sequence: SeqNo) -> u64 {
        sequence.unwrap_near(self.buffer.next_sequence())
    }

    /// Whether a packet with that number has its turn only after others.
    pub(super) fn holds(&self, sequence: SeqNo, not_missed: u64) -> bool {
        let place = self.place(sequence);
        let next = self.buffer.next_sequence();
        place >= next && (self.buffer.held() > 0 || place.saturating_sub(not_missed) > next)
    }

    /// What leaves next, if something does.
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
