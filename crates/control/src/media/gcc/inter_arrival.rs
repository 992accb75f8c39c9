//! Differences of sending and arrival times between groups of packets.

use whimbrel_units::{Duration, Instant};

/// Arrival interval up to which a packet that gained on the one before belongs to its burst.
const BURST_INTERVAL: Duration = Duration::from_millis(5);
/// Longest time in which the packets of a burst arrive.
const LONGEST_BURST: Duration = Duration::from_millis(100);
/// Groups in disorder after which the state is void.
const REORDERED_LIMIT: u32 = 3;
/// Advance of the receiver's clock on the sender's between two groups from which a clock was set.
const CLOCK_JUMP: Duration = Duration::from_secs(3);

/// Packets sent within the length of a group, or arrived in a burst.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Group {
    first_sent: Instant,
    last_sent: Instant,
    first_arrival: Instant,
    last_arrival: Instant,
    /// Time at which the last packet was reported.
    reported: Instant,
}

/// Differences between the last packets of two successive groups.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Deltas {
    /// Difference of the sending times.
    pub(super) sent: Duration,
    /// Difference of the arrival times.
    pub(super) arrived: Duration,
}

/// The grouping of packets.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct InterArrival {
    /// Sending time that a group spans.
    length: Duration,
    current: Option<Group>,
    previous: Option<Group>,
    reordered: u32,
}

impl InterArrival {
    pub(super) const fn new(length: Duration) -> Self {
        Self { length, current: None, previous: None, reordered: 0 }
    }

    fn reset(&mut self) {
        *self = Self::new(self.length);
    }

    /// Records a packet; returns the differences between the two groups before it if it begins a new one.
    pub(super) fn record(&mut self, sent: Instant, arrived: Instant, now: Instant) -> Option<Deltas> {
        let begun = Group {
            first_sent: sent,
            last_sent: sent,
            first_arrival: arrived,
            last_arrival: arrived,
            reported: now,
        };
        let Some(current) = &mut self.current else {
            self.current = Some(begun);
            return None;
        };
        if sent < current.first_sent {
            return None;
        }
        let is_new =
            !is_burst(current, sent, arrived) && sent.saturating_since(current.first_sent) > self.length;
        if !is_new {
            current.last_sent = current.last_sent.max(sent);
            current.last_arrival = arrived;
            current.reported = now;
            return None;
        }
        let (complete, previous) = (*current, self.previous);
        let deltas = match previous.map(|previous| between(&previous, &complete)) {
            None => None,
            Some(Difference::ClockJump) => {
                self.reset();
                return None;
            }
            Some(Difference::Disorder) => {
                self.reordered += 1;
                if self.reordered >= REORDERED_LIMIT {
                    self.reset();
                }
                return None;
            }
            Some(Difference::Times(deltas)) => {
                self.reordered = 0;
                Some(deltas)
            }
        };
        self.previous = Some(complete);
        self.current = Some(begun);
        deltas
    }
}

enum Difference {
    Times(Deltas),
    /// The later group arrived first.
    Disorder,
    ClockJump,
}

fn between(previous: &Group, complete: &Group) -> Difference {
    let arrived = complete.last_arrival.saturating_since(previous.last_arrival);
    let reported = complete.reported.saturating_since(previous.reported);
    if arrived.saturating_sub(reported) >= CLOCK_JUMP {
        return Difference::ClockJump;
    }
    if complete.last_arrival < previous.last_arrival {
        return Difference::Disorder;
    }
    Difference::Times(Deltas { sent: complete.last_sent.saturating_since(previous.last_sent), arrived })
}

/// `true` if the packet was sent together with the last of `group`, or was delayed less and arrived right
/// after it: then a queue on the path released both.
fn is_burst(group: &Group, sent: Instant, arrived: Instant) -> bool {
    if sent == group.last_sent {
        return true;
    }
    let interval = arrived.saturating_since(group.last_arrival);
    // A packet sent before the last of the group has a negative sending interval, and did not gain on it.
    let gained = sent > group.last_sent && interval < sent.saturating_since(group.last_sent);
    gained && interval <= BURST_INTERVAL && arrived.saturating_since(group.first_arrival) < LONGEST_BURST
}

#[cfg(test)]
mod tests;
