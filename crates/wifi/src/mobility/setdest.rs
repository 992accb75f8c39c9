//! The movement files of ns-2, as its `setdest` tool and BonnMotion write them.
//!
//! ```text
//! $node_(0) set X_ 450.342300038598
//! $node_(0) set Y_ 946.592138589165
//! $node_(0) set Z_ 0.000000000000
//! $ns_ at 2.000000000000 "$node_(0) setdest 772.5 423.7 15.7"
//! ```
//!
//! A node rests at its initial position until its first `setdest`, moves to the target at the given speed in metres per
//! second, and rests there. A `setdest` during a movement gives the movement up; one with speed 0 stops the node.
//! Comments (`#`), blank lines and the statements about `$god_`, which hold hop counts, are skipped. Everything else is an
//! error with its line.

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write};

use whimbrel_units::{Duration, Instant};

use super::{Area, Path, PathBuilder, Position, Velocity};
use crate::propagation::SPEED_OF_LIGHT;

/// A movement file that describes no movement, and the place where it does not.
#[derive(Clone, PartialEq, Debug)]
pub struct SetdestError {
    /// The line, from 1; 0 if the problem is the file as a whole.
    pub line: usize,
    /// The problem.
    pub problem: Problem,
}

/// A problem in a movement file.
#[derive(Clone, PartialEq, Debug)]
pub enum Problem {
    /// A statement that is none of a movement file.
    UnknownStatement {
        /// The statement.
        statement: String,
    },
    /// A value that is not what its place requires.
    Value {
        /// Name of the value.
        name: &'static str,
        /// The text found.
        found: String,
        /// Description of the valid values.
        expected: &'static str,
    },
    /// A second initial coordinate, or a coordinate set during the run: the node would teleport.
    Teleport {
        /// The node.
        node: u32,
        /// `X_`, `Y_` or `Z_`.
        coordinate: &'static str,
    },
    /// An initial position or a target outside the map.
    Outside {
        /// The node.
        node: u32,
        /// The point.
        position: Position,
        /// The map.
        area: Area,
    },
    /// A node that moves, or that a higher number implies, lacks an initial coordinate.
    NoPosition {
        /// The node.
        node: u32,
        /// `X_` or `Y_`.
        coordinate: &'static str,
    },
}

impl fmt::Display for SetdestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}: ", self.line)?;
        }
        match &self.problem {
            Problem::UnknownStatement { statement } => write!(
                f,
                "`{statement}`: expected `$node_(N) set X_|Y_|Z_ VALUE` or `$ns_ at TIME \"$node_(N) setdest X Y SPEED\"`"
            ),
            Problem::Value { name, found, expected } => write!(f, "{name}: `{found}`: expected {expected}"),
            Problem::Teleport { node, coordinate } => {
                write!(
                    f,
                    "$node_({node}) set {coordinate}: the coordinate is set a second time or during the run; expected `setdest`, a node moves and does not jump"
                )
            }
            Problem::Outside { node, position, area } => {
                write!(f, "$node_({node}): {position} lies outside the map; expected a point in {area}")
            }
            Problem::NoPosition { node, coordinate } => {
                write!(
                    f,
                    "$node_({node}) has no initial {coordinate}; expected `$node_({node}) set {coordinate} VALUE`"
                )
            }
        }
    }
}

impl core::error::Error for SetdestError {}

/// A `setdest` command.
struct Command {
    line: usize,
    at: Instant,
    target: Position,
    speed: f64,
}

/// All that a file states about a node.
#[derive(Default)]
struct Node {
    x: Option<f64>,
    y: Option<f64>,
    z: Option<f64>,
    /// Line of the last coordinate in the plane.
    line: usize,
    commands: Vec<Command>,
}

/// The paths of nodes 0, 1, 2, ... of a movement file.
///
/// # Errors
/// The first statement that is malformed, an initial position or a target outside `area` (if given), a coordinate set
/// twice or during the run, and nodes without a position.
pub fn parse(text: &str, area: Option<Area>) -> Result<Vec<Path>, SetdestError> {
    let mut nodes: BTreeMap<u32, Node> = BTreeMap::new();
    for (index, text) in text.lines().enumerate() {
        let line = index + 1;
        statement(text, line, &mut nodes).map_err(|problem| SetdestError { line, problem })?;
    }
    let mut paths = Vec::with_capacity(nodes.len());
    for (expected, (&number, node)) in (0..).zip(&mut nodes) {
        let missing =
            |node, line, coordinate| SetdestError { line, problem: Problem::NoPosition { node, coordinate } };
        if number != expected {
            return Err(missing(expected, 0, "X_"));
        }
        let line = node.commands.first().map_or(node.line, |command| command.line);
        let x = node.x.ok_or_else(|| missing(number, line, "X_"))?;
        let y = node.y.ok_or_else(|| missing(number, line, "Y_"))?;
        paths.push(path(number, node, Position { x, y }, area)?);
    }
    Ok(paths)
}

fn path(number: u32, node: &mut Node, start: Position, area: Option<Area>) -> Result<Path, SetdestError> {
    let inside = |line, position| match area {
        Some(area) if !area.contains(position) => {
            Err(SetdestError { line, problem: Problem::Outside { node: number, position, area } })
        }
        _ => Ok(()),
    };
    inside(node.line, start)?;
    // As ns-2's scheduler: by time, and in the order of the file at the same time. The sort is stable.
    node.commands.sort_by_key(|command| command.at);
    let mut builder = PathBuilder::new(start);
    for command in &node.commands {
        inside(command.line, command.target)?;
        builder.depart(command.at, command.target, command.speed);
    }
    Ok(builder.build())
}

