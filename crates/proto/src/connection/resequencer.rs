//! Resequencing of received packets: in-order delivery, and loss detection in order.
//!
//! Two parts, each optional. [`Delivery`] is a reorder buffer in front of the application (`papers/reorder`, Section
//! II): datagrams wait at most D_max for those sent before them. Unless [`LossDetection`](crate::config::LossDetection)
//! says otherwise, loss detection follows the same buffer, as in the paper. [`DetectionQueue`] is loss detection after
//! RACK (RFC 8985): the decision on a missing packet is delayed, the following datagrams are not.
//!
//! Acknowledgement numbers, Elapsed Time, Ack Vectors, the receive rate, the round-trip time and other features'
//! options are processed on arrival; loss events, loss classification and datagrams in order.
//!
//! All packets are resequenced, including those without data: they have sequence numbers, and one that has arrived is
//! not missing. The NDP Count option accounts for some that have not. A Close or CloseReq that overtook data is
//! processed after them.

use whimbrel_control::reordering::{LatenessSummary, Output};
use whimbrel_units::{ByteCount, Duration, Instant};
use whimbrel_wire::{Packet, PacketType, SeqNo};

use super::options::{Findings, received_packet};
use super::{Connection, ReceiveMeta};
use crate::ccid::ReceivedPacket;
use crate::{Config, ReceiverSnapshot};

mod delivery;
mod detection_queue;
mod queued_packet;

use delivery::{Delivery, Waiting};
use detection_queue::DetectionQueue;
use queued_packet::QueuedPacket;

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
    /// Updates D_max with the receiver's measurements, taken with each feedback, and the connection's round-trip time.
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
}

