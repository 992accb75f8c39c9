//! Time and what is due: the clock, the event queue and the commands that are scheduled.

mod agenda;
mod queue;

use whimbrel_units::Instant;

pub(crate) use agenda::Agenda;
pub(crate) use queue::{Due, Event, EventQueue, EventSource};

/// The simulation's clock and the events ahead of it.
pub(crate) struct Timeline {
    /// The time up to which everything has happened.
    pub(crate) now: Instant,
    pub(crate) queue: EventQueue,
    /// Events handled so far.
    pub(crate) handled: u64,
}

impl Timeline {
    /// Time 0, without events.
    pub(crate) fn new() -> Self {
        Self { now: Instant::ZERO, queue: EventQueue::new(), handled: 0 }
    }

    /// Gives a source its next event, or takes its event away.
    #[inline]
    pub(crate) fn expect(&mut self, source: EventSource, next: Option<(Instant, u64)>) {
        match next {
            Some((at, insertion)) => self.queue.set(source, at, insertion),
            None => self.queue.clear(source),
        }
    }
}
