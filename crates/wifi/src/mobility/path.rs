//! Piecewise linear paths.

use core::fmt;

use alloc::vec::Vec;
use smallvec::{SmallVec, smallvec};
use whimbrel_units::{Duration, Instant};

use super::{Area, Position, Velocity};
use crate::propagation::SPEED_OF_LIGHT;

/// A part of a path with constant velocity, until the next part begins.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Leg {
    /// Beginning of the leg.
    pub start: Instant,
    /// Position at the beginning.
    pub origin: Position,
    /// Velocity during the leg.
    pub velocity: Velocity,
}

impl Leg {
    /// The position at `now`, which is not before the start; the leg is continued beyond its end.
    #[inline]
    pub fn position(&self, now: Instant) -> Position {
        self.origin.moved(self.velocity, (now - self.start).as_secs_f64())
    }
}

/// The position of a node as a function of time: continuous and piecewise linear, at rest before the first
/// and after the last movement.
#[derive(Clone, PartialEq, Debug)]
pub struct Path {
    /// In the order of time; the first begins at [`Instant::ZERO`], the last has velocity 0. Never empty.
    legs: SmallVec<[Leg; 1]>,
    max_speed: f64,
}

/// Reason for refusing a path.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum InvalidPath {
    /// A coordinate is infinite or not a number.
    NotFinite {
        /// Number of the waypoint, from 0.
        waypoint: usize,
    },
    /// A waypoint is not later than the one before it, but elsewhere: the node would teleport.
    NotLater {
        /// Number of the waypoint, from 0.
        waypoint: usize,
    },
    /// A waypoint is so far from the one before it that no node gets there in time.
    TooFast {
        /// Number of the waypoint, from 0.
        waypoint: usize,
    },
    /// There is no waypoint.
    Empty,
}

impl fmt::Display for InvalidPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFinite { waypoint } => write!(f, "waypoint {waypoint}: expected finite coordinates"),
            Self::NotLater { waypoint } => {
                write!(f, "waypoint {waypoint}: expected a later time than that of the waypoint before")
            }
            Self::TooFast { waypoint } => {
                write!(f, "waypoint {waypoint}: expected a place within reach at the speed of light")
            }
            Self::Empty => f.write_str("expected at least one waypoint"),
        }
    }
}

impl core::error::Error for InvalidPath {}

impl Path {
    /// At rest at a position.
    pub fn fixed(position: Position) -> Self {
        let leg = Leg { start: Instant::ZERO, origin: position, velocity: Velocity::ZERO };
        Self { legs: smallvec![leg], max_speed: 0.0 }
    }

    /// Along waypoints with times, in straight lines at constant speed between them; at rest before the first
    /// and after the last.
    ///
    /// # Errors
    /// If there are no waypoints, if one is not finite, or not later than the one before, or too far from it.
    pub fn through(waypoints: &[(Instant, Position)]) -> Result<Self, InvalidPath> {
        let &[(mut time, mut position), ref rest @ ..] = waypoints else { return Err(InvalidPath::Empty) };
        if !position.is_finite() {
            return Err(InvalidPath::NotFinite { waypoint: 0 });
        }
        let mut builder = PathBuilder::new(position);
        for (number, &(next_time, next)) in rest.iter().enumerate() {
            let waypoint = number + 1;
            if !next.is_finite() {
                return Err(InvalidPath::NotFinite { waypoint });
            }
            if next_time <= time {
                return Err(InvalidPath::NotLater { waypoint });
            }
            let distance = position.distance(next);
            let speed = distance / (next_time - time).as_secs_f64();
            // Larger ones end at coordinates that are not numbers.
            if speed > SPEED_OF_LIGHT {
                return Err(InvalidPath::TooFast { waypoint });
            }
            builder.depart(time, next, speed);
            if distance > 0.0 {
                // The division rounds: the leg ends where and when the waypoint says.
                builder.arrive_at(next_time, next);
            }
            (time, position) = (next_time, next);
        }
        Ok(builder.build())
    }

    /// The leg at `now` and its number.
    fn leg_at(&self, now: Instant) -> (usize, &Leg) {
        // The first leg begins at zero, so the partition point is at least 1.
        let number = self.legs.partition_point(|leg| leg.start <= now).max(1) - 1;
        (number, &self.legs[number])
    }

