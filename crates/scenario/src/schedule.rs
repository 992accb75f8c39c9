//! Recorded schedules: the datagrams of an encoded video, or any list of times and sizes.

use std::sync::Arc;

use thiserror::Error;
use whimbrel_units::Duration;

use crate::text::excerpt;

/// One datagram of a schedule.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// Its time, counted from the beginning of the schedule.
    pub offset: Duration,
    /// Application data in bytes.
    pub size: u32,
    /// The number of the video frame that it belongs to, from 0; 0 in a schedule without frames.
    pub frame: u32,
    /// `true` if the frame refers to no other: its type is `I`, or the schedule has no types.
    pub is_key: bool,
}

/// Reason for refusing a text as a schedule.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum ScheduleError {
    /// The first line is not the header of this kind of schedule.
    #[error("line 1: expected the header `{expected}`, found `{found}`")]
    Header {
        /// The header's columns.
        expected: &'static str,
        /// The text found.
        found: String,
    },
    /// A line is invalid.
    #[error("line {line}: expected {expected}, found `{found}`")]
    Line {
        /// Counting from 1.
        line: usize,
        /// The value expected.
        expected: &'static str,
        /// The text found.
        found: String,
    },
    /// There are no datagrams in it.
    #[error("expected at least one datagram")]
    Empty,
}

/// A list of datagrams in the order of their times. Cheap to clone.
#[derive(Clone, PartialEq, Debug)]
pub struct Schedule {
    entries: Arc<[Entry]>,
    /// The time from one beginning to the next if the schedule repeats.
    period: Duration,
}

const VIDEO: &str = "time_s,size_bytes,frame,type";
const TRACE: &str = "time_s,size_bytes";
/// The largest datagram: what UDP can carry over IPv4.
const MAX_SIZE: u32 = 65_507;

impl Schedule {
    /// Reads a video's schedule: CSV with the header `time_s,size_bytes,frame,type`; one line per datagram,
    /// times and frame numbers not descending, a frame's type (`I`, `P`, `B`, ...) a word.
    pub fn parse_video(text: &str) -> Result<Self, ScheduleError> {
        Self::parse(text, VIDEO)
    }

    /// Reads a trace: CSV with the header `time_s,size_bytes`; one line per datagram, times not descending.
    pub fn parse_trace(text: &str) -> Result<Self, ScheduleError> {
        Self::parse(text, TRACE)
    }

    fn parse(text: &str, header: &'static str) -> Result<Self, ScheduleError> {
        let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
        let found = lines.next().map_or("", |(_, line)| line);
        if found != header {
            return Err(ScheduleError::Header { expected: header, found: excerpt(found) });
        }
        let mut entries: Vec<Entry> = Vec::new();
        for (line, text) in lines.filter(|(_, text)| !text.is_empty()) {
            let wrong = |expected, found: &str| ScheduleError::Line { line, expected, found: excerpt(found) };
            let fields: Vec<&str> = text.split(',').map(str::trim).collect();
            if fields.len() != header.split(',').count() {
                return Err(wrong("as many fields as the header has", text));
            }
            let seconds: f64 = fields[0].parse().map_err(|_| wrong("a time in seconds", fields[0]))?;
            if !(0.0..1e9).contains(&seconds) {
                return Err(wrong("a time in seconds, not negative", fields[0]));
            }
            let offset = Duration::from_secs_f64(seconds);
            let size = fields[1].parse().ok().filter(|size| (1..=MAX_SIZE).contains(size));
            let size = size.ok_or_else(|| wrong("a size from 1 to 65507 bytes", fields[1]))?;
            let frame = match fields.get(2) {
                Some(field) => field.parse().map_err(|_| wrong("a frame number", field))?,
                None => 0,
            };
            if fields.get(3).is_some_and(|kind| kind.is_empty() || !kind.chars().all(char::is_alphanumeric)) {
                return Err(wrong("a frame type such as I, P or B", fields[3]));
            }
            if let Some(last) = entries.last() {
                if offset < last.offset {
                    return Err(wrong("a time not before the previous line's", fields[0]));
                }
                if frame < last.frame {
                    return Err(wrong("a frame number not below the previous line's", fields[2]));
                }
            }
            let is_key = fields.get(3).is_none_or(|kind| *kind == "I");
            entries.push(Entry { offset, size, frame, is_key });
        }
        let Some(last) = entries.last() else { return Err(ScheduleError::Empty) };
        // The last frame lasts as long as the average one, so that a repeated video keeps its rate.
        let first = entries[0].offset;
        let distinct = 1 + entries.windows(2).filter(|pair| pair[0].offset != pair[1].offset).count();
        let period = if distinct > 1 {
            let span = last.offset - first;
            span + span / (distinct as u64 - 1)
        } else {
            Duration::from_secs(1)
        };
        Ok(Self { period, entries: entries.into() })
    }

    /// Its datagrams.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The datagram with that number, counting from 0, of the schedule repeated for ever, and its time,
    /// counted from the first beginning.
    pub fn nth(&self, number: u64) -> (Duration, &Entry) {
        let length = self.entries.len() as u64;
        let (round, entry) = (number / length, &self.entries[(number % length) as usize]);
        (self.period * round + entry.offset, entry)
    }

    /// The largest datagram in it, in bytes.
    pub fn largest(&self) -> u32 {
        self.entries.iter().map(|entry| entry.size).max().unwrap_or(0)
    }
}
