//! Packets that arrive wait for those before them, as long as the application bears it.
//!
//! A [`ReorderBuffer`] stands between the network on one side, and loss detection and application on the other (`papers/reorder`,
//! Section II). What goes by arrival does not wait: acknowledgement numbers, Elapsed Time, Ack Vectors, the receive rate, the
//! round-trip time, other features' options. What goes by order does: loss events, their differentiation, and datagrams.
//!
//! With loss detection after RACK (RFC 8985) it is the judgement alone that waits: datagrams reach the application as they come.
//!
//! All packets take part, also those without data: they have sequence numbers, too, and one that is there is not waited
//! for. The NDP Count option says of some that are not.

use whimbrel_control::reordering::{BufferSize, Output, ReorderBuffer, ReorderConfig, ReorderWindow};
use whimbrel_control::tfrc::loss_detection::NDUPACK;
use whimbrel_control::tfrc::send_rate::initial_window;
use whimbrel_units::{ByteCount, DataRate, Duration, Instant};
use whimbrel_wire::{DccpOption, Options, Packet, PacketType, SeqNo};

use super::options::{Findings, received_packet};
use super::{Connection, ReceiveMeta};
use crate::ccid::ReceivedPacket;
use crate::{Config, Event, ReceiverSnapshot};

/// Three packets after a missing one declare it lost (RFC 5348, Section 5.1): while two wait, it is not.
const BY_PACKETS: BufferSize = BufferSize::Fixed(NDUPACK as u32 - 1);
/// The rate that may come is twice what came (RFC 5348, Section 4.3).
const RATE_AHEAD: f64 = 2.0;
/// The data of a packet that fills a frame of Ethernet.
const ETHERNET: ByteCount = ByteCount::new(1460);
/// What is kept of a rate that no longer comes when p rises. Else all of it is: a sender that has little to send keeps its right to
/// more, and loses half of it with a loss event (RFC 5348, Section 4.3, Maximize X_recv_set).
const RATE_KEPT: f64 = 0.5;

/// The packets that wait.
#[derive(Debug)]
pub(super) struct Ordering {
    buffer: ReorderBuffer<Waiting>,
    /// How long the judgement waits, where data do not.
    window: Option<ReorderWindow>,
    /// X, as far as a receiver knows it: what a dynamic size goes by.
    rate: DataRate,
    /// p, as it was measured last.
    loss_event_rate: Option<f64>,
    /// The largest data that came in one packet, or may well come.
    largest: ByteCount,
    /// Datagrams that came too late.
    late: u64,
}

/// A packet that waits for its turn.
#[derive(Debug)]
struct Waiting {
    /// What the congestion control is shown, but for the options.
    packet: ReceivedPacket<'static>,
    options: Options,
    /// What the application is to be told.
    event: Option<Event>,
}

impl Waiting {
    fn shown(&self) -> ReceivedPacket<'_> {
        ReceivedPacket { options: &self.options, ..self.packet }
    }
}

/// What can be seen of the packets that wait for others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct ReorderSnapshot {
    /// Packets that wait.
    pub held: usize,
    /// The most that were there at the same time, those included whose turn had come.
    pub most_held: u64,
    /// Q: how many may.
    pub capacity: usize,
    /// Packets that waited and got their turn.
    pub reordered: u64,
    /// Packets given up because one behind them had waited for D_max.
    pub expired: u64,
    /// Packets given up because there was no room for more to wait.
    pub overflowed: u64,
    /// Datagrams that came after they had been given up, and were discarded.
    pub late: u64,
}

