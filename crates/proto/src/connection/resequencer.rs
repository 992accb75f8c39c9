//! Resequencing of received packets: in-order delivery, and loss detection in order.
//!
//! Two parts, each optional. [`Delivery`] is a reorder buffer in front of the application (`papers/reorder`,
//! Section II): datagrams wait at most D_max for those sent before them. Unless
//! [`LossDetection`](crate::config::LossDetection) says otherwise, loss detection follows the same buffer, as
//! in the paper. [`DetectionQueue`] is loss detection after RACK (RFC 8985): the decision on a missing packet
//! is delayed, the following datagrams are not.
//!
//! Acknowledgement numbers, Elapsed Time, Ack Vectors, the receive rate, the round-trip time and other
//! features' options are processed on arrival; loss events, loss classification and datagrams in order.
//!
//! All packets are resequenced, including those without data: they have sequence numbers, and one that has
//! arrived is not missing. The NDP Count option accounts for some that have not. A Close or CloseReq that
//! overtook data is processed after them.

use whimbrel_control::reordering::{LatenessMeter, Output};
use whimbrel_units::{ByteCount, Duration, Instant};
use whimbrel_wire::{Packet, PacketType, SeqNo};

use crate::ccid::ReceivedPacket;
use crate::{Config, ReceiverSnapshot};

mod delivery;
mod detection_queue;
mod queued_packet;

use delivery::Delivery;
use detection_queue::DetectionQueue;

pub(super) use delivery::Waiting;
pub(super) use queued_packet::QueuedPacket;

/// Packets that wait for preceding ones.
#[derive(Debug)]
pub(super) struct Resequencer {
    delivery: Option<Delivery>,
    detection: Option<DetectionQueue>,
}

/// State of resequencing: of the reorder buffer if there is one, otherwise of the loss detection after RACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct ReorderSnapshot {
    /// Number of packets that wait.
    pub held: usize,
    /// The most packets held at the same time, including those being released.
    pub most_held: u64,
    /// Q: the capacity.
    pub capacity: usize,
    /// D_max, or the reordering window; `None` while losses are detected by three packets.
    pub delay: Option<Duration>,
    /// Number of packets that waited and were released in order.
    pub reordered: u64,
    /// Number of missing packets given up because one behind them had waited for D_max.
    pub expired: u64,
    /// Number of missing packets given up because the buffer was full.
    pub overflowed: u64,
    /// Number of datagrams that arrived after they had been given up.
    pub late: u64,
}

/// Treatment of a packet whose data is to be delivered in order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Placement {
    /// No packet is missing before it, or it is late: it is processed at once.
    Now {
        /// `true` if the data is too late to be delivered. It stays lost (`papers/reorder`, Section II.B):
        /// otherwise the sender would keep a rate of which the application receives nothing.
        discarded: bool,
        /// `true` if loss detection processes the packet now.
        is_shown: bool,
    },
    /// The packet waits at that place.
    Waits(u64),
}

impl Resequencer {
    /// Creates the parts that `config` enables, if any. The peer's first packet had the number `isr`.
    pub(super) fn new(config: &Config, isr: SeqNo) -> Option<Box<Self>> {
        // Leaves one cycle of sequence numbers below the first.
        let first = SeqNo::MODULUS + isr.value() + 1;
        let (delivery, detection) = (Delivery::new(config, first), DetectionQueue::new(config, first));
        (delivery.is_some() || detection.is_some()).then(|| Box::new(Self { delivery, detection }))
    }

    /// Time at which the next packet has waited long enough.
    pub(super) fn next_timer(&self) -> Instant {
        let delivery = self.delivery.as_ref().and_then(|delivery| delivery.buffer.poll_timeout());
        let detection = self.detection.as_ref().and_then(|detection| detection.buffer.poll_timeout());
        delivery.into_iter().chain(detection).min().unwrap_or(Instant::FAR_FUTURE)
    }

    /// `true` if losses are detected in order rather than on arrival.
    pub(super) fn detects_losses(&self) -> bool {
        self.detection.is_some() || self.delivery.as_ref().is_some_and(|delivery| delivery.detects_losses)
    }

    /// Updates D_max with the receiver's measurements, taken with each feedback, and the connection's
    /// round-trip time.
    pub(super) fn on_measured(&mut self, now: Instant, measured: &ReceiverSnapshot, rtt: Option<Duration>) {
        if let (Some(detection), Some(rtt)) = (&mut self.detection, measured.rtt) {
            detection.on_rtt(now, rtt);
        }
        if let Some(delivery) = &mut self.delivery {
            delivery.on_measured(measured, rtt);
        }
    }

