//! Positions and movements of stations, resolved.

use std::path::Path as FilePath;

use whimbrel_netsim::random::RandomStreams;
use whimbrel_units::Instant;
use whimbrel_wifi::Random;
use whimbrel_wifi::mobility::{Area, Path, Position, Presence, RandomWaypoint, Start, setdest};

use super::{Note, copies, quoted};
use crate::error::ScenarioError;
use crate::files::Files;
use crate::place::{self, Layout, Mobility};
use crate::positions::{self, PositionError, Track};
use crate::{Node, Scenario};

/// A station of a medium.
#[derive(Clone, Debug)]
pub struct StationPlan {
    /// The position of its node.
    pub node: usize,
    /// Its movement.
    pub movement: Movement,
    /// The intervals in which it is on.
    pub presence: Presence,
}

/// The movement of a station.
#[derive(Clone, Debug)]
pub enum Movement {
    /// Along a path that is the same in all runs.
    Path(Path),
    /// Along the path of a file, which has absences.
    Track(Track),
    /// At rest at a position in the area, drawn for each run.
    Uniform(Area),
    /// Random waypoints, drawn for each run.
    RandomWaypoint(RandomWaypoint),
}

impl Movement {
    /// The path of a run until `end`. Draws come from the stream of the station's node.
    pub(crate) fn path(&self, node: &str, streams: RandomStreams, end: Instant) -> Path {
        let mut random = streams.stream(node, "mobility");
        match self {
            Self::Path(path) | Self::Track(Track { path, .. }) => path.clone(),
            Self::Uniform(area) => {
                let (low, high) = (area.low, area.high);
                let x = Random::uniform_between(&mut random, low.x, high.x);
                Path::fixed(Position::new(x, Random::uniform_between(&mut random, low.y, high.y)))
            }
            Self::RandomWaypoint(model) => model.path(end, &mut random).expect("checked with the scenario"),
        }
    }

    /// The path, if it is the same in all runs.
    pub(crate) fn fixed(&self) -> Option<&Path> {
        match self {
            Self::Path(path) | Self::Track(Track { path, .. }) => Some(path),
            _ => None,
        }
    }

    /// The times at which a file has no position.
    fn absences(&self) -> &[(Instant, Instant)] {
        if let Self::Track(track) = self { &track.absences } else { &[] }
    }
}

/// The stations on the medium of this name, in the order of their nodes, and the number of the first node of
/// each entry.
pub(super) fn plan(
    scenario: &Scenario,
    wifi: &str,
    map: Option<Area>,
    files: &Files,
    notes: &mut Vec<Note>,
) -> Result<Vec<StationPlan>, ScenarioError> {
    let mut stations = Vec::new();
    let mut first = 0;
    for (position, node) in scenario.node.iter().enumerate() {
        let key = format!("node[{position}]");
        let count = copies(node.count).len();
        if node.wifi.as_deref() == Some(wifi) {
            let movements = movements(&key, node, count, map, files, notes)?;
            for (copy, movement) in movements.into_iter().enumerate() {
                if let (Some(map), Some(path)) = (map, movement.fixed()) {
                    check_inside(&key, node, path, map)?;
                }
                let presence = presence(&key, node, movement.absences())?;
                stations.push(StationPlan { node: first + copy, movement, presence });
            }
        }
        first += count;
    }
    Ok(stations)
}

/// The entry of each station on the medium of this name, with its position, in the order of [`plan`].
pub(super) fn members<'a>(scenario: &'a Scenario, wifi: &str) -> Vec<(usize, &'a Node)> {
    let entries = scenario.node.iter().enumerate();
    let own = entries.filter(|(_, node)| node.wifi.as_deref() == Some(wifi));
    own.flat_map(|member| copies(member.1.count).map(move |_| member)).collect()
}

