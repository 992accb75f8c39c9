//! Delays in time.
//!
//! A text of comma-separated values: a time in seconds per line, and the delay of packets that leave the
//! transmitter from then on; a time before 0 stands for 0. A header names the columns, `time_s` or `sent_s`,
//! and `delay_s`; others are passed over, so that the delays that a recorder of paths writes are a trace. Of
//! those, lines whose `class` is `train` are skipped: the packets of a train wait for each other. Without a
//! header the columns are the first two. Blank lines and lines that begin with `#` are skipped.

use std::sync::Arc;

use whimbrel_units::{Duration, Instant};

use super::TraceError;

/// The delay of a link over time. Cheap to clone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DelayTrace {
    /// Times in nanoseconds, in ascending order, and the delays from then on.
    steps: Arc<[(u64, Duration)]>,
    least: Duration,
    repeats: bool,
}

const HEADER: &str = "columns `time_s` or `sent_s`, and `delay_s`, or a time and a delay in seconds";

impl DelayTrace {
    /// Reads a text of times and delays, as described above. The first delay holds from the beginning. With
    /// `repeats` the trace starts again at its last time, otherwise the last delay stays.
    ///
    /// # Errors
    /// If a line does not hold what its columns should, times do not ascend, or a trace of no length is to be
    /// repeated.
    pub fn parse(text: &str, repeats: bool) -> Result<Self, TraceError> {
        let (mut columns, mut class) = (None, None);
        let mut steps: Vec<(Instant, Duration)> = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let fields: Vec<&str> = line.split(',').map(|field| field.trim().trim_matches('"')).collect();
            let (time, delay) = match columns {
                Some(columns) => columns,
                None => {
                    let find = |name: &str| fields.iter().position(|field| *field == name);
                    let found = find("time_s").or_else(|| find("sent_s")).zip(find("delay_s"));
                    class = find("class");
                    let is_number =
                        |index: usize| fields.get(index).is_some_and(|field| field.parse::<f64>().is_ok());
                    columns = found.or((is_number(0) && is_number(1)).then_some((0, 1)));
                    match (columns, found) {
                        (None, _) => return Err(TraceError::line(index, HEADER, line)),
                        (Some(_), Some(_)) => continue,
                        (Some(columns), None) => columns,
                    }
                }
            };
            if class.and_then(|class| fields.get(class)).is_some_and(|class| *class == "train") {
                continue;
            }
            let seconds = |column: usize, least: f64| {
                let seconds = fields.get(column).and_then(|field| field.parse::<f64>().ok());
                seconds.filter(|seconds| (least..1e9).contains(seconds))
            };
            let (Some(time), Some(delay)) = (seconds(time, -1e9), seconds(delay, 0.0)) else {
                return Err(TraceError::line(
                    index,
                    "a time and a delay in seconds, which is not negative",
                    line,
                ));
            };
            let time = Instant::from_secs_f64(time.max(0.0));
            if steps.last().is_some_and(|(last, _)| *last > time) {
                return Err(TraceError::line(index, "a time not before the previous line's", line));
            }
            steps.push((time, Duration::from_secs_f64(delay)));
        }
        Self::from_steps(&steps, repeats)
    }

    /// From times and the delays from then on.
    ///
    /// # Errors
    /// See [`DelayTrace::parse`].
    pub fn from_steps(steps: &[(Instant, Duration)], repeats: bool) -> Result<Self, TraceError> {
        let Some(least) = steps.iter().map(|(_, delay)| *delay).min() else {
            return Err(TraceError::Whole { expected: HEADER });
        };
        if !steps.is_sorted_by_key(|(time, _)| *time) {
            return Err(TraceError::Whole { expected: "times in ascending order" });
        }
        let steps: Arc<[_]> = steps.iter().map(|(time, delay)| (time.as_nanos(), *delay)).collect();
        if repeats && steps.last().is_none_or(|(end, _)| *end == 0) {
            return Err(TraceError::Whole { expected: "a last time above zero, at which it starts again" });
        }
        Ok(Self { steps, least, repeats })
    }

    /// The least delay.
    pub fn least(&self) -> Duration {
        self.least
    }

    /// The delay of a packet that leaves the transmitter at `time`.
    pub fn at(&self, time: Instant) -> Duration {
        let end = self.steps.last().map_or(0, |(end, _)| *end);
        let time = if self.repeats { time.as_nanos() % end.max(1) } else { time.as_nanos() };
        let next = self.steps.partition_point(|(from, _)| *from <= time);
        self.steps.get(next.saturating_sub(1)).map_or(self.least, |(_, delay)| *delay)
    }
}

#[cfg(test)]
mod tests;