    /// `true` if a packet must wait for data that it may have overtaken.
    pub(super) fn holds(&self, sequence: SeqNo, not_missed: u64) -> bool {
        self.delivery.as_ref().is_some_and(|delivery| delivery.holds(sequence, not_missed))
    }

    /// `true` if data with that number would now be discarded as late.
    pub(super) fn discards(&self, sequence: SeqNo) -> bool {
        self.delivery.as_ref().is_some_and(|delivery| {
            !delivery.delivers_late && delivery.place(sequence) < delivery.buffer.next_sequence()
        })
    }

    pub(super) fn snapshot(&self) -> ReorderSnapshot {
        match (&self.delivery, &self.detection) {
            (Some(delivery), _) => delivery.snapshot(),
            (None, Some(detection)) => detection.snapshot(),
            (None, None) => ReorderSnapshot::default(),
        }
    }

    /// Adapts D_max to the measured lateness, if configured.
    pub(super) fn adapt(&mut self, now: Instant, lateness: &mut LatenessMeter) {
        if let Some(delivery) = &mut self.delivery {
            delivery.adapt(now, lateness);
        }
    }

    /// Queues the packet for loss detection after RACK. Returns `true` if it is processed now instead.
    /// `shown`: the packet, in the form passed to a CCID.
    #[must_use]
    pub(super) fn queue_for_detection(
        &mut self,
        now: Instant,
        packet: &Packet,
        shown: &ReceivedPacket<'_>,
    ) -> bool {
        let Some(detection) = &mut self.detection else { return false };
        let sequence = packet.sequence.unwrap_near(detection.buffer.next_sequence());
        let (size, not_missed) = (size_of(packet), shown.ndp_count.unwrap_or(0));
        detection.watch(now, sequence);
        let is_late = sequence < detection.buffer.next_sequence();
        detection.late += u64::from(is_late && is_data(packet));
        if is_late || detection.buffer.pass(sequence, not_missed, size) {
            return true;
        }
        let queued = QueuedPacket::new(shown, packet.options.clone());
        detection.buffer.on_packet_behind(now, sequence, not_missed, size, queued);
        false
    }

    /// Determines whether the packet waits for preceding ones. `not_missed`: its NDP Count.
    pub(super) fn place(&mut self, packet: &Packet, not_missed: u64) -> Placement {
        let Some(delivery) = &mut self.delivery else {
            return Placement::Now { discarded: false, is_shown: false };
        };
        let sequence = delivery.place(packet.sequence);
        let size = size_of(packet);
        delivery.on_size(size);
        let is_late = sequence < delivery.buffer.next_sequence();
        delivery.late += u64::from(is_late && is_data(packet));
        if is_late || delivery.buffer.pass(sequence, not_missed, size) {
            let discarded = is_late && !delivery.delivers_late;
            return Placement::Now { discarded, is_shown: delivery.detects_losses };
        }
        Placement::Waits(sequence)
    }

    /// Queues a packet with `size` bytes of data at its place.
    pub(super) fn queue(&mut self, now: Instant, place: u64, not_missed: u64, size: usize, waiting: Waiting) {
        if let Some(delivery) = &mut self.delivery {
            let size = ByteCount::new(size as u64);
            delivery.buffer.on_packet_behind(now, place, not_missed, size, waiting);
        }
    }

    /// Returns the next packet to be processed by loss detection after RACK, if one is due, and its arrival
    /// time. Loss detection finds missing packets from the next packet's number.
    pub(super) fn next_detected(&mut self, now: Instant) -> Option<(Instant, QueuedPacket)> {
        let detection = self.detection.as_mut()?;
        loop {
            if let Output::Packet { arrived, value, .. } = detection.poll(now)? {
                return Some((arrived, value));
            }
        }
    }

    /// Returns the next packet to be delivered, if one is due, and its arrival time.
    pub(super) fn next_delivered(&mut self, now: Instant) -> Option<(Instant, Waiting)> {
        let delivery = self.delivery.as_mut()?;
        loop {
            if let Output::Packet { arrived, value, .. } = delivery.poll(now)? {
                return Some((arrived, value));
            }
        }
    }

    /// `true` if loss detection processes packets when they are delivered.
    pub(super) fn detects_by_delivery(&self) -> bool {
        self.delivery.as_ref().is_some_and(|delivery| delivery.detects_losses)
    }
}

fn size_of(packet: &Packet) -> ByteCount {
    ByteCount::new(packet.payload.len() as u64)
}

fn is_data(packet: &Packet) -> bool {
    matches!(packet.packet_type(), PacketType::Data | PacketType::DataAck)
}
