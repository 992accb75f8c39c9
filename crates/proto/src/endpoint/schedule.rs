//! Which connection wants attention, now or later.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use whimbrel_units::Instant;

/// Outdated deadlines that are not worth looking for.
const OUTDATED_AT_LEAST: usize = 64;

/// When one connection wants attention.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScheduledWake {
    /// The earliest instant for which it stands in the heap.
    scheduled: Instant,
    /// It stands in the list of those that may have something to send.
    ready: bool,
    /// It stands in the list of those that may have something to tell.
    has_events: bool,
}

impl ScheduledWake {
    pub(super) const NEW: Self = Self { scheduled: Instant::FAR_FUTURE, ready: false, has_events: false };
}

/// The connections that want attention.
///
/// A deadline that moves to later stays in the heap where it was: when it comes, the connection is
/// asked again. So a connection whose timers move with every packet costs no heap operation per packet.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    deadlines: BinaryHeap<Reverse<(Instant, usize)>>,
    ready: VecDeque<usize>,
    /// How often the first of them was asked in a row.
    asked: u32,
    has_events: VecDeque<usize>,
}

impl Schedule {
    /// The connection may have something to send and to tell.
    pub(super) fn wake(&mut self, index: usize, wake: &mut ScheduledWake) {
        if !wake.ready {
            wake.ready = true;
            self.ready.push_back(index);
        }
        self.wake_for_events(index, wake);
    }
    /// The connection may have something to tell.
    pub(super) fn wake_for_events(&mut self, index: usize, wake: &mut ScheduledWake) {
        if !wake.has_events {
            wake.has_events = true;
            self.has_events.push_back(index);
        }
    }
    /// The connection wants attention at `deadline`.
    pub(super) fn set(&mut self, index: usize, wake: &mut ScheduledWake, deadline: Instant) {
        if deadline < wake.scheduled {
            wake.scheduled = deadline;
            self.deadlines.push(Reverse((deadline, index)));
        }
    }
    /// When the next deadline comes.
    pub(super) fn next(&self) -> Option<Instant> {
        self.deadlines.peek().map(|Reverse((deadline, _))| *deadline)
    }
    /// How many deadlines it keeps, outdated ones included.
    pub(super) fn deadlines(&self) -> usize {
        self.deadlines.len()
    }
    /// Forgets the deadlines that are not current, once most of them are such: a connection that often
    /// has something to do soon, and otherwise much later, leaves the later one behind each time.
    /// `connections`: how many can have a current one.
    pub(super) fn prune(&mut self, connections: usize, is_current: impl Fn(usize, Instant) -> bool) {
        if self.deadlines.len() > OUTDATED_AT_LEAST + 2 * connections {
            let mut current = core::mem::take(&mut self.deadlines).into_vec();
            current.retain(|Reverse((deadline, index))| is_current(*index, *deadline));
            // The same one may have been left behind and set again.
            current.sort_unstable();
            current.dedup();
            self.deadlines = current.into();
        }
    }
    /// Takes a deadline that has come, with the connection that had it.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<(Instant, usize)> {
        let Reverse((deadline, _)) = self.deadlines.peek()?;
        if *deadline > now {
            return None;
        }
        self.deadlines.pop().map(|Reverse(due)| due)
    }
    /// The connection whose turn it is to send. After `per_turn` packets it goes to the end of the line.
    pub(super) fn next_ready(&mut self, per_turn: u32) -> Option<usize> {
        if self.asked >= per_turn.max(1) {
            self.asked = 0;
            let tired = self.ready.pop_front();
            self.ready.extend(tired);
        }
        let index = self.ready.front().copied()?;
        self.asked += 1;
        Some(index)
    }
    /// The connection whose turn it is has nothing to send.
    pub(super) fn rest(&mut self) {
        self.ready.pop_front();
        self.asked = 0;
    }
    /// The connection whose turn it is to tell.
    pub(super) fn next_telling(&self) -> Option<usize> {
        self.has_events.front().copied()
    }
    /// The connection whose turn it is to tell has told everything.
    pub(super) fn events_taken(&mut self) {
        self.has_events.pop_front();
    }
}

impl ScheduledWake {
    /// Whether that is the deadline that it waits for.
    pub(super) fn waits_for(&self, deadline: Instant) -> bool {
        self.scheduled == deadline
    }
    /// It has nothing to send.
    pub(super) fn rested(&mut self) {
        self.ready = false;
    }
    /// It has nothing to tell.
    pub(super) fn events_taken(&mut self) {
        self.has_events = false;
    }
    /// The deadline that it stood in the heap for has come. Whether it was that one, not an older one.
    pub(super) fn on_due(&mut self, deadline: Instant) -> bool {
        let is_current = self.scheduled == deadline;
        if is_current {
            self.scheduled = Instant::FAR_FUTURE;
        }
        is_current
    }
}