/// Reads one line.
fn statement(text: &str, line: usize, nodes: &mut BTreeMap<u32, Node>) -> Result<(), Problem> {
    let text = text.trim().trim_end_matches(';').trim_end();
    if text.is_empty() || text.starts_with('#') || text.starts_with("$god_ ") {
        return Ok(());
    }
    let unknown = || Problem::UnknownStatement { statement: shortened(text) };
    if let Some(rest) = text.strip_prefix("$ns_ at ") {
        let (time, command) = rest.trim_start().split_once(char::is_whitespace).ok_or_else(unknown)?;
        let command = command.trim();
        let command = command.strip_prefix('"').and_then(|command| command.strip_suffix('"'));
        let command = command.ok_or_else(unknown)?.trim();
        if command.starts_with("$god_ ") {
            return Ok(());
        }
        let at = Instant::from_secs_f64(number("TIME", time, "seconds, 0 to 1e9", |time| {
            (0.0..=1e9).contains(&time)
        })?);
        let (node, words) = node_statement(command)?.ok_or_else(unknown)?;
        let words: Vec<&str> = words.split_whitespace().collect();
        match words[..] {
            ["setdest", x, y, speed] => {
                let target = Position { x: coordinate("X", x)?, y: coordinate("Y", y)? };
                let speed = number("SPEED", speed, "metres per second, 0 to the speed of light", |speed| {
                    (0.0..=SPEED_OF_LIGHT).contains(&speed)
                })?;
                nodes.entry(node).or_default().commands.push(Command { line, at, target, speed });
                Ok(())
            }
            ["set", name, _] => {
                Err(Problem::Teleport { node, coordinate: coordinate_name(name).ok_or_else(unknown)? })
            }
            _ => Err(unknown()),
        }
    } else {
        let (number, words) = node_statement(text)?.ok_or_else(unknown)?;
        let words: Vec<&str> = words.split_whitespace().collect();
        let ["set", name, value] = words[..] else { return Err(unknown()) };
        let name = coordinate_name(name).ok_or_else(unknown)?;
        let value = coordinate(name, value)?;
        let node = nodes.entry(number).or_default();
        if name != "Z_" {
            node.line = line;
        }
        let slot = match name {
            "X_" => &mut node.x,
            "Y_" => &mut node.y,
            _ => &mut node.z,
        };
        if slot.replace(value).is_some() {
            return Err(Problem::Teleport { node: number, coordinate: name });
        }
        if name == "Z_" && value != 0.0 {
            return Err(Problem::Value {
                name,
                found: shortened(text),
                expected: "0, as positions lie in the plane",
            });
        }
        Ok(())
    }
}

/// Splits `$node_(N) REST`; `None` if the text is not of this form.
fn node_statement(text: &str) -> Result<Option<(u32, &str)>, Problem> {
    let Some((node, rest)) = text.strip_prefix("$node_(").and_then(|text| text.split_once(')')) else {
        return Ok(None);
    };
    let number = node.trim().parse().map_err(|_| Problem::Value {
        name: "$node_(N)",
        found: shortened(node),
        expected: "a node number from 0",
    })?;
    Ok(Some((number, rest.trim())))
}

fn coordinate_name(name: &str) -> Option<&'static str> {
    ["X_", "Y_", "Z_"].into_iter().find(|&known| known == name)
}

fn coordinate(name: &'static str, text: &str) -> Result<f64, Problem> {
    number(name, text, "metres, between -1e9 and 1e9", |value| (-1e9..=1e9).contains(&value))
}

fn number(
    name: &'static str,
    text: &str,
    expected: &'static str,
    is_valid: impl Fn(f64) -> bool,
) -> Result<f64, Problem> {
    match text.parse() {
        Ok(value) if is_valid(value) => Ok(value),
        _ => Err(Problem::Value { name, found: shortened(text), expected }),
    }
}

/// The text, or its beginning: an error must not repeat a line of megabytes.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(80) {
        None => text.to_owned(),
        Some((end, _)) => {
            let mut text = text[..end].to_owned();
            text.push_str("...");
            text
        }
    }
}

/// The movement file of these paths. Reading it gives the same positions but for rounding of arrival times to the
/// nanosecond.
pub fn write(paths: &[Path]) -> String {
    let mut text = String::new();
    for (node, path) in paths.iter().enumerate() {
        let Position { x, y } = path.position(Instant::ZERO);
        for (name, value) in [("X_", x), ("Y_", y), ("Z_", 0.0)] {
            // Writing to a string does not fail.
            let _ = writeln!(text, "$node_({node}) set {name} {value}");
        }
    }
    let mut commands: Vec<(Instant, usize, Position, f64)> = Vec::new();
    for (node, path) in paths.iter().enumerate() {
        for pair in path.legs().windows(2) {
            if let [leg, next] = pair
                && leg.velocity != Velocity::ZERO
            {
                commands.push((leg.start, node, next.origin, leg.velocity.speed()));
            }
        }
    }
    commands.sort_by_key(|&(at, node, ..)| (at, node));
    for (at, node, target, speed) in commands {
        let (seconds, rest) =
            (at.as_nanos() / Duration::from_secs(1).as_nanos(), at.as_nanos() % 1_000_000_000);
        let Position { x, y } = target;
        let _ = writeln!(text, "$ns_ at {seconds}.{rest:09} \"$node_({node}) setdest {x} {y} {speed}\"");
    }
    text
}

#[cfg(test)]
mod tests;
