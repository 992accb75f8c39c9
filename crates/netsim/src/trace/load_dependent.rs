//! Load-dependent replay of a cellular link, after CellReplay.
//!
//! A cellular network grants capacity by demand: a short burst after a pause gets less, and waits longer,
//! than a flow that always has data to send. Two recordings describe such a link: the *heavy* one is a
//! [`DeliveryTrace`] under saturation, the *light* one has, for short trains of packets sent after pauses,
//! the base delay of a train's first packet and the opportunities of those behind it. In a replay each packet
//! that finds the link idle starts a train: it arrives after the base delay of that time, interpolated
//! between the recorded trains, and the packets behind it use the train's opportunities. When these are used
//! up, packets use the heavy recording's, until the link is idle again. A train lasts at least to the last of
//! its own opportunities, so that a paced flow does not start one with each of its packets.
//!
//! Source: W. Sentosa, B. Chandrasekaran, P. B. Godfrey, H. Hassanieh, "CellReplay: Towards accurate
//! record-and-replay for cellular networks", NSDI 2025. The text of the light recording is its tools': a line
//! per train, with the millisecond at which it was sent, the base delay in milliseconds, and the
//! opportunities of 1500 bytes in milliseconds since the first packet's.

use std::sync::Arc;

use whimbrel_units::{DataRate, Duration, Instant};

use super::deliveries::DeliveryCursor;
use super::{DeliveryTrace, TraceError};

const NANOS_PER_MILLI: u64 = 1_000_000;

/// A recorded train. Times in nanoseconds.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Train {
    at: u64,
    base_delay: u64,
    /// Since the first packet's, which is at 0 and one of them; ascending.
    opportunities: Box<[u64]>,
}

/// The two recordings of a link whose capacity depends on its load. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoadDependentTrace {
    heavy: DeliveryTrace,
    /// At least two, at ascending times; the time of the last one is the period, at which they start again.
    light: Arc<[Train]>,
    /// The time of the light recording at time 0.
    light_start: u64,
    idle: Duration,
}

impl LoadDependentTrace {
    /// Reads the light recording, one train per line; blank lines are skipped. A train starts if nothing has
    /// arrived at the link's end for longer than `idle`, and the one before has ended.
    ///
    /// # Errors
    /// If a line is not a time, a base delay and ascending opportunities, times do not ascend, or there are
    /// fewer than two lines.
    pub fn parse(heavy: DeliveryTrace, light: &str, idle: Duration) -> Result<Self, TraceError> {
        let mut trains: Vec<Train> = Vec::new();
        for (index, line) in light.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let wrong = |expected| TraceError::line(index, expected, line);
            let expected = "milliseconds: a time, a base delay, and opportunities since the first packet's";
            let numbers: Option<Vec<u64>> = line.split_whitespace().map(nanos).collect();
            let numbers = numbers.ok_or_else(|| wrong(expected))?;
            let [at, base_delay, opportunities @ ..] = numbers.as_slice() else {
                return Err(wrong(expected));
            };
            if trains.last().is_some_and(|last| last.at >= *at) {
                return Err(wrong("a time after the previous line's"));
            }
            if !opportunities.is_sorted() {
                return Err(wrong("opportunities in ascending order"));
            }
            // The first packet's own opportunity may be left out.
            let first = (opportunities.first() != Some(&0)).then_some(0);
            let opportunities = first.into_iter().chain(opportunities.iter().copied()).collect();
            trains.push(Train { at: *at, base_delay: *base_delay, opportunities });
        }
        if trains.len() < 2 {
            return Err(TraceError::Whole { expected: "at least two trains" });
        }
        // The first one describes the time before it, too.
        trains[0].at = 0;
        Ok(Self { heavy, light: trains.into(), light_start: 0, idle })
    }

    /// Mean rate under saturation.
    pub fn mean_rate(&self) -> DataRate {
        self.heavy.mean_rate()
    }

    /// Mean rate of the recording of long bursts after the time `from` and up to `to`.
    pub fn mean_rate_between(&self, from: Instant, to: Instant) -> DataRate {
        self.heavy.mean_rate_between(from, to)
    }

    /// The time after which the longer of the two recordings starts again.
    pub fn period(&self) -> Duration {
        self.heavy.period().max(Duration::from_nanos(self.light_period()))
    }

    /// The recordings whose time 0 is the time `start` of these, which repeat.
    pub fn started_at(&self, start: Duration) -> Self {
        let light_start = (self.light_start + start.as_nanos() % self.light_period()) % self.light_period();
        Self { heavy: self.heavy.started_at(start), light_start, ..self.clone() }
    }

    fn light_period(&self) -> u64 {
        self.light[self.light.len() - 1].at
    }

    /// The train in force at a time, and the base delay then.
    fn train_at(&self, now: u64) -> (usize, u64) {
        let period = self.light_period();
        let within = (now % period + self.light_start) % period;
        let index = self.light.partition_point(|train| train.at <= within) - 1;
        let (train, next) = (&self.light[index], &self.light[index + 1]);
        let share = (within - train.at) as f64 / (next.at - train.at) as f64;
        let change = next.base_delay as f64 - train.base_delay as f64;
        (index, (train.base_delay as f64 + share * change + 0.5) as u64)
    }
}

