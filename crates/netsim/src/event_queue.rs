//! What happens next: a 4-ary heap ordered by (time, insertion number).
//!
//! A link keeps one entry here, for the packet that arrives next, and an agent one, for its timer;
//! so the heap stays as small as the network. An entry whose cause has meanwhile moved is not
//! searched for and removed: whoever handles it compares its insertion number and lets it pass.

use core::cmp::Reverse;

use dary_heap::QuaternaryHeap;
use whimbrel_units::Instant;

/// The source of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    /// The first packet of this link reaches the link's end.
    Arrival(u32),
    /// This agent wants to be woken.
    Timer(u32),
    /// The first packet that an agent sent to its own node is there.
    Local,
    /// A scheduled command.
    Command(u32),
}

/// How many links, agents or pending commands an event can name.
pub(crate) const EVENT_INDICES: u32 = 1 << INDEX_BITS;

const KIND_BITS: u32 = 2;
const INDEX_BITS: u32 = 22;
const EVENT_BITS: u32 = KIND_BITS + INDEX_BITS;

/// (time, insertion number, event) in one integer whose order is the order of events: 64 bits of
/// nanoseconds, 40 of insertion number, 24 of event. Insertion numbers are unique, so the event takes
/// no part in the order.
type Key = Reverse<u128>;

/// An entry that has come due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Due {
    pub(crate) at: Instant,
    pub(crate) insertion: u64,
    pub(crate) event: Event,
}

pub(crate) struct EventQueue {
    heap: QuaternaryHeap<Key>,
    /// The top of the heap has been handed out. The next push replaces it, which costs one walk
    /// through the heap instead of two.
    hole: bool,
    insertions: u64,
}

impl EventQueue {
    pub(crate) fn new() -> Self {
        Self { heap: QuaternaryHeap::new(), hole: false, insertions: 0 }
    }

    /// A fresh insertion number.
    pub(crate) fn insertion(&mut self) -> u64 {
        self.insertions += 1;
        self.insertions
    }

    /// Insertion numbers are handed out by [`EventQueue::insertion`] because a packet's is older than
    /// its entry here.
    pub(crate) fn push(&mut self, at: Instant, insertion: u64, event: Event) {
        let key = encode(at, insertion, event);
        if self.hole {
            self.hole = false;
            if let Some(mut top) = self.heap.peek_mut() {
                *top = key;
            }
        } else {
            self.heap.push(key);
        }
    }

    /// Takes the first entry if it is due at or before `until`.
    pub(crate) fn pop(&mut self, until: Instant) -> Option<Due> {
        if self.hole {
            self.hole = false;
            self.heap.pop();
        }
        let due = decode(*self.heap.peek()?);
        if due.at > until {
            return None;
        }
        self.hole = true;
        Some(due)
    }
}

fn encode(at: Instant, insertion: u64, event: Event) -> Key {
    debug_assert!(insertion < 1 << (64 - EVENT_BITS));
    let (kind, index) = match event {
        Event::Arrival(index) => (0, index),
        Event::Timer(index) => (1, index),
        Event::Local => (2, 0),
        Event::Command(index) => (3, index),
    };
    debug_assert!(index < EVENT_INDICES);
    let order = insertion << EVENT_BITS | u64::from(index) << KIND_BITS | kind;
    Reverse(u128::from(at.as_nanos()) << 64 | u128::from(order))
}

fn decode(Reverse(key): Key) -> Due {
    let order = key as u64;
    let index = (order >> KIND_BITS) as u32 & (EVENT_INDICES - 1);
    let event = match order & 3 {
        0 => Event::Arrival(index),
        1 => Event::Timer(index),
        2 => Event::Local,
        _ => Event::Command(index),
    };
    Due { at: Instant::from_nanos((key >> 64) as u64), insertion: order >> EVENT_BITS, event }
}

#[cfg(test)]
mod tests;
