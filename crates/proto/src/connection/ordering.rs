//! Order among packets that arrive: delivery in order, and judgement of losses in order.
//!
//! Two parts, each optional. [`Delivery`] is a reorder buffer in front of the application (`papers/reorder`, Section II): datagrams wait
//! for those sent before them, D_max at most. Unless [`LossDetection`](crate::config::LossDetection) says otherwise, loss
//! detection stands behind the same buffer, as the paper has it. [`Judgement`] is loss detection after RACK (RFC 8985): the judgement on
//! a missing packet waits, the datagrams behind it do not.
//!
//! Acknowledgement numbers, Elapsed Time, Ack Vectors, the receive rate, the round-trip time and other features' options go by
//! arrival. Loss events, their differentiation, and the datagrams go by order.
//!
//! All packets take part, also those without data: they have sequence numbers, too, and one that has arrived is not missing. The
//! NDP Count option accounts for some that have not. A Close or CloseReq that overtook data has its turn after these.

use whimbrel_control::reordering::{LatenessSummary, Output};
use whimbrel_units::{ByteCount, Duration, Instant};
use whimbrel_wire::{Packet, PacketType, SeqNo};

use super::options::{Findings, received_packet};
use super::{Connection, ReceiveMeta};
use crate::ccid::ReceivedPacket;
use crate::{Config, ReceiverSnapshot};

mod delivery;
mod judgement;
mod turn;

use delivery::{Delivery, Waiting};
use judgement::Judgement;
use turn::InTurn;

/// What waits for packets before it.
#[derive(Debug)]
pub(super) struct Ordering {
    delivery: Option<Delivery>,
    judgement: Option<Judgement>,
}

/// Reordering as a connection handles it: of the reorder buffer where there is one, else of the loss detection after RACK.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct ReorderSnapshot {
    /// Packets that wait.
    pub held: usize,
    /// The most that were there at the same time, those included whose turn had come.
    pub most_held: u64,
    /// Q: how many may.
    pub capacity: usize,
    /// D_max, or the reordering window; `None` while three packets decide.
    pub delay: Option<Duration>,
    /// Packets that waited and got their turn.
    pub reordered: u64,
    /// Packets given up because one behind them had waited for D_max.
    pub expired: u64,
    /// Packets given up because there was no room for more to wait.
    pub overflowed: u64,
    /// Datagrams that came after they had been given up.
    pub late: u64,
}

impl Ordering {
    /// What `config` asks for, if it does. The other end's first packet had the number `isr`.
    pub(super) fn new(config: &Config, isr: SeqNo) -> Option<Box<Self>> {
        // One turn of the circle is left below it.
        let first = SeqNo::MODULUS + isr.value() + 1;
        let (delivery, judgement) = (Delivery::new(config, first), Judgement::new(config, first));
        (delivery.is_some() || judgement.is_some()).then(|| Box::new(Self { delivery, judgement }))
    }
    /// When a packet has waited long enough.
    pub(super) fn next_timer(&self) -> Instant {
        let delivery = self.delivery.as_ref().and_then(|delivery| delivery.buffer.poll_timeout());
        let judgement = self.judgement.as_ref().and_then(|judgement| judgement.buffer.poll_timeout());
        delivery.into_iter().chain(judgement).min().unwrap_or(Instant::FAR_FUTURE)
    }
    /// Whether losses are judged in order, not on arrival.
    pub(super) fn judges(&self) -> bool {
        self.judgement.is_some() || self.delivery.as_ref().is_some_and(|delivery| delivery.judges)
    }
    /// The receiver's measurements, taken with each feedback, and the connection's round-trip time.
    pub(super) fn on_measured(&mut self, now: Instant, measured: &ReceiverSnapshot, rtt: Option<Duration>) {
        if let (Some(judgement), Some(rtt)) = (&mut self.judgement, measured.rtt) {
            judgement.on_rtt(now, rtt);
        }
        if let Some(delivery) = &mut self.delivery {
            delivery.on_measured(measured, rtt);
        }
    }
    /// Whether a packet must wait for data that it may have overtaken.
    pub(super) fn holds(&self, sequence: SeqNo, not_missed: u64) -> bool {
        self.delivery.as_ref().is_some_and(|delivery| delivery.holds(sequence, not_missed))
    }
    /// Whether data that arrive under that number now are discarded as late.
    pub(super) fn discards(&self, sequence: SeqNo) -> bool {
        self.delivery.as_ref().is_some_and(|delivery| {
            !delivery.delivers_late && delivery.place(sequence) < delivery.buffer.next_sequence()
        })
    }
    pub(super) fn snapshot(&self) -> ReorderSnapshot {
        match (&self.delivery, &self.judgement) {
            (Some(delivery), _) => delivery.snapshot(),
            (None, Some(judgement)) => judgement.snapshot(),
            (None, None) => ReorderSnapshot::default(),
        }
    }
}

