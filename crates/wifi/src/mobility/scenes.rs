//! The mobile scenarios of the papers, as data and generators.

use alloc::vec::Vec;

use whimbrel_units::{Duration, Instant};

use super::{Area, InvalidRandomWaypoint, Path, Position, Presence, RandomWaypoint, Start};
use crate::Random;

/// The public building of paper `winf` (Figure 13, Table 1): mesh nodes at random places, mobile nodes on random
/// waypoints, one mesh node switched off for a while, flows that begin at random times.
///
/// The paper states the area, the numbers of nodes, the highest speed, the durations and the path loss. It does not state
/// the lowest speed (10 m/s is that of its other `setdest` files, section 5), pauses, the extent of the inside area in
/// which the mesh nodes lie, and when the outage begins.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PublicBuilding {
    /// The whole area, in which mobile nodes move.
    pub area: Area,
    /// The inside area, in which mesh nodes lie.
    pub inside: Area,
    /// Number of mesh nodes.
    pub mesh_nodes: usize,
    /// Number of mobile nodes: 10, 20 or 30 in the paper.
    pub mobile_nodes: usize,
    /// Lowest and highest speed in metres per second; a highest speed of 0 is "no mobility".
    pub speed: (f64, f64),
    /// Shortest and longest pause.
    pub pause: (Duration, Duration),
    /// State of the mobile nodes at the beginning.
    pub start: Start,
    /// Duration of the simulation.
    pub duration: Duration,
    /// Duration of the outage of one mesh node; zero for none.
    pub outage: Duration,
    /// Number of flows.
    pub flows: usize,
    /// Duration of each flow.
    pub flow_duration: Duration,
}

/// A realisation of [`PublicBuilding`].
#[derive(Clone, PartialEq, Debug)]
pub struct BuildingScene {
    /// Paths of the nodes: first the mesh nodes, then the mobile nodes.
    pub paths: Vec<Path>,
    /// The times at which each of them is on.
    pub presence: Vec<Presence>,
    /// The flows.
    pub flows: Vec<SceneFlow>,
}

/// A flow between two nodes of a scene.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SceneFlow {
    /// Number of the sending node.
    pub source: usize,
    /// Number of the receiving node.
    pub destination: usize,
    /// Beginning of the flow.
    pub start: Instant,
    /// End of the flow.
    pub end: Instant,
}

impl PublicBuilding {
    /// The parameters of the paper with this number of mobile nodes: 400 m x 400 m, 6 mesh nodes, 600 s, an outage of
    /// 100 s, 4 flows of 240 s.
    pub const fn winf(mobile_nodes: usize) -> Self {
        Self {
            area: Area::new(400.0, 400.0),
            inside: Area::new(400.0, 400.0),
            mesh_nodes: 6,
            mobile_nodes,
            speed: (10.0, 30.0),
            pause: (Duration::ZERO, Duration::ZERO),
            start: Start::Stationary,
            duration: Duration::from_secs(600),
            outage: Duration::from_secs(100),
            flows: 4,
            flow_duration: Duration::from_secs(240),
        }
    }