impl Connection {
    /// Starts resequencing at the peer's first valid packet, a Request or a Response, with that number.
    pub(super) fn start_receiving(&mut self, isr: SeqNo) {
        self.sequence.start_receiving(isr);
        self.resequencer = Resequencer::new(&self.config, isr);
    }
    /// Lateness of the overtaken packets so far.
    pub fn lateness(&self) -> LatenessSummary {
        self.reception.lateness.summary()
    }
    /// Measures the lateness of a packet that has just arrived for the first time.
    pub(super) fn measure_lateness(&mut self, now: Instant, sequence: SeqNo) {
        let lateness = &mut self.reception.lateness;
        lateness.on_packet(now, sequence.unwrap_or_first(lateness.next_sequence()));
        if let Some(delivery) =
            self.resequencer.as_mut().and_then(|resequencer| resequencer.delivery.as_mut())
        {
            delivery.adapt(now, lateness);
        }
    }
    /// Step 16 with resequencing: queues the packet, or processes it at once if none is missing before it.
    pub(super) fn resequence(&mut self, now: Instant, meta: ReceiveMeta, packet: Packet, findings: Findings) {
        self.queue_for_detection(now, meta, &packet, findings);
        self.queue_for_delivery(now, meta, packet, findings);
        self.release(now);
    }
    /// Queues the packet for loss detection after RACK.
    fn queue_for_detection(&mut self, now: Instant, meta: ReceiveMeta, packet: &Packet, findings: Findings) {
        let Some(resequencer) = &mut self.resequencer else { return };
        let discarded = resequencer.discards(packet.sequence);
        let Some(detection) = &mut resequencer.detection else { return };
        let sequence = packet.sequence.unwrap_near(detection.buffer.next_sequence());
        let size = ByteCount::new(packet.payload.len() as u64);
        let not_missed = findings.ndp_count.unwrap_or(0);
        let shown = ReceivedPacket { discarded, ..received_packet(meta, packet, findings) };
        detection.watch(now, sequence);
        let is_late = sequence < detection.buffer.next_sequence();
        detection.late += u64::from(is_late && is_data(packet));
        if is_late || detection.buffer.pass(sequence, not_missed, size) {
            self.congestion.on_received_in_order(now, now, &shown);
            return;
        }
        let queued = QueuedPacket::new(&shown, packet.options.clone());
        detection.buffer.on_packet_behind(now, sequence, not_missed, size, queued);
    }
    /// Queues the packet's data for delivery in order.
    fn queue_for_delivery(
        &mut self,
        now: Instant,
        meta: ReceiveMeta,
        mut packet: Packet,
        findings: Findings,
    ) {
        let Some(delivery) = self.resequencer.as_mut().and_then(|resequencer| resequencer.delivery.as_mut())
        else {
            return self.process_data(meta, packet, findings.is_corrupt);
        };
        let sequence = delivery.place(packet.sequence);
        let size = ByteCount::new(packet.payload.len() as u64);
        let not_missed = findings.ndp_count.unwrap_or(0);
        delivery.on_size(size);
        let is_late = sequence < delivery.buffer.next_sequence();
        delivery.late += u64::from(is_late && is_data(&packet));
        if is_late || delivery.buffer.pass(sequence, not_missed, size) {
            // Data that arrive too late to be delivered stay lost (`papers/reorder`, Section II.B): otherwise the
            // sender would keep a rate of which the application receives nothing.
            let discarded = is_late && !delivery.delivers_late;
            if delivery.detects_losses {
                let shown = ReceivedPacket { discarded, ..received_packet(meta, &packet, findings) };
                self.congestion.on_received_in_order(now, now, &shown);
            }
            if !discarded {
                self.process_data(meta, packet, findings.is_corrupt);
            }
            return;
        }
        let options = core::mem::take(&mut packet.options);
        let queued = QueuedPacket::new(&received_packet(meta, &packet, findings), options);
        let event = self.take_event(meta, packet, findings.is_corrupt);
        if let Some(event) = &event {
            self.reception.on_queued(event);
        }
        let Some(delivery) = self.resequencer.as_mut().and_then(|resequencer| resequencer.delivery.as_mut())
        else {
            return;
        };
        let waiting = Waiting { packet: queued, event };
        delivery.buffer.on_packet_behind(now, sequence, not_missed, size, waiting);
    }
    /// Releases the packets that have waited long enough, or need not wait any longer.
    pub(super) fn release(&mut self, now: Instant) {
        if self.resequencer.is_none() {
            return;
        }
        while let Some(output) = self.next_judged(now) {
            // Loss detection finds missing packets from the next packet's number.
            if let Output::Packet { arrived, value, .. } = output {
                self.congestion.on_received_in_order(now, arrived, &value.packet());
            }
        }
        while let Some(output) = self.next_delivered(now) {
            if let Output::Packet { arrived, value, .. } = output {
                self.deliver_in_turn(now, arrived, value);
            }
        }
    }
    fn next_judged(&mut self, now: Instant) -> Option<Output<QueuedPacket>> {
        self.resequencer.as_mut()?.detection.as_mut()?.poll(now)
    }
    fn next_delivered(&mut self, now: Instant) -> Option<Output<Waiting>> {
        self.resequencer.as_mut()?.delivery.as_mut()?.poll(now)
    }
    fn deliver_in_turn(&mut self, now: Instant, arrived: Instant, waiting: Waiting) {
        let detects_losses = |resequencer: &Resequencer| {
            resequencer.delivery.as_ref().is_some_and(|delivery| delivery.detects_losses)
        };
        if self.resequencer.as_deref().is_some_and(detects_losses) {
            self.congestion.on_received_in_order(now, arrived, &waiting.packet.packet());
        }
        if let Some(event) = waiting.event {
            self.hand_over(event);
        }
        match waiting.packet.packet().packet_type {
            PacketType::Close if !self.closing.is_over() => self.confirm_close(),
            PacketType::CloseReq => self.process_close_request(now),
            _ => {}
        }
    }
    /// Delivers all queued data at once, as the connection is over.
    pub(super) fn end_waiting(&mut self) {
        while let Some(output) = self.next_delivered(Instant::FAR_FUTURE) {
            if let Output::Packet { value: Waiting { event: Some(event), .. }, .. } = output {
                self.hand_over(event);
            }
        }
    }
}

fn is_data(packet: &Packet) -> bool {
    matches!(packet.packet_type(), PacketType::Data | PacketType::DataAck)
}
