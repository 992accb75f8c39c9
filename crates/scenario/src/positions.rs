//! Positions of nodes from files of other programs.
//!
//! A file has positions of named nodes at times. A node moves in straight lines between them, and is absent
//! before its first one, after its last one, and in gaps: where more time than `gap` passes without one.

mod csv;
mod sumo;

use std::collections::BTreeMap;

use thiserror::Error;
use whimbrel_units::{Duration, Instant};
use whimbrel_wifi::mobility::{InvalidPath, Path, Position};

pub use self::csv::parse as parse_csv;
pub use self::sumo::parse as parse_sumo;
use crate::text::excerpt;

/// A node of a file.
#[derive(Clone, PartialEq, Debug)]
pub struct Track {
    /// Its name.
    pub name: String,
    /// Its movement.
    pub path: Path,
    /// Its absences.
    pub absences: Vec<(Instant, Instant)>,
}

/// Reason to refuse a file of positions.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
#[error("line {line}: {found}: expected {expected}")]
pub struct PositionError {
    /// The line, from 1.
    pub line: u64,
    /// The value at fault.
    pub found: String,
    /// The expected form.
    pub expected: &'static str,
}

impl PositionError {
    fn new(line: u64, found: &str, expected: &'static str) -> Self {
        Self { line, found: excerpt(found), expected }
    }
}

/// The positions of all nodes, in the order of their first ones.
#[derive(Default)]
struct Tracks {
    names: Vec<String>,
    numbers: BTreeMap<String, usize>,
    points: Vec<Vec<(Instant, Position)>>,
}

impl Tracks {
    fn add(&mut self, line: u64, name: &str, at: Instant, position: Position) -> Result<(), PositionError> {
        if name.is_empty() {
            return Err(PositionError::new(line, "a node without a name", "a name for each position"));
        }
        let number = match self.numbers.get(name) {
            Some(&number) => number,
            None => {
                self.numbers.insert(name.to_owned(), self.names.len());
                self.names.push(name.to_owned());
                self.points.push(Vec::new());
                self.names.len() - 1
            }
        };
        let points = &mut self.points[number];
        if let Some(&before) = points.last() {
            let expected = match Path::through(&[before, (at, position)]) {
                Ok(_) => None,
                Err(InvalidPath::TooFast { .. }) => Some("a place within reach at the speed of light"),
                Err(_) => Some("a later time than that of the node's position before"),
            };
            if let Some(expected) = expected {
                let found = format!("{name} at {}", at - Instant::ZERO);
                return Err(PositionError::new(line, &found, expected));
            }
        }
        points.push((at, position));
        Ok(())
    }

    /// The nodes, each of which stays for `rest` after its last position before a gap.
    fn finish(self, gap: Duration, rest: Duration) -> Vec<Track> {
        let track = |(name, points): (String, Vec<(Instant, Position)>)| {
            let mut absences = Vec::new();
            let mut last = None;
            for &(at, _) in &points {
                match last {
                    None => absences.push((Instant::ZERO, at)),
                    Some(last) if at - last > gap => absences.push((last + rest, at)),
                    Some(_) => {}
                }
                last = Some(at);
            }
            absences.extend(last.map(|last| (last + rest, Instant::FAR_FUTURE)));
            absences.retain(|(from, until)| from < until);
            let path = Path::through(&points).expect("finite positions at later and later times");
            Track { name, path, absences }
        };
        self.names.into_iter().zip(self.points).map(track).collect()
    }
}

fn seconds(line: u64, text: &str) -> Result<Instant, PositionError> {
    let value = number(line, text)?;
    // A century, which is beyond all simulations.
    if !(0.0..=3.2e9).contains(&value) {
        return Err(PositionError::new(line, text, "a time of at least 0 s, and at most a century"));
    }
    Ok(Instant::ZERO + Duration::from_nanos(libm::round(value * 1e9) as u64))
}

fn number(line: u64, text: &str) -> Result<f64, PositionError> {
    match text.trim().parse::<f64>() {
        Ok(value) if value.is_finite() => Ok(value),
        _ => Err(PositionError::new(line, text, "a finite number")),
    }
}

#[cfg(test)]
mod tests;