    /// Draws a realisation. Flows run between different mobile nodes and lie within the simulation.
    ///
    /// # Errors
    /// If the speeds, the pauses or the area describe no movement.
    pub fn draw(&self, random: &mut (impl Random + ?Sized)) -> Result<BuildingScene, InvalidRandomWaypoint> {
        let invalid = |parameter, expected| Err(InvalidRandomWaypoint { parameter, expected });
        if !self.area.is_valid() || !self.inside.is_valid() {
            return invalid("area", "a rectangle of finite, positive extent");
        }
        if self.flows > 0 && self.mobile_nodes < 2 {
            return invalid("mobile_nodes", "at least 2 where there are flows");
        }
        let horizon = Instant::ZERO + self.duration;
        let mut paths = Vec::with_capacity(self.mesh_nodes + self.mobile_nodes);
        for _ in 0..self.mesh_nodes {
            paths.push(Path::fixed(uniform_in(self.inside, random)));
        }
        let movement =
            RandomWaypoint { area: self.area, speed: self.speed, pause: self.pause, start: self.start };
        for _ in 0..self.mobile_nodes {
            paths.push(if self.speed.1 == 0.0 {
                Path::fixed(uniform_in(self.area, random))
            } else {
                movement.path(horizon, random)?
            });
        }
        let mut presence = alloc::vec![Presence::ALWAYS; paths.len()];
        if !self.outage.is_zero() && self.mesh_nodes > 0 {
            let node = random.below(self.mesh_nodes as u64) as usize;
            let (from, until) = interval(self.outage, self.duration, random);
            if let Ok(outage) = Presence::except(&[(from, until)]) {
                presence[node] = outage;
            }
        }
        let mut flows = Vec::with_capacity(self.flows);
        for _ in 0..self.flows {
            let source = random.below(self.mobile_nodes as u64) as usize;
            // Any node but the source: the last takes the place of the source.
            let mut destination = random.below(self.mobile_nodes as u64 - 1) as usize;
            if destination >= source {
                destination += 1;
            }
            let (start, end) = interval(self.flow_duration, self.duration, random);
            flows.push(SceneFlow {
                source: self.mesh_nodes + source,
                destination: self.mesh_nodes + destination,
                start,
                end,
            });
        }
        Ok(BuildingScene { paths, presence, flows })
    }
}

fn uniform_in(area: Area, random: &mut (impl Random + ?Sized)) -> Position {
    Position {
        x: random.uniform_between(area.low.x, area.high.x),
        y: random.uniform_between(area.low.y, area.high.y),
    }
}

/// A random interval of this length within [0, `whole`]; all of it if the length is greater.
fn interval(length: Duration, whole: Duration, random: &mut (impl Random + ?Sized)) -> (Instant, Instant) {
    let from = Instant::ZERO + random.duration_below(whole - length);
    (from, (from + length).min(Instant::ZERO + whole))
}

/// The adjacent wireless networks of paper `freeze` (section 3.2, Figure 2): three access routers in a row with adjacent,
/// not overlapping cells, and a mobile node that moves back and forth past them.
pub mod adjacent_networks {
    use super::*;

    /// The landscape in metres.
    pub const AREA: Area = Area::new(800.0, 1600.0);
    /// Positions of the access routers; the first is the home agent.
    pub const ACCESS_ROUTERS: [Position; 3] =
        [Position::new(400.0, 1.0), Position::new(400.0, 800.0), Position::new(400.0, 1600.0)];
    /// Radius of the cells in metres.
    pub const CELL_RADIUS: f64 = 400.0;
    /// The x coordinate of the mobile node.
    pub const TRACK: f64 = 425.0;

    /// The path of the mobile node: from the first access router to the last and back at constant speed in metres per
    /// second, until `horizon` at least. The paper does not state the speed.
    ///
    /// # Errors
    /// If the speed is not positive and finite.
    pub fn path(speed: f64, horizon: Instant) -> Result<Path, InvalidRandomWaypoint> {
        let [first, _, last] = ACCESS_ROUTERS;
        let time = Duration::from_secs_f64((last.y - first.y) / speed);
        if !(speed > 0.0 && speed.is_finite()) || time.is_zero() {
            return Err(InvalidRandomWaypoint {
                parameter: "speed",
                expected: "a positive number of metres per second",
            });
        }
        let mut builder = super::super::PathBuilder::new(Position::new(TRACK, first.y));
        let mut now = Instant::ZERO;
        let mut target = last;
        while now < horizon {
            now = builder.depart(now, Position::new(TRACK, target.y), speed);
            target = if target == last { first } else { last };
        }
        Ok(builder.build())
    }
}

#[cfg(test)]
mod tests;
