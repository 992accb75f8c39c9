//! Rates that change in steps.
//!
//! One line is `seconds<TAB>Mbit/s`: from that time on the link has that rate, until the next line's
//! time. The first line's rate also holds before its time. Any white space separates the two numbers. A table
//! of comma-separated values with a header is read, too ([`rate_table`](super::rate_table)).

use std::sync::Arc;

use whimbrel_units::{DataRate, Duration, Instant};

use super::{TraceError, rate_table};

/// Continuation after the last step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AtEnd {
    /// The trace starts again. Its last rate holds as long as the one before it did.
    Repeat,
    /// The last rate holds for ever.
    Hold,
}

/// A link rate over time. Cheap to clone.
#[derive(Clone, PartialEq, Debug)]
pub struct RateSteps {
    /// (start in nanoseconds, bit/s); the first start is 0, starts ascend strictly.
    steps: Arc<[(u64, f64)]>,
    /// Time at which the steps start again; `u64::MAX` if they do not.
    period: u64,
}

impl RateSteps {
    /// Reads lines of seconds and Mbit/s, or a table with a header; blank lines and lines that begin with `#`
    /// are skipped.
    ///
    /// # Errors
    /// If a line is not two numbers, times do not ascend, a rate is negative or not finite, there is no
    /// step, or a trace to be repeated never has a rate above 0.
    pub fn parse(text: &str, at_end: AtEnd) -> Result<Self, TraceError> {
        let mut steps = Vec::new();
        let lines = || {
            let lines = text.lines().map(str::trim).enumerate();
            lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        };
        if lines().next().is_some_and(|(_, line)| line.contains([',', ';'])) {
            return Self::from_steps(&rate_table::parse(lines())?, at_end);
        }
        for (index, line) in lines() {
            let mut numbers = line.split_whitespace().map(str::parse::<f64>);
            let (Some(Ok(time)), Some(Ok(rate)), None) = (numbers.next(), numbers.next(), numbers.next())
            else {
                return Err(TraceError::line(index, "seconds and Mbit/s", line));
            };
            add(&mut steps, index, line, time, rate * 1e6)?;
        }
        Self::from_steps(&steps, at_end)
    }

    /// From (start, rate) pairs.
    ///
    /// # Errors
    /// See [`RateSteps::parse`].
    pub fn from_steps(steps: &[(Instant, DataRate)], at_end: AtEnd) -> Result<Self, TraceError> {
        if steps.is_empty() {
            return Err(TraceError::Whole { expected: "at least one step" });
        }
        if steps.windows(2).any(|pair| pair[0].0 >= pair[1].0) {
            return Err(TraceError::Whole { expected: "times in strictly ascending order" });
        }
        if steps.iter().any(|(_, rate)| rate.as_bits_per_second().is_infinite()) {
            return Err(TraceError::Whole { expected: "finite rates" });
        }
        let mut starts: Vec<(u64, f64)> =
            steps.iter().map(|(start, rate)| (start.as_nanos(), rate.as_bits_per_second())).collect();
        let period = match (at_end, starts.as_slice()) {
            (AtEnd::Hold, _) | (AtEnd::Repeat, [_]) => u64::MAX,
            (AtEnd::Repeat, [.., (before, _), (last, _)]) => last.saturating_add(last - before),
            (AtEnd::Repeat, []) => 0,
        };
        if at_end == AtEnd::Repeat && starts.iter().all(|&(_, rate)| rate == 0.0) {
            return Err(TraceError::Whole { expected: "a rate above 0 somewhere in a trace that repeats" });
        }
        starts[0].0 = 0;
        Ok(Self { steps: starts.into(), period })
    }

    /// The time after which the trace starts again; [`Duration::MAX`] if it does not.
    pub fn period(&self) -> Duration {
        Duration::from_nanos(self.period)
    }

