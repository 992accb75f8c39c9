//! Whose queue it is: the flow's own, which empties if the flow sends less, or one that others fill.

use whimbrel_units::{Duration, Instant};

/// Factor of the rate during a test: a queue q of the flow alone, served at the rate C and filled at 3/4 C, is empty after 4 q.
const FACTOR: f64 = 0.75;
/// Loop delays that a test lasts longer than that: one until its effect is seen, and one for the noise of the measurement.
const ROUNDS: f64 = 2.0;
/// Queueing delay over the target at which the queue is empty.
pub(super) const EMPTY: f64 = 0.125;
/// Loop delays for which the queue exceeds the target before it is tested.
const PATIENCE: f64 = 2.0;

/// The measurements of a report that a test needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observation {
    pub(super) now: Instant,
    /// Queueing delay and its target, in seconds.
    pub(super) queueing: f64,
    pub(super) target: f64,
    /// T, in seconds.
    pub(super) loop_delay: f64,
    /// The rate and the receive rate, in bytes per second.
    pub(super) rate: f64,
    pub(super) received: f64,
}

/// A reduction of the rate that tests the queue.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Reduction {
    until: Instant,
    /// The rate meanwhile.
    rate: f64,
}

/// The tests of a queue and their result.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct QueueTest {
    /// Time at which the queue was empty or tested.
    last_empty: Option<Instant>,
    /// Time at which the queue was within its target, and the receive rate at that time.
    last_short: Option<Instant>,
    reference: f64,
    reduction: Option<Reduction>,
    is_filled: bool,
}

impl QueueTest {
    /// `true` if others fill the queue.
    pub(super) const fn is_filled_by_others(&self) -> bool {
        self.is_filled
    }

    /// `true` during a test.
    pub(super) const fn is_running(&self) -> bool {
        self.reduction.is_some()
    }

    /// The rate of a test, infinite while there is none.
    pub(super) fn rate(&self) -> f64 {
        self.reduction.map_or(f64::INFINITY, |reduction| reduction.rate)
    }

    /// The receive rate at the time at which the queue was last within its target.
    pub(super) const fn reference(&self) -> f64 {
        self.reference
    }

    /// Ends a test without a result.
    pub(super) const fn cancel(&mut self) {
        self.reduction = None;
    }

    /// Processes a report; tests the queue each `interval`, and once it exceeds the target for some time.
    pub(super) fn on_report(&mut self, observed: &Observation, interval: Duration) {
        let Observation { now, queueing, target, loop_delay, .. } = *observed;
        let last_empty = *self.last_empty.get_or_insert(now);
        let last_short = *self.last_short.get_or_insert(now);
        if queueing <= EMPTY * target {
            (self.last_empty, self.reduction, self.is_filled) = (Some(now), None, false);
        }
        if queueing <= target {
            self.last_short = Some(now);
            if !self.is_filled && self.reduction.is_none() {
                self.reference = observed.received;
            }
        }
        match self.reduction {
            Some(reduction) if now >= reduction.until => {
                self.is_filled = queueing > target;
                (self.last_empty, self.last_short, self.reduction) = (Some(now), Some(now), None);
            }
            Some(_) => {}
            None => {
                let patience = Duration::from_secs_f64(PATIENCE * loop_delay);
                let exceeds = !self.is_filled && now.saturating_since(last_short) > patience;
                if queueing > EMPTY * target && (exceeds || now.saturating_since(last_empty) >= interval) {
                    let time = queueing / (1.0 - FACTOR) + ROUNDS * loop_delay;
                    self.reduction = Some(Reduction {
                        until: now + Duration::from_secs_f64(time),
                        rate: FACTOR * observed.rate.min(observed.received),
                    });
                }
            }
        }
    }
}