    /// The position at `now`.
    pub fn position(&self, now: Instant) -> Position {
        if let [only] = self.legs[..] {
            return only.origin;
        }
        self.leg_at(now).1.position(now)
    }

    /// The velocity at `now`.
    pub fn velocity(&self, now: Instant) -> Velocity {
        self.leg_at(now).1.velocity
    }

    /// The greatest speed that the path was given, in metres per second: no leg is faster.
    pub fn max_speed(&self) -> f64 {
        self.max_speed
    }

    /// The legs in the order of time. The first begins at [`Instant::ZERO`], the last lasts for ever at
    /// velocity 0.
    pub fn legs(&self) -> &[Leg] {
        &self.legs
    }

    /// The leg at `now` and the time of its end ([`Instant::FAR_FUTURE`] for the last).
    pub fn current(&self, now: Instant) -> (Leg, Instant) {
        let (number, leg) = self.leg_at(now);
        (*leg, self.legs.get(number + 1).map_or(Instant::FAR_FUTURE, |next| next.start))
    }

    /// The end of the last movement.
    pub fn end(&self) -> Instant {
        self.legs.last().map_or(Instant::ZERO, |leg| leg.start)
    }

    /// The first time at which the path is outside the area, and the position there (the end or the beginning
    /// of a leg); `None` if it never is.
    pub fn leaves(&self, area: Area) -> Option<(Instant, Position)> {
        // Legs are straight and the area is convex: it is left if and only if an end of a leg is outside.
        self.legs.iter().map(|leg| (leg.start, leg.origin)).find(|&(_, origin)| !area.contains(origin))
    }
}

/// Builds a path movement by movement, as movement files and generators state it.
#[derive(Clone, Debug)]
pub struct PathBuilder {
    legs: Vec<Leg>,
    max_speed: f64,
}

impl PathBuilder {
    /// A node at rest at a position since [`Instant::ZERO`].
    pub fn new(position: Position) -> Self {
        let leg = Leg { start: Instant::ZERO, origin: position, velocity: Velocity::ZERO };
        Self { legs: alloc::vec![leg], max_speed: 0.0 }
    }

    /// The position at `now`, as far as the path is built.
    pub fn position(&self, now: Instant) -> Position {
        let number = self.legs.partition_point(|leg| leg.start <= now).max(1) - 1;
        self.legs[number].position(now)
    }

    /// The end of the last movement.
    pub fn end(&self) -> Instant {
        self.legs.last().map_or(Instant::ZERO, |leg| leg.start)
    }

    /// At `now` the node leaves its position for `target` at a speed in metres per second, and rests there. A
    /// movement in progress is given up. A speed of 0 stops the node. Returns the time of arrival.
    pub fn depart(&mut self, now: Instant, target: Position, speed: f64) -> Instant {
        let origin = self.position(now);
        while let Some(last) = self.legs.last()
            && last.start >= now
            && self.legs.len() > 1
        {
            self.legs.pop();
        }
        if self.legs.len() == 1 && now == Instant::ZERO {
            self.legs.clear();
        }
        let distance = origin.distance(target);
        if distance == 0.0 || speed.is_nan() || speed <= 0.0 {
            self.legs.push(Leg { start: now, origin, velocity: Velocity::ZERO });
            return now;
        }
        let velocity = Velocity {
            x: (target.x - origin.x) / distance * speed,
            y: (target.y - origin.y) / distance * speed,
        };
        let arrival = now + Duration::from_secs_f64(distance / speed).max(Duration::from_nanos(1));
        self.legs.push(Leg { start: now, origin, velocity });
        self.max_speed = self.max_speed.max(speed);
        self.legs.push(Leg { start: arrival, origin: target, velocity: Velocity::ZERO });
        arrival
    }

    /// Sets the end of the movement that was begun last to this time and place.
    fn arrive_at(&mut self, time: Instant, target: Position) {
        if let Some(last) = self.legs.last_mut() {
            *last = Leg { start: time, origin: target, velocity: Velocity::ZERO };
        }
    }

    /// The path.
    pub fn build(self) -> Path {
        Path { legs: self.legs.into(), max_speed: self.max_speed }
    }
}

#[cfg(test)]
mod tests;