    /// The steps whose time 0 is the time `start` of these, which repeat. Steps that do not repeat stay as
    /// they are.
    pub fn started_at(&self, start: Duration) -> Self {
        if self.period == u64::MAX {
            return self.clone();
        }
        let start = start.as_nanos() % self.period;
        let current = self.steps.partition_point(|&(begin, _)| begin <= start) - 1;
        let (before, after) = self.steps.split_at(current + 1);
        let again = before.iter().map(|&(begin, rate)| (begin + self.period - start, rate));
        let steps = std::iter::once((0, before[current].1))
            .chain(after.iter().map(|&(begin, rate)| (begin - start, rate)))
            // The part of the current step before `start` comes last; it is empty if the step begins there.
            .chain(again.filter(|&(begin, _)| begin < self.period));
        Self { steps: steps.collect(), period: self.period }
    }

    /// The rate at this time.
    pub fn rate_at(&self, time: Instant) -> DataRate {
        let mut cursor = StepCursor::new(self.clone());
        cursor.seek(time.as_nanos());
        DataRate::from_bits_per_second(cursor.rate())
    }
}

/// Adds a step that line `index` describes, of a time in seconds and a rate in bit/s.
pub(super) fn add(
    steps: &mut Vec<(Instant, DataRate)>,
    index: usize,
    line: &str,
    time: f64,
    rate: f64,
) -> Result<(), TraceError> {
    if !(0.0..1e10).contains(&time) {
        return Err(TraceError::line(index, "a time between 0 and 10^10 s", line));
    }
    if !(0.0..f64::INFINITY).contains(&rate) {
        return Err(TraceError::line(index, "a finite rate of at least 0", line));
    }
    let time = Instant::from_secs_f64(time);
    if steps.last().is_some_and(|&(last, _)| last >= time) {
        return Err(TraceError::line(index, "a time after the previous line's", line));
    }
    steps.push((time, DataRate::from_bits_per_second(rate)));
    Ok(())
}

/// The step in force at the time a link has planned up to.
#[derive(Clone, Debug)]
pub(crate) struct StepCursor {
    trace: RateSteps,
    index: usize,
    /// The beginning of the current repetition.
    base: u64,
}

impl StepCursor {
    pub(crate) fn new(trace: RateSteps) -> Self {
        Self { trace, index: 0, base: 0 }
    }

    /// Time at which `bits` that begin at `start` have been sent.
    pub(crate) fn departure(&mut self, start: Instant, bits: f64) -> Instant {
        let mut time = start.as_nanos();
        let mut remaining = bits;
        self.seek(time);
        loop {
            let end = self.end();
            // A step without a rate needs infinitely long, and the cast saturates; 0 / 0 gives 0.
            let needed = (remaining / self.rate() * 1e9 + 0.5) as u64;
            if needed <= end - time || end == u64::MAX {
                return Instant::from_nanos(time.saturating_add(needed));
            }
            remaining = (remaining - self.rate() * (end - time) as f64 * 1e-9).max(0.0);
            time = end;
            self.advance();
        }
    }

    /// The bits that can be sent between the two times.
    pub(crate) fn bits_between(&mut self, from: Instant, to: Instant) -> f64 {
        let (mut time, to) = (from.as_nanos(), to.as_nanos());
        let mut bits = 0.0;
        self.seek(time);
        while time < to {
            let end = self.end().min(to);
            bits += self.rate() * (end - time) as f64 * 1e-9;
            time = end;
            if time == self.end() && time < to {
                self.advance();
            }
        }
        bits
    }

    fn rate(&self) -> f64 {
        self.trace.steps[self.index].1
    }

    fn end(&self) -> u64 {
        let end = self.trace.steps.get(self.index + 1).map_or(self.trace.period, |&(start, _)| start);
        self.base.saturating_add(end)
    }

    fn advance(&mut self) {
        self.index += 1;
        if self.index == self.trace.steps.len() {
            self.index = 0;
            self.base = self.base.saturating_add(self.trace.period);
        }
    }

    fn seek(&mut self, time: u64) {
        let start = self.base.saturating_add(self.trace.steps[self.index].0);
        if (start..self.end()).contains(&time) {
            return;
        }
        self.base = time / self.trace.period * self.trace.period;
        let within = time - self.base;
        self.index = self.trace.steps.partition_point(|&(start, _)| start <= within) - 1;
    }
}
