//! Losses in time.
//!
//! A text of comma-separated values, in one of two forms:
//!
//! - a time per line, in seconds: of the packets that leave the transmitter at that time or later, and before
//!   the next line's time, the first is lost;
//! - two times per line: packets that leave within `[from, to)` are lost, all of them.
//!
//! A header names the columns, `time_s`, or `from_s` and `to_s`; others are passed over, so that a run's own
//! table of losses is a trace. Without a header the columns are the first one or two. Blank lines and lines
//! that begin with `#` are skipped.

use std::sync::Arc;

use whimbrel_units::{Duration, Instant};

use super::TraceError;

/// The times at which a link loses packets. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LossTrace {
    losses: Losses,
    /// Length of the trace in nanoseconds: no loss lies beyond it.
    length: u64,
    repeats: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Losses {
    /// Ascending; equal times count once.
    Times(Arc<[u64]>),
    /// Ascending and apart from each other; the end is not part of a span.
    Spans(Arc<[(u64, u64)]>),
}

/// Columns of a line with the times.
#[derive(Clone, Copy)]
enum Columns {
    Time(usize),
    Span(usize, usize),
}

const HEADER: &str = "a column `time_s`, or columns `from_s` and `to_s`";

impl LossTrace {
    /// Reads a text of times or intervals, as described above.
    ///
    /// `length` is the time that the trace describes, up to its last loss where it is not given. With
    /// `repeats` it starts again then, otherwise nothing is lost any more.
    ///
    /// # Errors
    /// If a line does not hold what its columns should, times do not ascend or lie beyond `length`, or a
    /// trace of no length is to be repeated.
    pub fn parse(text: &str, length: Option<Duration>, repeats: bool) -> Result<Self, TraceError> {
        let mut columns = None;
        let mut times = Vec::new();
        let mut spans = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let fields: Vec<&str> = line.split(',').map(|field| field.trim().trim_matches('"')).collect();
            let Some(columns) = columns else {
                let (found, is_header) =
                    Columns::of(&fields).ok_or_else(|| TraceError::line(index, HEADER, line))?;
                columns = Some(found);
                if !is_header {
                    found.read(index, line, &fields, &mut times, &mut spans)?;
                }
                continue;
            };
            columns.read(index, line, &fields, &mut times, &mut spans)?;
        }
        match columns {
            Some(Columns::Span(..)) => Self::from_spans(&spans, length, repeats),
            Some(Columns::Time(_)) => Self::from_times(&times, length, repeats),
            None => Err(TraceError::Whole { expected: HEADER }),
        }
    }

    /// From times, each of which takes a packet.
    ///
    /// # Errors
    /// See [`LossTrace::parse`].
    pub fn from_times(
        times: &[Instant],
        length: Option<Duration>,
        repeats: bool,
    ) -> Result<Self, TraceError> {
        if !times.is_sorted() {
            return Err(TraceError::Whole { expected: "times in ascending order" });
        }
        let mut times: Vec<u64> = times.iter().map(|time| time.as_nanos()).collect();
        times.dedup();
        let end = times.last().map_or(0, |last| last.saturating_add(1));
        Self::new(Losses::Times(times.into()), end, length, repeats)
    }

    /// From intervals `[from, to)`, in which all packets are lost.
    ///
    /// # Errors
    /// See [`LossTrace::parse`].
    pub fn from_spans(
        spans: &[(Instant, Instant)],
        length: Option<Duration>,
        repeats: bool,
    ) -> Result<Self, TraceError> {
        if spans.iter().any(|(from, to)| from >= to) || spans.windows(2).any(|pair| pair[0].1 > pair[1].0) {
            return Err(TraceError::Whole { expected: "intervals in ascending order that do not overlap" });
        }
        let spans: Vec<(u64, u64)> =
            spans.iter().map(|(from, to)| (from.as_nanos(), to.as_nanos())).collect();
        let end = spans.last().map_or(0, |last| last.1);
        Self::new(Losses::Spans(spans.into()), end, length, repeats)
    }

    fn new(losses: Losses, end: u64, length: Option<Duration>, repeats: bool) -> Result<Self, TraceError> {
        let length = match length {
            Some(length) if length.as_nanos() < end => {
                return Err(TraceError::Whole { expected: "a length that covers all losses" });
            }
            Some(length) => length.as_nanos(),
            None if repeats => {
                return Err(TraceError::Whole { expected: "a length, to know when to start again" });
            }
            None => end,
        };
        if repeats && length == 0 {
            return Err(TraceError::Whole { expected: "a length above zero, to be repeated" });
        }
        Ok(Self { losses, length, repeats })
    }

    /// The time that it describes.
    pub fn length(&self) -> Duration {
        Duration::from_nanos(self.length)
    }

    /// The trace whose time 0 is the time `start` of this one, if it repeats. Otherwise it stays as it is.
    pub fn started_at(&self, start: Duration) -> Self {
        if !self.repeats {
            return self.clone();
        }
        let start = start.as_nanos() % self.length;
        let rest = self.length - start;
        let losses = match &self.losses {
            Losses::Times(times) => {
                let (before, after) = times.split_at(times.partition_point(|&time| time < start));
                let ahead = after.iter().map(|time| time - start);
                Losses::Times(ahead.chain(before.iter().map(|time| time + rest)).collect())
            }
            Losses::Spans(spans) => {
                let ahead = spans.iter().filter(|(_, to)| *to > start);
                let ahead = ahead.map(|(from, to)| (from.saturating_sub(start), to - start));
                let again = spans.iter().filter(|(from, _)| *from < start);
                let again = again.map(|(from, to)| (from + rest, (*to).min(start) + rest));
                Losses::Spans(ahead.chain(again).collect())
            }
        };
        Self { losses, length: self.length, repeats: true }
    }

    /// `true` if it starts again at its end.
    pub fn repeats(&self) -> bool {
        self.repeats
    }
}

