//! The movement files of ns-2, as its `setdest` tool and BonnMotion write them.
//!
//! ```text
//! $node_(0) set X_ 450.342300038598
//! $node_(0) set Y_ 946.592138589165
//! $node_(0) set Z_ 0.000000000000
//! $ns_ at 2.000000000000 "$node_(0) setdest 772.5 423.7 15.7"
//! ```
//!
//! A node rests at its initial position until its first `setdest`, moves to the target at the given speed in
//! metres per second, and rests there. A `setdest` during a movement gives the movement up; one with speed 0
//! stops the node. Files are Tcl: statements have any order and end with a line or a semicolon, words may be
//! quoted or in braces, and numbers may be expressions (`[expr 2 * $step]`) of variables that the file sets.
//! Comments and the statements about `$god_`, which hold hop counts, are skipped. Everything else is an error
//! with its line.

mod tcl;

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write};

use whimbrel_units::{Duration, Instant};

use self::tcl::{Malformed, Script, Variables};
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
    /// A node that moves lacks an initial coordinate.
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

/// The paths of the nodes of a movement file, in the order of their numbers, which may have gaps: a file may
/// describe a part of the nodes.
///
/// # Errors
/// The first statement that is malformed, an initial position or a target outside `area` (if given), a
/// coordinate set twice or during the run, and nodes without a position.
pub fn parse(text: &str, area: Option<Area>) -> Result<Vec<(u32, Path)>, SetdestError> {
    let mut file = File::default();
    file.run(text, 1, None)?;
    let mut paths = Vec::with_capacity(file.nodes.len());
    for (&number, node) in &mut file.nodes {
        let line = node.commands.first().map_or(node.line, |command| command.line);
        let missing =
            |coordinate| SetdestError { line, problem: Problem::NoPosition { node: number, coordinate } };
        let x = node.x.ok_or_else(|| missing("X_"))?;
        let y = node.y.ok_or_else(|| missing("Y_"))?;
        paths.push((number, path(number, node, Position { x, y }, area)?));
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

/// Data read of a file.
#[derive(Default)]
struct File {
    nodes: BTreeMap<u32, Node>,
    variables: Variables,
}

/// A command that is executed during the run.
#[derive(Clone, Copy)]
struct Scheduled<'a> {
    at: Instant,
    /// The statement that schedules it.
    statement: &'a str,
}

impl File {
    /// Executes the commands of a text that begins at this line.
    fn run(&mut self, text: &str, line: usize, during: Option<Scheduled<'_>>) -> Result<(), SetdestError> {
        let mut script = Script::new(text, line);
        while let Some(command) = script.next(&self.variables) {
            let unknown = |line, text| {
                let statement = shortened(during.map_or(text, |scheduled| scheduled.statement));
                SetdestError { line, problem: Problem::UnknownStatement { statement } }
            };
            let command = command.map_err(|(line, text, Malformed)| unknown(line, text))?;
            match self.execute(&command, during)? {
                Known::Yes => {}
                Known::No => return Err(unknown(command.line, command.text)),
            }
        }
        Ok(())
    }

    fn execute(
        &mut self,
        command: &tcl::Command<'_>,
        during: Option<Scheduled<'_>>,
    ) -> Result<Known, SetdestError> {
        let tcl::Command { line, words, text } = command;
        let (line, text) = (*line, *text);
        let fault = |problem| SetdestError { line, problem };
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words[..] {
            ["set", name, value] => {
                self.variables.insert(name.to_owned(), value.to_owned());
            }
            // Hop counts, and the display of nodes.
            [god, ..] if god.starts_with("$god") => {}
            [simulator, "initial_node_pos", _, _] if simulator.starts_with('$') => {}
            [simulator, "at", time, script] if simulator.starts_with('$') && during.is_none() => {
                let is_valid = |time| (0.0..=1e9).contains(&time);
                let seconds = number("TIME", time, "seconds, 0 to 1e9", is_valid).map_err(fault)?;
                let scheduled = Scheduled { at: Instant::from_secs_f64(seconds), statement: text };
                self.run(script, line, Some(scheduled))?;
            }
            [object, ref words @ ..] => {
                let Some(node) = node_number(object).map_err(fault)? else { return Ok(Known::No) };
                return self.node(node, words, line, text, during).map_err(fault);
            }
            [] => return Ok(Known::No),
        }
        Ok(Known::Yes)
    }

    /// Executes a command of a node.
    fn node(
        &mut self,
        node: u32,
        words: &[&str],
        line: usize,
        text: &str,
        during: Option<Scheduled<'_>>,
    ) -> Result<Known, Problem> {
        match *words {
            ["setdest", x, y, speed] => {
                let target = Position { x: coordinate("X", x)?, y: coordinate("Y", y)? };
                let speed = number("SPEED", speed, "metres per second, 0 to the speed of light", |speed| {
                    (0.0..=SPEED_OF_LIGHT).contains(&speed)
                })?;
                let at = during.map_or(Instant::ZERO, |scheduled| scheduled.at);
                self.nodes.entry(node).or_default().commands.push(Command { line, at, target, speed });
            }
            ["set", name, value] => {
                let Some(name) = coordinate_name(name) else { return Ok(Known::No) };
                if during.is_some() {
                    return Err(Problem::Teleport { node, coordinate: name });
                }
                let value = coordinate(name, value)?;
                let state = self.nodes.entry(node).or_default();
                if name != "Z_" {
                    state.line = line;
                }
                let slot = match name {
                    "X_" => &mut state.x,
                    "Y_" => &mut state.y,
                    _ => &mut state.z,
                };
                if slot.replace(value).is_some() {
                    return Err(Problem::Teleport { node, coordinate: name });
                }
                if name == "Z_" && value != 0.0 {
                    let expected = "0, as positions lie in the plane";
                    return Err(Problem::Value { name, found: shortened(text), expected });
                }
            }
            ["random-motion", "0"] => {}
            _ => return Ok(Known::No),
        }
        Ok(Known::Yes)
    }
}

/// Presence of a command in movement files.
enum Known {
    Yes,
    No,
}

/// The number of a node `$node_(N)`; `None` for another object.
fn node_number(object: &str) -> Result<Option<u32>, Problem> {
    let index = object
        .strip_prefix('$')
        .and_then(|name| name.strip_suffix(')'))
        .and_then(|name| name.split_once('('));
    let Some((_, index)) = index else { return Ok(None) };
    let invalid =
        |_| Problem::Value { name: "$node_(N)", found: shortened(index), expected: "a node number from 0" };
    index.parse().map(Some).map_err(invalid)
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

/// The movement file of these paths, of the nodes 0, 1, 2, ... Reading it gives the same positions but for
/// rounding of arrival times to the nanosecond.
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
