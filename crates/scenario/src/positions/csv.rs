//! Tables of positions: `time,node,x,y` or `time,node,x,y,z`, in seconds and metres.

use csv::ReaderBuilder;
use whimbrel_units::Duration;
use whimbrel_wifi::mobility::Position;

use super::{PositionError, Track, Tracks, number, seconds};

const COLUMNS: [&str; 4] = ["time", "node", "x", "y"];

/// The nodes of a table. A node is absent where more than `gap` passes without a position.
///
/// # Errors
/// If a column is missing, or a value is no number, or a time is not later than the one before.
pub fn parse(text: &str, gap: Option<Duration>) -> Result<Vec<Track>, PositionError> {
    let mut reader = ReaderBuilder::new().trim(csv::Trim::All).from_reader(text.as_bytes());
    let unreadable = |error: csv::Error| {
        let line = error.position().map_or(1, csv::Position::line);
        PositionError::new(line, "a row", "as many columns as in the first line, in UTF-8")
    };
    let header = reader.headers().map_err(unreadable)?.clone();
    let column = |name: &str| header.iter().position(|other| other == name);
    let mut places = [0; 4];
    for (place, name) in places.iter_mut().zip(COLUMNS) {
        let found = header.iter().collect::<Vec<_>>().join(",");
        *place = column(name).ok_or_else(|| {
            PositionError::new(1, &found, "the columns time, node, x, y, and z if there is one")
        })?;
    }
    let height = column("z");
    let mut tracks = Tracks::default();
    for row in reader.records() {
        let row = row.map_err(unreadable)?;
        let line = row.position().map_or(1, csv::Position::line);
        let value = |place: usize| row.get(place).unwrap_or_default();
        let at = seconds(line, value(places[0]))?;
        let position = Position::new(number(line, value(places[2]))?, number(line, value(places[3]))?);
        if let Some(height) = height {
            number(line, value(height))?;
        }
        tracks.add(line, value(places[1]), at, position)?;
    }
    Ok(tracks.finish(gap.unwrap_or(Duration::MAX), Duration::ZERO))
}
