//! Packets that agents send to their own nodes.

use std::collections::VecDeque;

use whimbrel_units::Instant;

use crate::events::{Event, EventSource, Timeline};
use crate::packets::PacketSlot;

/// The way from a node to itself, which takes no time.
pub(crate) struct Loopback {
    /// Time and insertion number of the event, slot.
    packets: VecDeque<(Instant, u64, PacketSlot)>,
    source: EventSource,
}

impl Loopback {
    pub(crate) fn new(timeline: &mut Timeline) -> Self {
        Self { packets: VecDeque::new(), source: timeline.queue.add_source(Event::Local) }
    }

    pub(crate) fn push(&mut self, timeline: &mut Timeline, slot: PacketSlot) {
        let insertion = timeline.queue.insertion();
        self.packets.push_back((timeline.now, insertion, slot));
        if self.packets.len() == 1 {
            timeline.queue.set(self.source, timeline.now, insertion);
        }
    }

    /// Takes the first packet.
    pub(crate) fn take_first(&mut self, timeline: &mut Timeline) -> Option<PacketSlot> {
        let (_, _, slot) = self.packets.pop_front()?;
        timeline.expect(self.source, self.packets.front().map(|&(at, insertion, _)| (at, insertion)));
        Some(slot)
    }
}
