//! Scenario keys of positions and movements.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use super::quantity::{Length, Speed, Time};

/// The movement of a node, or of the copies of a node.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(tag = "kind")]
pub enum Mobility {
    /// In straight lines between positions at given times; at rest before the first and after the last.
    Waypoints {
        /// The positions, in the order of time.
        points: Vec<Waypoint>,
    },
    /// Rests and straight lines to random points at random speeds.
    RandomWaypoint {
        /// Width and height of the area in metres, from the origin; the map of the medium by default.
        #[serde(default)]
        area: Option<[f64; 2]>,
        /// The lowest and the highest speed.
        speed: [Speed; 2],
        /// The shortest and the longest pause; none by default.
        #[serde(default)]
        pause: [Time; 2],
        /// The state at the beginning.
        #[serde(default)]
        start: Start,
    },
    /// The movements of a file in the format of ns-2's `setdest`: a node and its copies move as the file's
    /// nodes from `first` on.
    Setdest {
        /// The file, relative to the scenario's.
        file: PathBuf,
        /// The file's node that the first copy moves as; 0 by default.
        #[serde(default)]
        first: u32,
    },
    /// The movements of vehicles and persons in floating car data of SUMO (`sumo --fcd-output`). A node is
    /// off while its vehicle is not on the road.
    Sumo {
        /// The file, relative to the scenario's.
        file: PathBuf,
        /// The vehicle's identifier, with `{i}` for the number of the copy; by default, the copies move as
        /// the first vehicles of the file.
        #[serde(default)]
        id: Option<String>,
    },
    /// The movements of the nodes of a table with the columns time, node, x, y and, without an effect, z, in
    /// seconds and metres. A node is off before its first position and after its last one.
    Csv {
        /// The file, relative to the scenario's.
        file: PathBuf,
        /// The name in the column `node`, with `{i}` for the number of the copy; by default, the copies move
        /// like the first nodes of the file.
        #[serde(default)]
        id: Option<String>,
        /// The node is off where more than this time passes between two positions; by default it is on.
        #[serde(default)]
        gap: Option<Time>,
    },
}

/// A position at a time.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Waypoint {
    /// The time.
    pub at: Time,
    /// The position in metres.
    pub position: [f64; 2],
}

/// The state of random waypoints at the beginning.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
pub enum Start {
    /// Drawn from the stationary distribution, so that all times of a run are alike.
    #[default]
    #[serde(rename = "stationary")]
    Stationary,
    /// At rest at a uniform position, as ns-2's `setdest` has it.
    #[serde(rename = "ns-2")]
    Ns2,
}

/// Positions of the copies of a node.
#[derive(Clone, PartialEq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
#[schemars(tag = "kind")]
pub enum Layout {
    /// Rows of equal distances, the first copy at the node's `position` (the origin by default), row by row.
    Grid {
        /// Copies in a row; by default all of them.
        #[serde(default)]
        columns: Option<u32>,
        /// The distance between neighbours.
        spacing: Length,
    },
    /// Evenly on a circle around the node's `position`, the first copy on its right.
    Circle {
        /// The radius.
        radius: Length,
    },
    /// Uniform in an area, drawn for each run.
    Random {
        /// Width and height of the area in metres, from the origin; the map of the medium by default.
        #[serde(default)]
        area: Option<[f64; 2]>,
    },
}
