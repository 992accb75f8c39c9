//! The event queue: a 4-ary heap ordered by (time, insertion number).
//!
//! Events have *sources*, and a source has at most one event: a link the arrival of its first packet, an
//! agent its timer, the agenda its first command. So the heap is as small as the network, however many
//! packets are under way. A packet's insertion number is given when it enters a link's queue, not when
//! it becomes the link's first. An event that its source has replaced is not searched for: it is passed
//! over when its turn comes.

mod heap;

use whimbrel_units::Instant;

use heap::{Heap, Key, NEVER};

/// The event of a source.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    /// The first packet of this link reaches the link's end.
    Arrival(u32),
    /// The first packet delayed at this link's end goes on.
    Release(u32),
    /// The transmitter of this link is free for a packet that waits in its discipline.
    Service(u32),
    /// This medium has a timeout.
    Medium(u32),
    /// This controller has a timeout.
    Controller(u32),
    /// This process has a timeout.
    Process(u32),
    /// This agent wants to be woken.
    Timer(u32),
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

const SOURCE_BITS: u32 = 24;

/// The pending event of a source.
struct Pending {
    event: Event,
    /// Time and insertion number of the event that counts; [`NO_EVENT`] if there is none.
    at: u64,
    order: u64,
}

const NO_EVENT: u64 = u64::MAX;

pub(crate) struct EventQueue {
    sources: Vec<Pending>,
    /// (time, insertion number, source) in integers whose order is the order of events: 64 bits of
    /// nanoseconds, 40 of insertion number, 24 of source. Insertion numbers are unique, so the source
    /// takes no part in the order.
    heap: Heap,
    /// The top of the heap has been handed out. The next event replaces it, which costs one walk through
    /// the heap instead of two.
    hole: bool,
    insertions: u64,
}

impl EventQueue {
    pub(crate) fn new() -> Self {
        Self { sources: Vec::new(), heap: Heap::new(), hole: false, insertions: 0 }
    }

    /// Adds a source without an event.
    ///
    /// # Panics
    /// At 2^24 of them.
    pub(crate) fn add_source(&mut self, event: Event) -> EventSource {
        let index = self.sources.len();
        assert!(index < 1 << SOURCE_BITS, "there are more than 2^24 links and agents");
        self.sources.push(Pending { event, at: 0, order: NO_EVENT });
        EventSource(index as u32)
    }

    /// A fresh insertion number.
    pub(crate) fn insertion(&mut self) -> u64 {
        self.insertions += 1;
        self.insertions
    }

    /// Gives a source its event, in the place of the one it may have had.
    pub(crate) fn set(&mut self, source: EventSource, at: Instant, insertion: u64) {
        debug_assert!(insertion >> (64 - SOURCE_BITS) == 0, "insertion numbers are exhausted");
        let order = insertion << SOURCE_BITS | u64::from(source.0);
        let pending = &mut self.sources[source.0 as usize];
        (pending.at, pending.order) = (at.as_nanos(), order);
        let key = Key::from(at.as_nanos()) << 64 | Key::from(order);
        if self.hole {
            self.hole = false;
            self.heap.replace_first(key);
        } else {
            self.heap.push(key);
        }
    }

    /// Takes a source's event away.
    pub(crate) fn clear(&mut self, source: EventSource) {
        self.sources[source.0 as usize].order = NO_EVENT;
    }

    /// The time of the first event; `None` without one.
    pub(crate) fn next_at(&mut self) -> Option<Instant> {
        loop {
            if self.hole {
                self.hole = false;
                self.heap.remove_first();
            }
            let key = self.heap.first();
            if key == NEVER {
                return None;
            }
            let (at, order) = ((key >> 64) as u64, key as u64);
            let pending = &self.sources[order as usize & ((1 << SOURCE_BITS) - 1)];
            if (pending.at, pending.order) == (at, order) {
                return Some(Instant::from_nanos(at));
            }
            // The source has replaced this event.
            self.hole = true;
        }
    }

    /// Takes the first event, if it is due at or before `until`.
    #[inline]
    pub(crate) fn pop(&mut self, until: Instant) -> Option<Due> {
        loop {
            if self.hole {
                self.hole = false;
                self.heap.remove_first();
            }
            let key = self.heap.first();
            let (at, order) = ((key >> 64) as u64, key as u64);
            if at > until.as_nanos() || key == NEVER {
                return None;
            }
            self.hole = true;
            let pending = &mut self.sources[order as usize & ((1 << SOURCE_BITS) - 1)];
            if (pending.at, pending.order) == (at, order) {
                pending.order = NO_EVENT;
                return Some(Due { at: Instant::from_nanos(at), event: pending.event });
            }
        }
    }
}

#[cfg(test)]
mod tests;
