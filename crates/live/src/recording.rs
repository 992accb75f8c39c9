//! Content of the page: series over time, events, tables and sentences.

use std::collections::VecDeque;

use serde::Serialize;
use serde_json::{Value, json};

#[cfg(test)]
mod tests;

/// Samples that are kept; the oldest are forgotten. An hour at two samples a second.
const MAX_SAMPLES: usize = 7_200;
/// Tracks, marks and sentences that are kept.
const MAX_TRACKS: usize = 64;
const MAX_MARKS: usize = 1_000;
const MAX_SENTENCES: usize = 4_000;

/// A chart of the page, which has one unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Panel {
    /// Rates in bit/s: sent, delivered, allowed, capacity.
    Rate,
    /// Packets lost per second, by cause, and repaired.
    Loss,
    /// Times in seconds: delay and its parts.
    Delay,
    /// Frames per second.
    Frames,
    /// Packets that wait.
    Queue,
    /// Shares of the time on the air.
    Air,
    /// Rates of the paths of one connection in bit/s.
    Paths,
}

impl Panel {
    /// The unit of its values.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Rate | Self::Paths => "bit/s",
            Self::Loss => "packets/s",
            Self::Delay => "s",
            Self::Frames => "frames/s",
            Self::Queue => "packets",
            Self::Air => "share",
        }
    }
}

/// A track: a connection, a flow, a link, a medium.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Track {
    /// Kind: `connection`, `flow`, `link`, `medium`.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// The track has ended.
    pub is_over: bool,
}

/// The position of a track.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(transparent)]
pub struct TrackId(usize);

/// The position of a series.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct SeriesId(usize);

#[derive(Clone, Debug)]
struct Series {
    track: TrackId,
    panel: Panel,
    name: String,
    /// A value for each sample that is kept; NaN for none.
    values: VecDeque<f32>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
struct Mark {
    t: f64,
    /// End of an event with a duration.
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<f64>,
    track: TrackId,
    text: String,
}

/// A series of sentences has one for each change.
#[derive(Clone, PartialEq, Debug, Serialize)]
struct Sentence {
    t: f64,
    track: TrackId,
    text: String,
}

/// A table of the present state.
#[derive(Clone, PartialEq, Debug, Serialize)]
struct Table {
    title: String,
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// Page content. Bounded: of a long time the last part, of many tracks the newest.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    title: String,
    facts: Vec<String>,
    tracks: Vec<Track>,
    series: Vec<Series>,
    times: VecDeque<f64>,
    marks: VecDeque<Mark>,
    sentences: VecDeque<Sentence>,
    tables: Vec<Table>,
    scene: Option<Value>,
    has_video: bool,
    /// Numbers of what was ever added, and of changes of what there is.
    position: Position,
}

/// A message to a page about a recording.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Event {
    /// `all` or `more`.
    pub kind: &'static str,
    /// All of the recording, or additions.
    pub recording: Value,
}

/// A reader's position in a recording.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Position {
    schema: u64,
    samples: u64,
    marks: u64,
    sentences: u64,
    tables: u64,
}

impl Recording {
    /// An empty recording.
    pub fn new(title: impl Into<String>) -> Self {
        Self { title: title.into(), ..Self::default() }
    }

    /// Adds a fact below the title, such as `seed 7`.
    pub fn fact(&mut self, text: impl Into<String>) {
        self.facts.push(text.into());
        self.position.schema += 1;
    }

    /// Adds a track. If there are many, one that has ended gives up its place and its series.
    pub fn track(&mut self, kind: &'static str, name: impl Into<String>) -> TrackId {
        let track = Track { kind, name: name.into(), is_over: false };
        self.position.schema += 1;
        let over = self.tracks.iter().position(|track| track.is_over);
        if let Some(place) = over.filter(|_| self.tracks.len() >= MAX_TRACKS) {
            let id = TrackId(place);
            self.tracks[place] = track;
            for series in self.series.iter_mut().filter(|series| series.track == id) {
                series.values.iter_mut().for_each(|value| *value = f32::NAN);
            }
            self.marks.retain(|mark| mark.track != id);
            self.sentences.retain(|sentence| sentence.track != id);
            return id;
        }
        self.tracks.push(track);
        TrackId(self.tracks.len() - 1)
    }

    /// A track has ended; its series stay.
    pub fn end(&mut self, track: TrackId) {
        self.tracks[track.0].is_over = true;
        self.position.schema += 1;
    }

    /// The series of that name in a panel of a track, which is added if there is none.
    pub fn series(&mut self, track: TrackId, panel: Panel, name: &str) -> SeriesId {
        let is_it = |series: &Series| series.track == track && series.panel == panel && series.name == name;
        if let Some(known) = self.series.iter().position(is_it) {
            return SeriesId(known);
        }
        let values = self.times.iter().map(|_| f32::NAN).collect();
        self.series.push(Series { track, panel, name: name.to_owned(), values });
        self.position.schema += 1;
        SeriesId(self.series.len() - 1)
    }

    /// Adds a sample at a time in seconds; series without a value, or with a non-finite one, have a hole.
    pub fn push(&mut self, time: f64, values: &[(SeriesId, f64)]) {
        if self.times.len() == MAX_SAMPLES {
            self.times.pop_front();
            self.series.iter_mut().for_each(|series| {
                series.values.pop_front();
            });
        }
        self.times.push_back(time);
        self.series.iter_mut().for_each(|series| series.values.push_back(f32::NAN));
        for (series, value) in values {
            if let Some(last) = self.series[series.0].values.back_mut() {
                *last = *value as f32;
            }
        }
        self.position.samples += 1;
    }