/// Refuses keys of stations at nodes that have none.
pub(super) fn check(scenario: &Scenario) -> Result<(), ScenarioError> {
    for (position, node) in scenario.node.iter().enumerate() {
        let key = format!("node[{position}]");
        match &node.wifi {
            None => {
                // A terminal of a cell has a place, too.
                let is_elsewhere = node.cell.is_none();
                let given = [
                    ("position", node.position.is_some() && is_elsewhere),
                    ("layout", node.layout.is_some() && is_elsewhere),
                    ("mobility", node.mobility.is_some() && is_elsewhere),
                    ("access_point", node.access_point.is_some()),
                    ("client", node.client.is_some()),
                    ("off", !node.off.is_empty()),
                    ("standard", node.standard.is_some()),
                    ("station", node.station.is_some()),
                ];
                if let Some((name, _)) = given.into_iter().find(|(_, given)| *given) {
                    let expected =
                        format!("the name of a `[[wifi]]`: `{name}` is that of the node's station");
                    return Err(ScenarioError::missing(format!("{key}.wifi"), expected));
                }
            }
            Some(name) if !scenario.wifi.iter().any(|wifi| wifi.name == *name) => {
                let names: Vec<String> = scenario.wifi.iter().map(|wifi| wifi.name.clone()).collect();
                let expected = match names.is_empty() {
                    true => "the name of a `[[wifi]]`; the scenario has none".to_owned(),
                    false => format!("the name of a `[[wifi]]`: {}", super::abridged(&names)),
                };
                return Err(ScenarioError::invalid(format!("{key}.wifi"), quoted(name), expected));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

fn presence(key: &str, node: &Node, absences: &[(Instant, Instant)]) -> Result<Presence, ScenarioError> {
    let mut outages: Vec<(Instant, Instant)> =
        node.off.iter().map(|[from, until]| (from.after_start(), until.after_start())).collect();
    outages.extend(absences);
    Presence::except(&outages).map_err(|error| {
        let found = format!("[{}, {}]", quoted(&error.from.to_string()), quoted(&error.until.to_string()));
        ScenarioError::invalid(format!("{key}.off"), found, "intervals that end after they start, in order")
    })
}

/// The movement of each copy.
pub(super) fn movements(
    key: &str,
    node: &Node,
    count: usize,
    map: Option<Area>,
    files: &Files,
    notes: &mut Vec<Note>,
) -> Result<Vec<Movement>, ScenarioError> {
    let position = node.position.map(|point| finite(&format!("{key}.position"), point)).transpose()?;
    match (&node.mobility, &node.layout, position) {
        (Some(_), Some(_), _) => {
            let expected = "either `layout` or `mobility`: a layout stands still";
            Err(ScenarioError::invalid(format!("{key}.layout"), "{...}", expected))
        }
        (Some(_), None, Some(point)) => {
            let expected = "either `position` or `mobility`: a movement has positions of its own";
            Err(ScenarioError::invalid(format!("{key}.position"), point, expected))
        }
        (Some(mobility), None, None) => {
            mobile(&format!("{key}.mobility"), mobility, count, map, files, notes)
        }
        (None, Some(layout), position) => {
            layout_of(&format!("{key}.layout"), layout, position.unwrap_or_default(), count, map)
        }
        (None, None, Some(point)) => Ok(vec![Movement::Path(Path::fixed(point)); count]),
        (None, None, None) => Err(ScenarioError::missing(
            format!("{key}.position"),
            "`position`, `layout` or `mobility`: the node has a station",
        )),
    }
}

pub(super) fn finite(key: &str, [x, y]: [f64; 2]) -> Result<Position, ScenarioError> {
    let point = Position::new(x, y);
    if point.is_finite() {
        Ok(point)
    } else {
        Err(ScenarioError::invalid(key, format!("[{x}, {y}]"), "two finite numbers of metres"))
    }
}

/// An area of this size, or the map.
pub(super) fn area(key: &str, size: Option<[f64; 2]>, map: Option<Area>) -> Result<Area, ScenarioError> {
    let area = match size {
        Some([width, height]) => Area::new(width, height),
        None => {
            let expected = "width and height in metres, as the medium has no `area`";
            return map.ok_or_else(|| ScenarioError::missing(key, expected));
        }
    };
    let found = || format!("[{}, {}]", area.high.x, area.high.y);
    if !area.is_valid() || area.high.x < 0.0 || area.high.y < 0.0 || area.diagonal() == 0.0 {
        return Err(ScenarioError::invalid(key, found(), "a width and a height of at least 0, not both 0"));
    }
    match map {
        Some(map) if !(map.contains(area.low) && map.contains(area.high)) => {
            Err(ScenarioError::invalid(key, found(), format!("an area within the map, {map}")))
        }
        _ => Ok(area),
    }
}

fn mobile(
    key: &str,
    mobility: &Mobility,
    count: usize,
    map: Option<Area>,
    files: &Files,
    notes: &mut Vec<Note>,
) -> Result<Vec<Movement>, ScenarioError> {
    match mobility {
        Mobility::Waypoints { points } => {
            let waypoints: Vec<(Instant, Position)> = points
                .iter()
                .map(|point| (point.at.after_start(), Position::new(point.position[0], point.position[1])))
                .collect();
            let path = Path::through(&waypoints).map_err(|error| {
                ScenarioError::invalid(format!("{key}.points"), "[...]", error.to_string())
            })?;
            Ok(vec![Movement::Path(path); count])
        }
        Mobility::RandomWaypoint { area: size, speed, pause, start } => {
            let model = RandomWaypoint {
                area: area(&format!("{key}.area"), *size, map)?,
                speed: (speed[0].0, speed[1].0),
                pause: (pause[0].0, pause[1].0),
                start: match start {
                    place::Start::Stationary => Start::Stationary,
                    place::Start::Ns2 => Start::Ns2,
                },
            };
            model.check().map_err(|error| {
                ScenarioError::invalid(format!("{key}.{}", error.parameter), "[...]", error.expected)
            })?;
            Ok(vec![Movement::RandomWaypoint(model); count])
        }
        Mobility::Sumo { file, id } => {
            let tracks = positions::parse_sumo(&files.read(&format!("{key}.file"), file)?);
            choose(key, file, tracks, id.as_deref(), count)
        }
        Mobility::Csv { file, id, gap } => {
            let text = files.read(&format!("{key}.file"), file)?;
            choose(key, file, positions::parse_csv(&text, gap.map(|gap| gap.0)), id.as_deref(), count)
        }
        Mobility::Setdest { file, first } => {
            let file_key = format!("{key}.file");
            let name = || quoted(&file.display().to_string());
            let paths = setdest::parse(&files.read(&file_key, file)?, map).map_err(|error| {
                ScenarioError::invalid(&file_key, name(), format!("a movement file ({error})"))
            })?;
            let from = paths.partition_point(|(number, _)| number < first);
            let wanted = paths.get(from..from.saturating_add(count)).ok_or_else(|| {
                let expected = format!(
                    "a file with {count} nodes from number {first} on; it has {}",
                    paths.len() - from
                );
                ScenarioError::invalid(&file_key, name(), expected)
            })?;
            let is_consecutive = wanted.iter().map(|&(number, _)| number).eq((*first..).take(count));
            if !is_consecutive {
                let numbers: Vec<String> = wanted.iter().map(|(number, _)| number.to_string()).collect();
                let text = format!(
                    "the numbers of the file's nodes are not consecutive: the copies move as the nodes {}",
                    super::abridged(&numbers)
                );
                notes.push(Note::of_plan(&file_key, text));
            }
            Ok(wanted.iter().map(|(_, path)| Movement::Path(path.clone())).collect())
        }
    }
}

/// The track of each copy: those with the names of a pattern, or the first ones.
fn choose(
    key: &str,
    file: &FilePath,
    tracks: Result<Vec<Track>, PositionError>,
    id: Option<&str>,
    count: usize,
) -> Result<Vec<Movement>, ScenarioError> {
    let file_name = || quoted(&file.display().to_string());
    let tracks = tracks.map_err(|error| {
        ScenarioError::invalid(format!("{key}.file"), file_name(), format!("positions ({error})"))
    })?;
    let Some(pattern) = id else {
        let found = tracks.len();
        return match tracks.get(..count) {
            Some(first) => Ok(first.iter().cloned().map(Movement::Track).collect()),
            None => {
                let expected = format!("a file with {count} nodes; it has {found}");
                Err(ScenarioError::invalid(format!("{key}.file"), file_name(), expected))
            }
        };
    };
    let named = |copy: usize| {
        let name = super::fill(pattern, copy as u32);
        tracks.iter().find(|track| track.name == name).cloned().map(Movement::Track).ok_or_else(|| {
            let names: Vec<String> = tracks.iter().map(|track| track.name.clone()).collect();
            let expected = format!("a node of {}: {}", file_name(), super::abridged(&names));
            ScenarioError::invalid(format!("{key}.id"), quoted(&name), expected)
        })
    };
    (0..count).map(named).collect()
}

fn layout_of(
    key: &str,
    layout: &Layout,
    origin: Position,
    count: usize,
    map: Option<Area>,
) -> Result<Vec<Movement>, ScenarioError> {
    let fixed = |x: f64, y: f64| Movement::Path(Path::fixed(Position::new(origin.x + x, origin.y + y)));
    match layout {
        Layout::Grid { columns: Some(0), .. } => {
            Err(ScenarioError::invalid(format!("{key}.columns"), 0, "at least one column"))
        }
        Layout::Grid { columns, spacing } => {
            let columns = columns.map_or(count.max(1), |columns| columns as usize);
            let at = |copy: usize| ((copy % columns) as f64 * spacing.0, (copy / columns) as f64 * spacing.0);
            Ok((0..count).map(at).map(|(x, y)| fixed(x, y)).collect())
        }
        Layout::Circle { radius } => {
            let at = |copy: usize| {
                let angle = std::f64::consts::TAU * copy as f64 / count as f64;
                fixed(radius.0 * libm::cos(angle), radius.0 * libm::sin(angle))
            };
            Ok((0..count).map(at).collect())
        }
        Layout::Random { area: size } => {
            Ok(vec![Movement::Uniform(area(&format!("{key}.area"), *size, map)?); count])
        }
    }
}

/// Refuses a station that leaves the map.
fn check_inside(key: &str, node: &Node, path: &Path, map: Area) -> Result<(), ScenarioError> {
    let Some((at, point)) = path.leaves(map) else { return Ok(()) };
    let name = match (&node.mobility, &node.layout) {
        (Some(_), _) => "mobility",
        (None, Some(_)) => "layout",
        (None, None) => "position",
    };
    let when = if at == Instant::ZERO { String::new() } else { format!(" at {}", at - Instant::ZERO) };
    let expected = format!("positions within the map, {map}");
    Err(ScenarioError::invalid(format!("{key}.{name}"), format!("{point}{when}"), expected))
}
