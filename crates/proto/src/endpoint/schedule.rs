//! The schedule of connections with pending work.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use whimbrel_units::Instant;

/// Number of outdated deadlines below which the heap is not pruned.
const OUTDATED_AT_LEAST: usize = 64;

/// Schedule state of one connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScheduledWake {
    /// The earliest instant for which the heap has an entry.
    scheduled: Instant,
    /// The connection is in the list of those that may have packets to send.
    ready: bool,
    /// The connection is in the list of those that may have events to report.
    has_events: bool,
}

impl ScheduledWake {
    pub(super) const NEW: Self = Self { scheduled: Instant::FAR_FUTURE, ready: false, has_events: false };
}

/// The connections with pending work.
///
/// A deadline that is postponed stays in the heap: when it passes, the connection is polled, and inserted
/// again. A connection whose timers move with every packet thus costs no heap operation per packet.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    deadlines: BinaryHeap<Reverse<(Instant, usize)>>,
    ready: VecDeque<usize>,
    /// Number of packets that the first of them was polled for in a row.
    asked: u32,
    has_events: VecDeque<usize>,
}

impl Schedule {
    /// The connection may have packets to send and events to report.
    pub(super) fn wake(&mut self, index: usize, wake: &mut ScheduledWake) {
        if !wake.ready {
            wake.ready = true;
            self.ready.push_back(index);
        }
        self.wake_for_events(index, wake);
    }

    /// The connection may have events to report.
    pub(super) fn wake_for_events(&mut self, index: usize, wake: &mut ScheduledWake) {
        if !wake.has_events {
            wake.has_events = true;
            self.has_events.push_back(index);
        }
    }

    /// The connection has work to do at `deadline`.
    pub(super) fn set(&mut self, index: usize, wake: &mut ScheduledWake, deadline: Instant) {
        if deadline < wake.scheduled {
            wake.scheduled = deadline;
            self.deadlines.push(Reverse((deadline, index)));
        }
    }

    /// The next deadline.
    pub(super) fn next(&self) -> Option<Instant> {
        self.deadlines.peek().map(|Reverse((deadline, _))| *deadline)
    }

    /// Number of deadlines stored, including outdated ones.
    pub(super) fn deadlines(&self) -> usize {
        self.deadlines.len()
    }

    /// Removes the deadlines that are not current, once most of them are: a connection that often has work to
    /// do soon, and otherwise much later, leaves the later one behind each time. `connections`: number of
    /// connections that can have a current one.
    pub(super) fn prune(&mut self, connections: usize, is_current: impl Fn(usize, Instant) -> bool) {
        if self.deadlines.len() > OUTDATED_AT_LEAST + 2 * connections {
            let mut current = core::mem::take(&mut self.deadlines).into_vec();
            current.retain(|Reverse((deadline, index))| is_current(*index, *deadline));
            // A deadline may have been left behind and set again.
            current.sort_unstable();
            current.dedup();
            self.deadlines = current.into();
        }
    }

    /// Removes and returns a deadline that has passed, with its connection.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<(Instant, usize)> {
        let Reverse((deadline, _)) = self.deadlines.peek()?;
        if *deadline > now {
            return None;
        }
        self.deadlines.pop().map(|Reverse(due)| due)
    }

    /// The next connection to be polled for packets. After `per_turn` packets it moves to the end of the
    /// list.
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

    /// The connection being polled has nothing to send.
    pub(super) fn rest(&mut self) {
        self.ready.pop_front();
        self.asked = 0;
    }

    /// The next connection with events.
    pub(super) fn next_with_events(&self) -> Option<usize> {
        self.has_events.front().copied()
    }

    /// All events of that connection have been taken.
    pub(super) fn events_taken(&mut self) {
        self.has_events.pop_front();
    }
}

impl ScheduledWake {
    /// `true` if that is the deadline scheduled for the connection.
    pub(super) fn waits_for(&self, deadline: Instant) -> bool {
        self.scheduled == deadline
    }

    /// The connection has nothing to send.
    pub(super) fn rested(&mut self) {
        self.ready = false;
    }

    /// The connection has no events.
    pub(super) fn events_taken(&mut self) {
        self.has_events = false;
    }

    /// A deadline of the heap has passed. Returns `true` if it is the scheduled one rather than an older one.
    pub(super) fn on_due(&mut self, deadline: Instant) -> bool {
        let is_current = self.scheduled == deadline;
        if is_current {
            self.scheduled = Instant::FAR_FUTURE;
        }
        is_current
    }
}
