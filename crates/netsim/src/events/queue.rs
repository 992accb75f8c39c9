//! The event queue, ordered by (time, insertion number).
//!
//! Events have *sources*, and a source has at most one event: a link the arrival of its first packet, an
//! agent its timer, the agenda its first command. So the queue is as small as the network, however many
//! packets are under way. A packet's insertion number is given when it enters a link's queue, not when
//! it becomes the link's first.

mod calendar;

use whimbrel_units::Instant;

use crate::packets::{ControllerId, HostId};
use crate::{AgentId, LinkId, MediumId};
use calendar::{Calendar, NO_EVENT};

/// The event of a source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    /// The first packet of this link reaches the link's end.
    Arrival(LinkId),
    /// The first packet delayed at this link's end goes on.
    Release(LinkId),
    /// The transmitter of this link is free for a packet that waits in its discipline.
    Service(LinkId),
    /// This medium has a timeout.
    Medium(MediumId),
    /// This controller has a timeout.
    Controller(ControllerId),
    /// This host has processed the first packet of its send queue.
    Host(HostId),
    /// This agent wants to be woken.
    Timer(AgentId),
    /// The first packet that an agent sent to its own node is there.
    Local,
    /// The first scheduled command is due.
    Command,
}

/// Something that has at most one event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct EventSource(u32);

/// An event that has come due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Due {
    pub(crate) at: Instant,
    pub(crate) event: Event,
}

pub(crate) struct EventQueue {
    /// The event of each source.
    events: Vec<Event>,
    calendar: Calendar,
    insertions: u64,
}

impl EventQueue {
    pub(crate) fn new() -> Self {
        Self { events: Vec::new(), calendar: Calendar::new(), insertions: 0 }
    }

    /// Adds a source without an event.
    ///
    /// # Panics
    /// At 2^24 of them.
    pub(crate) fn add_source(&mut self, event: Event) -> EventSource {
        let index = self.calendar.len();
        assert!(index < 1 << 24, "there are more than 2^24 links and agents");
        self.events.push(event);
        self.calendar.add();
        EventSource(index as u32)
    }

    /// A fresh insertion number.
    pub(crate) fn insertion(&mut self) -> u64 {
        self.insertions += 1;
        self.insertions
    }

    /// Gives a source its event, in the place of the one it may have had.
    #[inline]
    pub(crate) fn set(&mut self, source: EventSource, at: Instant, insertion: u64) {
        debug_assert!(insertion != NO_EVENT, "insertion numbers are exhausted");
        self.calendar.set(source.0, at.as_nanos(), insertion);
    }

    /// Takes a source's event away.
    #[inline]
    pub(crate) fn clear(&mut self, source: EventSource) {
        self.calendar.clear(source.0);
    }

    /// The time of the first event; `None` without one.
    pub(crate) fn next_at(&mut self) -> Option<Instant> {
        self.calendar.first().map(|(_, at)| Instant::from_nanos(at))
    }

    /// Takes the first event, if it is due at or before `until`.
    #[inline]
    pub(crate) fn pop(&mut self, until: Instant) -> Option<Due> {
        let (source, at) = self.calendar.first()?;
        if at > until.as_nanos() {
            return None;
        }
        self.calendar.take(source, at);
        Some(Due { at: Instant::from_nanos(at), event: self.events[source as usize] })
    }
}

#[cfg(test)]
mod tests;