impl Columns {
    /// The columns of a text whose first line has these fields, and whether that line is a header.
    fn of(fields: &[&str]) -> Option<(Self, bool)> {
        let find = |name: &str| fields.iter().position(|field| *field == name);
        match (find("from_s"), find("to_s"), find("time_s")) {
            (Some(from), Some(to), _) => return Some((Self::Span(from, to), true)),
            (_, _, Some(time)) => return Some((Self::Time(time), true)),
            _ => {}
        }
        match fields {
            [time] => time.parse::<f64>().ok().map(|_| (Self::Time(0), false)),
            [from, to] if from.parse::<f64>().is_ok() && to.parse::<f64>().is_ok() => {
                Some((Self::Span(0, 1), false))
            }
            _ => None,
        }
    }

    fn read(
        self,
        index: usize,
        line: &str,
        fields: &[&str],
        times: &mut Vec<Instant>,
        spans: &mut Vec<(Instant, Instant)>,
    ) -> Result<(), TraceError> {
        let time = |column: usize| {
            let seconds = fields.get(column).and_then(|field| field.parse::<f64>().ok());
            seconds.filter(|seconds| (0.0..1e10).contains(seconds)).map(Instant::from_secs_f64)
        };
        match self {
            Self::Time(column) => {
                let time = time(column).ok_or_else(|| TraceError::line(index, "a time in seconds", line))?;
                if times.last().is_some_and(|last| *last > time) {
                    return Err(TraceError::line(index, "a time not before the previous line's", line));
                }
                times.push(time);
            }
            Self::Span(from, to) => {
                let (Some(from), Some(to)) = (time(from), time(to)) else {
                    return Err(TraceError::line(index, "two times in seconds", line));
                };
                if from >= to {
                    return Err(TraceError::line(index, "an interval that ends after it begins", line));
                }
                if spans.last().is_some_and(|(_, last)| *last > from) {
                    return Err(TraceError::line(index, "an interval after the previous line's", line));
                }
                spans.push((from, to));
            }
        }
        Ok(())
    }
}

/// Position of a link in its trace.
#[derive(Clone, Debug)]
pub(crate) struct LossCursor {
    trace: LossTrace,
    /// The first time or span that has not passed.
    next: usize,
    /// The beginning of the current repetition.
    base: u64,
    exceeded: Option<Instant>,
}

impl LossCursor {
    pub(crate) fn new(trace: LossTrace) -> Self {
        Self { trace, next: 0, base: 0, exceeded: None }
    }

    /// Returns `true` if the packet that leaves now is lost. Departures do not go back in time.
    pub(crate) fn loses(&mut self, departure: Instant) -> bool {
        // A time of the repetitions that ended since the last packet has passed unused and takes this one.
        let pending = self.enter_repetition(departure);
        let within = departure.as_nanos() - self.base;
        match &self.trace.losses {
            Losses::Times(times) => {
                let first = self.next;
                self.next += times[first..].partition_point(|time| *time <= within);
                pending || self.next > first
            }
            Losses::Spans(spans) => {
                self.next += spans[self.next..].partition_point(|(_, to)| *to <= within);
                spans.get(self.next).is_some_and(|(from, _)| *from <= within)
            }
        }
    }

    /// Starts the trace again where its end has passed. `true` if some of its times were unused.
    fn enter_repetition(&mut self, departure: Instant) -> bool {
        let (now, length) = (departure.as_nanos(), self.trace.length);
        if now - self.base < length {
            return false;
        }
        if !self.trace.repeats {
            self.exceeded.get_or_insert(departure);
            return false;
        }
        let base = now / length * length;
        let pending = match &self.trace.losses {
            Losses::Times(times) => {
                self.next < times.len() || (base - self.base > length && !times.is_empty())
            }
            Losses::Spans(_) => false,
        };
        (self.base, self.next) = (base, 0);
        pending
    }

    pub(crate) fn exceeded(&self) -> Option<Instant> {
        self.exceeded
    }
}

#[cfg(test)]
mod tests;
