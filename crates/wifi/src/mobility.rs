//! Positions of nodes as functions of time.
//!
//! A [`Path`] is piecewise linear. It costs no events: a driver evaluates it where it needs a position.
//!
//! - [`Path`]: at rest, or along waypoints.
//! - [`RandomWaypoint`]: the random waypoint model, in its stationary distribution from the start or as ns-2
//!   starts it.
//! - [`grid`]: regular grids.
//! - [`setdest`]: reading and writing the movement files of ns-2.
//! - [`Presence`]: nodes that are off for intervals.

mod geometry;
mod path;
mod presence;
mod random_waypoint;
pub mod setdest;

use alloc::vec::Vec;

pub use geometry::{Area, Position, Velocity};
pub use path::{InvalidPath, Leg, Path, PathBuilder};
pub use presence::{InvalidInterval, Presence};
pub use random_waypoint::{InvalidRandomWaypoint, RandomWaypoint, Start};

use whimbrel_units::Instant;

use crate::StationIndex;
use crate::propagation::Positions;

impl Positions for [Path] {
    fn current(&self, node: StationIndex, now: Instant) -> (Leg, Instant) {
        self[node.index()].current(now)
    }

    fn max_speed(&self, node: StationIndex) -> f64 {
        self[node.index()].max_speed()
    }
}

impl Positions for Vec<Path> {
    fn current(&self, node: StationIndex, now: Instant) -> (Leg, Instant) {
        self[node.index()].current(now)
    }

    fn max_speed(&self, node: StationIndex) -> f64 {
        self[node.index()].max_speed()
    }
}

/// The positions of a grid of `columns` x `rows` nodes, row by row, with this spacing in metres.
pub fn grid(columns: usize, rows: usize, spacing: f64, origin: Position) -> impl Iterator<Item = Position> {
    (0..rows).flat_map(move |row| {
        (0..columns).map(move |column| Position {
            x: origin.x + column as f64 * spacing,
            y: origin.y + row as f64 * spacing,
        })
    })
}
