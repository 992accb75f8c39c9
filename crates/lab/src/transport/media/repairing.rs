//! Repair of media: repeats and coded packets are RTP packets of the flow, which its law counts and its pacer
//! holds back.

use std::collections::VecDeque;

use whimbrel_units::{DataRate, Duration, Instant};

use super::encoder::Queued;
use crate::metrics::{FrameSummary, Meter};
use crate::repair_models::{Datagram, End, Message, Output};
use crate::transport::FlowSetup;
use crate::transport::repair::{Repair, RepairKind, Viewer};

/// Schemes for media: in RTP packets.
pub(super) const KINDS: [RepairKind; 5] =
    [RepairKind::None, RepairKind::Nack, RepairKind::NackFec, RepairKind::Tambur, RepairKind::Hairpin];
/// The encoder's rate is cut by the share of repair, at most by this.
const MOST_SHARE: f64 = 0.5;
/// The time over which the share is measured.
const SHARE: Duration = Duration::from_secs(1);

/// The model of an end, and what it has to send.
#[derive(Debug)]
pub(super) struct Repairing {
    model: Box<dyn End>,
    output: Output,
    ready: VecDeque<Message>,
    viewer: Viewer,
    number: u64,
    repair_bytes: u64,
    source_bytes: u64,
    /// The share of repair, and when and at which bytes it was measured.
    share: f64,
    measured: (Instant, u64, u64),
}

impl Repairing {
    /// The models of the sending and of the receiving end.
    pub(super) fn pair(flow: &FlowSetup<'_>, repair: &Repair) -> [Self; 2] {
        repair.ends().map(|model| Self {
            model,
            output: Output::default(),
            ready: VecDeque::new(),
            viewer: Viewer::new(flow, repair),
            number: 0,
            repair_bytes: 0,
            source_bytes: 0,
            share: 0.0,
            measured: (Instant::ZERO, 0, 0),
        })
    }

    /// Rate left to the encoder by repair.
    pub(super) fn target(&self, allowed: DataRate) -> DataRate {
        DataRate::from_bits_per_second(allowed.as_bits_per_second() * (1.0 - self.share))
    }

    /// The message for a datagram that leaves now.
    pub(super) fn send(&mut self, now: Instant, queued: &Queued) -> Option<Message> {
        let size = queued.emission.size;
        let datagram = Datagram { number: self.number, part: queued.part, size, captured: queued.captured };
        self.number += 1;
        self.source_bytes += u64::from(size);
        self.model.send(now, datagram, &mut self.output);
        let mut messages = self.output.messages.drain(..);
        let first = messages.next();
        self.ready.extend(messages);
        self.measure(now);
        first
    }

    fn measure(&mut self, now: Instant) {
        let (since, repair, source) = self.measured;
        if now >= since + SHARE {
            let (repair, source) = (self.repair_bytes - repair, self.source_bytes - source);
            self.share = (repair as f64 / (repair + source).max(1) as f64).min(MOST_SHARE);
            self.measured = (now, self.repair_bytes, self.source_bytes);
        }
    }

    /// Bytes of the next message above the headers of RTP.
    pub(super) fn front(&self) -> Option<u32> {
        self.ready.front().map(Message::length)
    }

    /// The next message.
    pub(super) fn pop(&mut self) -> Option<Message> {
        let message = self.ready.pop_front()?;
        self.repair_bytes += u64::from(message.length());
        Some(message)
    }

    /// A message of the other end arrived.
    pub(super) fn handle(&mut self, now: Instant, message: Message, meter: &mut Meter) {
        self.viewer.deliver(now);
        self.viewer.on_arrival(now, &message);
        self.model.handle(now, message, &mut self.output);
        self.collect(now, meter);
    }

    pub(super) fn handle_timeout(&mut self, now: Instant, meter: &mut Meter) {
        if self.model.next().is_some_and(|next| next <= now) {
            self.model.handle_timeout(now, &mut self.output);
            self.collect(now, meter);
        }
        self.viewer.deliver(now);
    }

    fn collect(&mut self, now: Instant, meter: &mut Meter) {
        self.ready.extend(self.output.messages.drain(..));
        for datagram in self.output.delivered.drain(..) {
            self.viewer.take(now, datagram, meter);
        }
    }

    pub(super) fn next(&self) -> Option<Instant> {
        [self.model.next(), self.viewer.next()].into_iter().flatten().min()
    }

    /// The frames of this end, of which the encoder made so many.
    pub(super) fn summary(&self, sent: u64) -> FrameSummary {
        let (repair_bytes, source_bytes) = (self.repair_bytes, self.source_bytes);
        FrameSummary { sent, repair_bytes, source_bytes, ..self.viewer.summary() }
    }
}