impl Connection {
    /// The other end's first packet that counts, a Request or a Response, has that number.
    pub(super) fn start_receiving(&mut self, isr: SeqNo) {
        self.sequence.start_receiving(isr);
        self.ordering = Ordering::new(&self.config, isr);
    }
    /// How late packets came so far that had been overtaken.
    pub fn lateness(&self) -> LatenessSummary {
        self.reception.lateness.summary()
    }
    /// Measures the late time of a packet that has just arrived for the first time.
    pub(super) fn measure_lateness(&mut self, now: Instant, sequence: SeqNo) {
        let lateness = &mut self.reception.lateness;
        lateness.on_packet(now, sequence.unwrap_or_first(lateness.next_sequence()));
        if let Some(delivery) = self.ordering.as_mut().and_then(|ordering| ordering.delivery.as_mut()) {
            delivery.adapt(now, lateness);
        }
    }
    /// Step 16 where packets wait for those before them: this one does, or has its turn at once.
    pub(super) fn await_turn(&mut self, now: Instant, meta: ReceiveMeta, packet: Packet, findings: Findings) {
        self.await_judgement(now, meta, &packet, findings);
        self.await_delivery(now, meta, packet, findings);
        self.release(now);
    }
    /// Loss detection after RACK sees the packet in its turn.
    fn await_judgement(&mut self, now: Instant, meta: ReceiveMeta, packet: &Packet, findings: Findings) {
        let Some(ordering) = &mut self.ordering else { return };
        let discarded = ordering.discards(packet.sequence);
        let Some(judgement) = &mut ordering.judgement else { return };
        let sequence = packet.sequence.unwrap_near(judgement.buffer.next_sequence());
        let size = ByteCount::new(packet.payload.len() as u64);
        let not_missed = findings.ndp_count.unwrap_or(0);
        let shown = ReceivedPacket { discarded, ..received_packet(meta, packet, findings) };
        judgement.watch(now, sequence);
        let is_late = sequence < judgement.buffer.next_sequence();
        judgement.late += u64::from(is_late && is_data(packet));
        if is_late || judgement.buffer.pass(sequence, not_missed, size) {
            self.congestion.on_turn(now, now, &shown);
            return;
        }
        let in_turn = InTurn::new(&shown, packet.options.clone());
        judgement.buffer.on_packet_behind(now, sequence, not_missed, size, in_turn);
    }
    /// The application gets the packet's data in its turn.
    fn await_delivery(&mut self, now: Instant, meta: ReceiveMeta, mut packet: Packet, findings: Findings) {
        let Some(delivery) = self.ordering.as_mut().and_then(|ordering| ordering.delivery.as_mut()) else {
            return self.process_data(meta, packet, findings.is_corrupt);
        };
        let sequence = delivery.place(packet.sequence);
        let size = ByteCount::new(packet.payload.len() as u64);
        let not_missed = findings.ndp_count.unwrap_or(0);
        delivery.on_size(size);
        let is_late = sequence < delivery.buffer.next_sequence();
        delivery.late += u64::from(is_late && is_data(&packet));
        if is_late || delivery.buffer.pass(sequence, not_missed, size) {
            // Data that come too late to be delivered stay lost (`papers/reorder`, Section II.B): else the sender would believe in
            // a rate of which the application gets nothing.
            let discarded = is_late && !delivery.delivers_late;
            if delivery.judges {
                let shown = ReceivedPacket { discarded, ..received_packet(meta, &packet, findings) };
                self.congestion.on_turn(now, now, &shown);
            }
            if !discarded {
                self.process_data(meta, packet, findings.is_corrupt);
            }
            return;
        }
        let options = core::mem::take(&mut packet.options);
        let in_turn = InTurn::new(&received_packet(meta, &packet, findings), options);
        let event = self.take_event(meta, packet, findings.is_corrupt);
        if let Some(event) = &event {
            self.reception.on_queued(event);
        }
        let Some(delivery) = self.ordering.as_mut().and_then(|ordering| ordering.delivery.as_mut()) else {
            return;
        };
        let waiting = Waiting { packet: in_turn, event };
        delivery.buffer.on_packet_behind(now, sequence, not_missed, size, waiting);
    }
    /// Packets that have waited long enough, or need not wait any longer, have their turn.
    pub(super) fn release(&mut self, now: Instant) {
        if self.ordering.is_none() {
            return;
        }
        while let Some(output) = self.next_judged(now) {
            // What is lost the loss detection sees by the next packet's number.
            if let Output::Packet { arrived, value, .. } = output {
                self.congestion.on_turn(now, arrived, &value.shown());
            }
        }
        while let Some(output) = self.next_delivered(now) {
            if let Output::Packet { arrived, value, .. } = output {
                self.deliver_in_turn(now, arrived, value);
            }
        }
    }
    fn next_judged(&mut self, now: Instant) -> Option<Output<InTurn>> {
        self.ordering.as_mut()?.judgement.as_mut()?.poll(now)
    }
    fn next_delivered(&mut self, now: Instant) -> Option<Output<Waiting>> {
        self.ordering.as_mut()?.delivery.as_mut()?.poll(now)
    }
    fn deliver_in_turn(&mut self, now: Instant, arrived: Instant, waiting: Waiting) {
        let judges = |ordering: &Ordering| ordering.delivery.as_ref().is_some_and(|delivery| delivery.judges);
        if self.ordering.as_deref().is_some_and(judges) {
            self.congestion.on_turn(now, arrived, &waiting.packet.shown());
        }
        if let Some(event) = waiting.event {
            self.hand_over(event);
        }
        match waiting.packet.shown().packet_type {
            PacketType::Close if !self.closing.is_over() => self.confirm_close(),
            PacketType::CloseReq => self.process_close_request(now),
            _ => {}
        }
    }
    /// The connection is over: what waits is delivered at once.
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