impl Ordering {
    /// What `config` asks for, if it does. The other end's first packet had the number `isr`.
    pub(super) fn new(config: &Config, isr: SeqNo) -> Option<Box<Self>> {
        if !config.orders_arrivals() {
            return None;
        }
        let receive = &config.receive;
        let window = if receive.reorder_delay.is_none() { Some(ReorderWindow::new()) } else { None };
        let buffer_config = ReorderConfig {
            delay: receive.reorder_delay.unwrap_or(Duration::MAX),
            size: if window.is_some() { BY_PACKETS } else { receive.reorder_size },
            max_packets: receive.max_datagrams,
            max_bytes: ByteCount::new(receive.max_bytes as u64),
        };
        // One turn of the circle is left below it.
        let buffer = ReorderBuffer::new(buffer_config, SeqNo::MODULUS + isr.value() + 1);
        let (rate, loss_event_rate) = (DataRate::ZERO, None);
        Some(Box::new(Self { buffer, window, rate, loss_event_rate, largest: ETHERNET, late: 0 }))
    }
    /// When somebody has waited long enough.
    pub(super) fn next_timer(&self) -> Instant {
        self.buffer.poll_timeout().unwrap_or(Instant::FAR_FUTURE)
    }
    /// What the receiver has measured lately: at what rate data come, and the round-trip time.
    pub(super) fn on_measured(&mut self, now: Instant, measured: &ReceiverSnapshot) {
        if let (Some(window), Some(rtt)) = (&mut self.window, measured.rtt) {
            window.on_rtt(now, rtt);
            return self.adapt();
        }
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
    /// A packet with that number is about to take its place: whether it comes out of order, or too late.
    fn watch(&mut self, now: Instant, sequence: u64) {
        let Some(window) = &mut self.window else { return };
        if sequence < self.buffer.next_sequence() {
            window.on_late(now);
        } else if sequence < self.buffer.greatest_sequence() {
            window.on_reordered(now);
        } else {
            return;
        }
        self.adapt();
    }
    /// The judgement waits as long as the window says, or for three packets.
    fn adapt(&mut self) {
        let (delay, size) = match self.window.and_then(|window| window.window()) {
            Some(delay) => (delay, BufferSize::Dynamic),
            None => (Duration::MAX, BY_PACKETS),
        };
        self.buffer.set_delay(delay);
        self.buffer.set_size(size);
    }
    /// What leaves next, if something does.
    fn poll(&mut self, now: Instant) -> Option<Output<Waiting>> {
        let output = self.buffer.poll(now)?;
        if let (Some(window), Output::Lost { .. }) = (&mut self.window, &output) {
            window.on_lost(now);
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
            reordered: counts.reordered,
            expired: counts.expired,
            overflowed: counts.overflowed,
            late: self.late,
        }
    }
}

impl Connection {
    /// The other end's first packet that counts, a Request or a Response, has that number.
    pub(super) fn start_receiving(&mut self, isr: SeqNo) {
        self.sequence.start_receiving(isr);
        self.ordering = Ordering::new(&self.config, isr);
    }
    /// Step 16 where packets wait for those before them: this one does, or has its turn at once.
    pub(super) fn await_turn(
        &mut self,
        now: Instant,
        meta: ReceiveMeta,
        mut packet: Packet,
        findings: Findings,
    ) {
        let Some(ordering) = &mut self.ordering else { return };
        let sequence = packet.sequence.unwrap_near(ordering.buffer.next_sequence());
        let size = ByteCount::new(packet.payload.len() as u64);
        let not_missed = findings.ndp_count.unwrap_or(0);
        ordering.largest = ordering.largest.max(size);
        ordering.watch(now, sequence);
        let data_wait = ordering.window.is_none();
        let is_late = sequence < ordering.buffer.next_sequence();
        if is_late {
            ordering.late +=
                u64::from(matches!(packet.packet_type(), PacketType::Data | PacketType::DataAck));
        }
        if is_late || ordering.buffer.pass(sequence, not_missed, size) {
            self.congestion.on_turn(now, now, &received_packet(meta, &packet, findings));
            if !is_late || !data_wait {
                self.process_data(meta, packet, findings.is_corrupt);
            }
            return;
        }
        let mut options = core::mem::take(&mut packet.options);
        // Everything else has been read, and may be long.
        options.retain(|option| matches!(option, DccpOption::Timestamp(_) | DccpOption::CcidSpecific { .. }));
        options.shrink_to_fit();
        let shown = ReceivedPacket { options: &[], ..received_packet(meta, &packet, findings) };
        let event = self.take_event(meta, packet, findings.is_corrupt);
        let event = event.and_then(|event| {
            if data_wait {
                self.reception.on_queued(&event);
                return Some(event);
            }
            self.deliver(event);
            None
        });
        let Some(ordering) = &mut self.ordering else { return };
        ordering.buffer.on_packet_behind(
            now,
            sequence,
            not_missed,
            size,
            Waiting { packet: shown, options, event },
        );
        self.release(now);
    }
    /// Whoever has waited for those before them long enough, or no longer need to, have their turn.
    pub(super) fn release(&mut self, now: Instant) {
        while let Some(output) = self.ordering.as_mut().and_then(|ordering| ordering.poll(now)) {
            // What is lost the loss detection sees by the next packet's number.
            if let Output::Packet { arrived, value, .. } = output {
                self.congestion.on_turn(now, arrived, &value.shown());
                if let Some(event) = value.event {
                    self.hand_over(event);
                }
            }
        }
    }
    /// The connection is over: nobody is waited for any more.
    pub(super) fn end_waiting(&mut self) {
        while let Some(ordering) = &mut self.ordering
            && let Some(output) = ordering.buffer.poll(Instant::FAR_FUTURE)
        {
            if let Output::Packet { value: Waiting { event: Some(event), .. }, .. } = output {
                self.hand_over(event);
            }
        }
    }
}