/// Milliseconds in nanoseconds, up to 10^10 s.
fn nanos(text: &str) -> Option<u64> {
    let millis: f64 = text.parse().ok()?;
    (0.0..1e13).contains(&millis).then_some((millis * NANOS_PER_MILLI as f64 + 0.5) as u64)
}

/// Position of a link in its recordings.
#[derive(Clone, Debug)]
pub(crate) struct LoadDependentCursor {
    trace: LoadDependentTrace,
    heavy: DeliveryCursor,
    /// The train in force; `None` before the first packet.
    train: Option<RunningTrain>,
    last_departure: u64,
}

#[derive(Clone, Copy, Debug)]
struct RunningTrain {
    /// Its place in the recording, its start and its base delay.
    index: usize,
    start: u64,
    base_delay: u64,
    /// The time of its last own opportunity, and of the one last used.
    end: u64,
    used: u64,
    /// The next opportunity, and what the current one has left.
    next: usize,
    left: u32,
}

impl LoadDependentCursor {
    pub(crate) fn new(trace: LoadDependentTrace) -> Self {
        let heavy = DeliveryCursor::new(trace.heavy.clone());
        Self { trace, heavy, train: None, last_departure: 0 }
    }

    /// The base delay of the current train, which the link's delay includes.
    pub(crate) fn base_delay(&self) -> Duration {
        Duration::from_nanos(self.train.map_or(0, |train| train.base_delay))
    }

    /// Departure time of a packet that was accepted at `now`, behind all earlier ones: a base delay before
    /// its arrival.
    pub(crate) fn departure(&mut self, now: Instant, size: u32) -> Instant {
        let now = now.as_nanos();
        let idle = self.trace.idle.as_nanos();
        let mut train = match self.train {
            Some(train) if now <= self.last_departure.saturating_add(idle).max(train.end) => train,
            _ => {
                let (index, base_delay) = self.trace.train_at(now);
                let last = self.trace.light[index].opportunities.last().copied().unwrap_or(0);
                let end = now.saturating_add(last);
                RunningTrain { index, start: now, base_delay, end, used: now, next: 0, left: 0 }
            }
        };
        let departure = self.light_departure(&mut train, now, size).unwrap_or_else(|| {
            // Heavy opportunities are times of arrival.
            let ready = now.max(train.used).saturating_add(train.base_delay);
            self.heavy.departure(Instant::from_nanos(ready), size).as_nanos().saturating_sub(train.base_delay)
        });
        self.train = Some(train);
        self.last_departure = self.last_departure.max(departure);
        Instant::from_nanos(self.last_departure)
    }

    /// By the train's own opportunities; `None` when these are used up.
    fn light_departure(&self, train: &mut RunningTrain, now: u64, size: u32) -> Option<u64> {
        let opportunities = &self.trace.light[train.index].opportunities;
        let time = |index: usize| train.start.saturating_add(opportunities[index]);
        // The rest of an opportunity cannot be used after it.
        if train.next > 0 && time(train.next - 1) < now {
            train.left = 0;
        }
        let mut remaining = size;
        let mut next = train.next;
        let mut left = train.left;
        while remaining > left {
            remaining -= left;
            while next < opportunities.len() && time(next) < now {
                next += 1;
            }
            if next == opportunities.len() {
                (train.next, train.left) = (next, 0);
                return None;
            }
            left = DeliveryTrace::OPPORTUNITY;
            next += 1;
        }
        (train.next, train.left) = (next, left - remaining);
        train.used = time(next - 1);
        Some(train.used)
    }

    /// Gives up what was planned after `time`.
    pub(crate) fn restart(&mut self, time: Instant) {
        self.heavy.restart(time + self.base_delay());
        self.last_departure = self.last_departure.min(time.as_nanos());
    }
}

#[cfg(test)]
mod tests;
