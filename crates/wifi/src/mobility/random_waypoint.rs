//! The random waypoint model.
//!
//! A node rests for a random time, then moves in a straight line and at a random speed to a random point, and
//! so on. Its state at the start decides what a simulation measures: started as ns-2's `setdest` (version 1)
//! does, at rest at a uniform position, the mean speed falls and the nodes gather in the middle for hundreds
//! of seconds (J. Yoon, M. Liu, B. Noble, "Random waypoint considered harmful", INFOCOM 2003).

use core::fmt;

use whimbrel_units::{Duration, Instant};

use super::{Area, Path, PathBuilder, Position};
use crate::Random;

/// The state of a random waypoint node at [`Instant::ZERO`].
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Start {
    /// Drawn from the stationary distribution of position, speed, target and remaining pause, so that all
    /// times of a run have the same distribution.
    ///
    /// W. Navidi, T. Camp, "Stationary distributions for the random waypoint mobility model", IEEE Trans.
    /// Mobile Computing 3(1), 2004; J.-Y. Le Boudec, M. Vojnovic, "The random trip model: stability,
    /// stationary regime, and perfect simulation", IEEE/ACM Trans. Networking 14(6), 2006.
    #[default]
    Stationary,
    /// At a uniform position, at the beginning of a pause: version 1 of ns-2's `setdest`.
    Ns2,
}

/// Parameters of the random waypoint model.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RandomWaypoint {
    /// The area, in which waypoints are uniform.
    pub area: Area,
    /// The lowest and the highest speed in metres per second. The speed of a leg is uniform between them.
    pub speed: (f64, f64),
    /// The shortest and the longest pause. A pause is uniform between them.
    pub pause: (Duration, Duration),
    /// The state at the beginning.
    pub start: Start,
}

/// A parameter of [`RandomWaypoint`] that describes no movement.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct InvalidRandomWaypoint {
    /// Name of the parameter.
    pub parameter: &'static str,
    /// Description of the valid values.
    pub expected: &'static str,
}

impl fmt::Display for InvalidRandomWaypoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "random waypoint: {}: expected {}", self.parameter, self.expected)
    }
}

impl core::error::Error for InvalidRandomWaypoint {}

/// The longest time of a leg or pause that is generated: beyond every horizon.
const LONGEST: Duration = Duration::from_secs(1 << 32);

impl RandomWaypoint {
    /// An error for the first parameter that describes no movement.
    pub fn check(&self) -> Result<(), InvalidRandomWaypoint> {
        let invalid = |parameter, expected| Err(InvalidRandomWaypoint { parameter, expected });
        let (slowest, fastest) = self.speed;
        if !self.area.is_valid() || self.area.diagonal() == 0.0 {
            return invalid("area", "a rectangle or segment of finite, positive extent");
        }
        if !(slowest >= 0.0 && fastest > 0.0 && slowest <= fastest && fastest.is_finite()) {
            return invalid("speed", "0 <= lowest <= highest and highest above 0");
        }
        if self.start == Start::Stationary && slowest == 0.0 {
            // The mean time of a leg is infinite: the process has no stationary distribution.
            return invalid("speed", "a lowest speed above 0 for a stationary start");
        }
        if self.pause.0 > self.pause.1 || self.pause.1 > LONGEST {
            return invalid("pause", "shortest <= longest <= 2^32 s");
        }
        Ok(())
    }

    /// The mean time of a leg in seconds: mean length times mean inverse speed. Infinite for a lowest speed
    /// of 0.
    pub fn mean_leg_time(&self) -> f64 {
        let (slowest, fastest) = self.speed;
        let inverse = if slowest == fastest {
            1.0 / fastest
        } else {
            libm::log(fastest / slowest) / (fastest - slowest)
        };
        self.area.mean_distance() * inverse
    }

    /// The probability that a node is at rest at a time of the stationary process.
    pub fn pause_probability(&self) -> f64 {
        let pause = (self.pause.0.as_secs_f64() + self.pause.1.as_secs_f64()) / 2.0;
        if pause == 0.0 { 0.0 } else { pause / (pause + self.mean_leg_time()) }
    }

    /// The mean speed of the stationary process in metres per second, pauses included.
    pub fn mean_speed(&self) -> f64 {
        (1.0 - self.pause_probability()) * self.area.mean_distance() / self.mean_leg_time()
    }

    /// A path that moves until `horizon` at least, then to the end of its leg.
    ///
    /// # Errors
    /// If a parameter describes no movement.
    pub fn path(
        &self,
        horizon: Instant,
        random: &mut (impl Random + ?Sized),
    ) -> Result<Path, InvalidRandomWaypoint> {
        self.check()?;
        let (mut builder, mut departure) = match self.start {
            Start::Stationary => self.stationary_start(random),
            Start::Ns2 => (PathBuilder::new(self.point(random)), Instant::ZERO + self.pause(random)),
        };
        while departure < horizon {
            let target = self.point(random);
            let (slowest, fastest) = self.speed;
            // From the open end, so that a lowest speed of 0 is never drawn.
            let speed = fastest - (fastest - slowest) * random.uniform();
            let arrival = builder.depart(departure, target, speed);
            // The time of a leg of length 0 must not stop the clock where pauses are 0 as well.
            departure = arrival.max(departure + Duration::from_nanos(1)) + self.pause(random);
        }
        Ok(builder.build())
    }

    /// The state at the beginning, and the time of the next departure.
    fn stationary_start(&self, random: &mut (impl Random + ?Sized)) -> (PathBuilder, Instant) {
        if random.uniform() < self.pause_probability() {
            let remaining = self.residual_pause(random);
            return (PathBuilder::new(self.point(random)), Instant::ZERO + remaining);
        }
        // A time in a leg sees the leg with a probability proportional to its duration: to its length, and to
        // its inverse speed.
        let diagonal = self.area.diagonal();
        let (from, to) = loop {
            let (from, to) = (self.point(random), self.point(random));
            if random.uniform() * diagonal < from.distance(to) {
                break (from, to);
            }
        };
        let (slowest, fastest) = self.speed;
        let speed = slowest * libm::pow(fastest / slowest, random.uniform());
        let mut builder = PathBuilder::new(from.toward(to, random.uniform()));
        let arrival = builder.depart(Instant::ZERO, to, speed);
        (builder, arrival + self.pause(random))
    }

    /// The rest of the pause that a random time falls into: a uniform part of a pause drawn with a
    /// probability proportional to its length.
    fn residual_pause(&self, random: &mut (impl Random + ?Sized)) -> Duration {
        let (shortest, longest) = (self.pause.0.as_secs_f64(), self.pause.1.as_secs_f64());
        // The distribution function of the length-biased pause, (t^2 - a^2) / (b^2 - a^2), inverted.
        let (low, high) = (shortest * shortest, longest * longest);
        let length = libm::sqrt(low + (high - low) * random.uniform());
        Duration::from_secs_f64(length * random.uniform())
    }

    fn pause(&self, random: &mut (impl Random + ?Sized)) -> Duration {
        let (shortest, longest) = self.pause;
        shortest + (longest - shortest).mul_f64(random.uniform())
    }

    fn point(&self, random: &mut (impl Random + ?Sized)) -> Position {
        let Area { low, high } = self.area;
        Position { x: random.uniform_between(low.x, high.x), y: random.uniform_between(low.y, high.y) }
    }
}

#[cfg(test)]
mod tests;
