//! The receiving end of a flow that a model repairs: what it delivers, and when.

use std::collections::{BTreeMap, BTreeSet};

use whimbrel_units::Instant;

use super::Repair;
use crate::metrics::{FrameMeter, FramePart, FrameSummary, Meter};
use crate::repair_models::{Datagram, Message};
use crate::transport::FlowSetup;

/// Delivers datagrams at a constant latency, and watches the frames. A sending end has one to know which
/// frames count.
#[derive(Debug)]
pub(in crate::transport) struct Viewer {
    /// First copies that are not delivered.
    arrived: BTreeSet<u64>,
    /// Datagrams not yet due.
    waiting: BTreeMap<(Instant, u64), Datagram>,
    repaired: u64,
    frames: FrameMeter,
}

impl Viewer {
    pub(in crate::transport) fn new(flow: &FlowSetup<'_>, repair: &Repair) -> Self {
        let counted = flow.counted_frames();
        Self {
            arrived: BTreeSet::new(),
            waiting: BTreeMap::new(),
            repaired: 0,
            frames: FrameMeter::new(counted.start, counted.end, repair.latency.0),
        }
    }

    /// `true` if a frame of that time counts.
    pub(in crate::transport) fn counts(&self, captured: Instant) -> bool {
        self.frames.counts(captured)
    }

    /// A message arrived.
    pub(in crate::transport) fn on_arrival(&mut self, now: Instant, message: &Message) {
        if let Message::Data { datagram, is_repeat: false } = message {
            self.on_original(now, datagram.captured, datagram.number);
        }
    }

    /// The datagram of that number arrived for the first time.
    pub(in crate::transport) fn on_original(&mut self, now: Instant, captured: Instant, number: u64) {
        self.frames.on_arrival(now, captured);
        self.arrived.insert(number);
    }

    /// The model delivers a datagram.
    pub(in crate::transport) fn take(&mut self, now: Instant, datagram: Datagram, meter: &mut Meter) {
        self.count(now, datagram.number, datagram.size, meter);
        let due = self.frames.due(datagram.captured).max(now);
        self.waiting.insert((due, datagram.number), datagram);
    }

    /// Counts a datagram that is delivered, and that repair may have brought.
    pub(in crate::transport) fn count(&mut self, now: Instant, number: u64, size: u32, meter: &mut Meter) {
        if !self.arrived.remove(&number) {
            self.repaired += 1;
            meter.on_repaired(now, number, size);
        }
    }

    /// The application receives a datagram.
    pub(in crate::transport) fn show(&mut self, now: Instant, captured: Instant, part: FramePart) {
        self.frames.on_delivery(now, captured, part);
    }

    /// Delivers what is due.
    pub(in crate::transport) fn deliver(&mut self, now: Instant) {
        while let Some(entry) = self.waiting.first_entry().filter(|entry| entry.key().0 <= now) {
            let (due, datagram) = (entry.key().0, entry.remove());
            self.show(due, datagram.captured, datagram.part);
        }
    }

    /// The time of the next delivery.
    pub(in crate::transport) fn next(&self) -> Option<Instant> {
        self.waiting.keys().next().map(|(due, _)| *due)
    }

    pub(in crate::transport) fn summary(&self) -> FrameSummary {
        FrameSummary { repaired: self.repaired, ..self.frames.summary() }
    }
}
