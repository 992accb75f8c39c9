//! Floating car data of SUMO (`sumo --fcd-output`).
//!
//! Each `timestep` has the vehicles and persons that are on the road. One that a time step leaves out is
//! absent until the next step that has it.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use whimbrel_units::{Duration, Instant};
use whimbrel_wifi::mobility::Position;

use super::{PositionError, Track, Tracks, number, seconds};

/// The nodes of a file.
///
/// # Errors
/// If the file is not of this format, or a value is no number, or the time does not grow.
pub fn parse(text: &str) -> Result<Vec<Track>, PositionError> {
    let mut reader = Reader::from_str(text);
    let mut lines = Lines { text, offset: 0, line: 1 };
    let (mut tracks, mut step) = (Tracks::default(), None::<Instant>);
    let (mut is_export, mut length) = (false, Duration::MAX);
    loop {
        let event = reader.read_event();
        let line = lines.at(reader.buffer_position());
        match event {
            Err(error) => return Err(PositionError::new(line, &error.to_string(), "well-formed XML")),
            Ok(Event::Eof) => break,
            Ok(Event::Start(element) | Event::Empty(element)) => match element.name().as_ref() {
                "fcd-export" => is_export = true,
                "timestep" => {
                    let at = seconds(line, &attribute(line, &element, "time")?)?;
                    if let Some(before) = step {
                        if at <= before {
                            let found = (at - Instant::ZERO).to_string();
                            let expected = "a later time than that of the time step before";
                            return Err(PositionError::new(line, &found, expected));
                        }
                        length = length.min(at - before);
                    }
                    step = Some(at);
                }
                "vehicle" | "person" => {
                    let name = attribute(line, &element, "id")?;
                    let at = step.ok_or_else(|| PositionError::new(line, &name, "a `timestep` around it"))?;
                    let coordinate = |name| number(line, &attribute(line, &element, name)?);
                    tracks.add(line, &name, at, Position::new(coordinate("x")?, coordinate("y")?))?;
                }
                _ => {}
            },
            Ok(_) => {}
        }
    }
    if !is_export {
        let expected = "an element `fcd-export`, as `sumo --fcd-output` writes it";
        return Err(PositionError::new(1, "the document", expected));
    }
    // Half a step more than a step: times are rounded to the digits of the file.
    let (gap, rest) =
        if length == Duration::MAX { (length, Duration::ZERO) } else { (length * 3 / 2, length) };
    Ok(tracks.finish(gap, rest))
}

fn attribute(line: u64, element: &BytesStart<'_>, name: &'static str) -> Result<String, PositionError> {
    let missing = || {
        let found = element.name().as_ref().to_owned();
        PositionError::new(
            line,
            &found,
            match name {
                "time" => "an attribute `time`",
                "id" => "an attribute `id`",
                "x" => "an attribute `x`",
                _ => "an attribute `y`",
            },
        )
    };
    let attribute = element.try_get_attribute(name).ok().flatten().ok_or_else(missing)?;
    Ok(attribute.value.into_owned())
}

/// Counts lines up to a place, which only grows.
struct Lines<'a> {
    text: &'a str,
    offset: usize,
    line: u64,
}

impl Lines<'_> {
    fn at(&mut self, place: u64) -> u64 {
        let place = usize::try_from(place).unwrap_or(usize::MAX).min(self.text.len());
        let passed = self.text.as_bytes().get(self.offset..place).unwrap_or_default();
        self.line += passed.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.offset = self.offset.max(place);
        self.line
    }
}