    /// Marks an event.
    pub fn mark(&mut self, time: f64, track: TrackId, text: impl Into<String>) {
        self.push_mark(Mark { t: time, until: None, track, text: text.into() });
    }

    /// Marks an event that lasts until a time.
    pub fn mark_span(&mut self, time: f64, until: f64, track: TrackId, text: impl Into<String>) {
        self.push_mark(Mark { t: time, until: Some(until), track, text: text.into() });
    }

    fn push_mark(&mut self, mark: Mark) {
        if self.marks.len() == MAX_MARKS {
            self.marks.pop_front();
        }
        self.marks.push_back(mark);
        self.position.marks += 1;
    }

    /// The sentence that explains a track from that time on.
    pub fn say(&mut self, time: f64, track: TrackId, text: &str) {
        let last = self.sentences.iter().rev().find(|sentence| sentence.track == track);
        if last.is_some_and(|last| last.text == text) {
            return;
        }
        if self.sentences.len() == MAX_SENTENCES {
            self.sentences.pop_front();
        }
        self.sentences.push_back(Sentence { t: time, track, text: text.to_owned() });
        self.position.sentences += 1;
    }

    /// Shows the table of that title, or replaces it; one without rows is removed.
    pub fn table(&mut self, title: &str, columns: &[&str], rows: Vec<Vec<String>>) {
        let columns = columns.iter().map(|&column| column.to_owned()).collect();
        let table = Table { title: title.to_owned(), columns, rows };
        let place = self.tables.iter().position(|other| other.title == title);
        match place {
            Some(place) if table.rows.is_empty() => drop(self.tables.remove(place)),
            Some(place) if self.tables[place] == table => return,
            Some(place) => self.tables[place] = table,
            None if table.rows.is_empty() => return,
            None => self.tables.push(table),
        }
        self.position.tables += 1;
    }

    /// The places, movements and frames of a simulated run, which the page draws as a map.
    pub fn scene(&mut self, scene: Value) {
        self.scene = Some(scene);
        self.position.schema += 1;
    }

    /// The program that serves the page has the video itself, for browsers (WHEP).
    pub fn has_video(&mut self) {
        self.has_video = true;
        self.position.schema += 1;
    }

    /// The next event for a page that knows the recording up to a position, if there is anything new. A new
    /// page gets everything.
    pub fn event(&self, known: &mut Option<Position>) -> Option<Event> {
        let now = self.position;
        if *known == Some(now) {
            return None;
        }
        let more = known.and_then(|known| self.since(known));
        *known = Some(now);
        let (kind, recording) = more.map_or_else(|| ("all", self.json()), |more| ("more", more));
        Some(Event { kind, recording })
    }

    /// All of it, as the page reads it.
    pub fn json(&self) -> Value {
        let series = |series: &Series| {
            json!({
                "track": series.track, "panel": series.panel, "name": series.name,
                "values": series.values.iter().copied().map(number).collect::<Vec<_>>(),
            })
        };
        json!({
            "version": 1,
            "title": self.title,
            "facts": self.facts,
            "tracks": self.tracks,
            "series": self.series.iter().map(series).collect::<Vec<_>>(),
            "times": self.times.iter().copied().map(time).collect::<Vec<_>>(),
            "marks": self.marks,
            "sentences": self.sentences,
            "tables": self.tables,
            "scene": self.scene,
            "video": self.has_video,
        })
    }

    /// Additions since a position, as the page reads them; `None` if series have come or more was added than
    /// is kept.
    pub(crate) fn since(&self, known: Position) -> Option<Value> {
        let now = self.position;
        let new = |now: u64, known: u64, kept: usize| {
            let count = usize::try_from(now - known).ok()?;
            kept.checked_sub(count)
        };
        if now.schema != known.schema {
            return None;
        }
        let samples = new(now.samples, known.samples, self.times.len())?;
        let marks = new(now.marks, known.marks, self.marks.len())?;
        let sentences = new(now.sentences, known.sentences, self.sentences.len())?;
        let row = |index: usize| {
            let values = self.series.iter().map(|series| number(series.values[index]));
            std::iter::once(time(self.times[index])).chain(values).collect::<Vec<_>>()
        };
        let mut more = json!({
            "rows": (samples..self.times.len()).map(row).collect::<Vec<_>>(),
            "marks": self.marks.iter().skip(marks).collect::<Vec<_>>(),
            "sentences": self.sentences.iter().skip(sentences).collect::<Vec<_>>(),
        });
        if now.tables != known.tables {
            more["tables"] = json!(self.tables);
        }
        Some(more)
    }
}

/// A value with five digits; null for none.
fn number(value: f32) -> Value {
    if !value.is_finite() {
        return Value::Null;
    }
    if value == 0.0 {
        return json!(0);
    }
    let digits = 4 - libm::log10(f64::from(value.abs())).floor() as i32;
    let scale = libm::pow(10.0, f64::from(digits.clamp(-30, 30)));
    let rounded = (f64::from(value) * scale).round() / scale;
    if rounded.fract() == 0.0 && rounded.abs() < 1e15 { json!(rounded as i64) } else { json!(rounded) }
}

/// A time to the millisecond.
fn time(at: f64) -> Value {
    json!((at * 1e3).round() / 1e3)
}
