//! Points, velocities and areas of the plane.

use core::fmt;

/// A point of the plane, in metres.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Position {
    /// Metres to the east.
    pub x: f64,
    /// Metres to the north.
    pub y: f64,
}

impl Position {
    /// The point (`x`, `y`).
    pub const fn new(x: f64, y: f64) -> Self {
        Self { x, y }
    }

    /// The distance to another point in metres.
    pub fn distance(self, other: Self) -> f64 {
        libm::sqrt(self.distance_squared(other))
    }

    /// The square of the distance to another point in square metres. Comparisons with a range need no root.
    pub fn distance_squared(self, other: Self) -> f64 {
        let (dx, dy) = (self.x - other.x, self.y - other.y);
        dx * dx + dy * dy
    }

    /// The point reached after `seconds` at a velocity.
    pub fn moved(self, velocity: Velocity, seconds: f64) -> Self {
        Self { x: self.x + velocity.x * seconds, y: self.y + velocity.y * seconds }
    }

    /// The point at `fraction` of the distance to another point: 0 is this point, 1 the other.
    pub fn toward(self, other: Self, fraction: f64) -> Self {
        Self { x: self.x + (other.x - self.x) * fraction, y: self.y + (other.y - self.y) * fraction }
    }

    /// `true` if both coordinates are finite.
    pub const fn is_finite(self) -> bool {
        self.x.is_finite() && self.y.is_finite()
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({}, {})", self.x, self.y)
    }
}

/// A velocity in metres per second.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Velocity {
    /// Metres per second to the east.
    pub x: f64,
    /// Metres per second to the north.
    pub y: f64,
}

impl Velocity {
    /// At rest.
    pub const ZERO: Self = Self { x: 0.0, y: 0.0 };

    /// The magnitude in metres per second.
    pub fn speed(self) -> f64 {
        libm::sqrt(self.x * self.x + self.y * self.y)
    }
}

/// A rectangle with sides parallel to the axes; its border belongs to it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Area {
    /// The corner with the smallest coordinates.
    pub low: Position,
    /// The corner with the largest coordinates.
    pub high: Position,
}

impl Area {
    /// The rectangle with a corner at the origin.
    pub const fn new(width: f64, height: f64) -> Self {
        Self { low: Position::new(0.0, 0.0), high: Position::new(width, height) }
    }

    /// Extent along x in metres.
    pub fn width(self) -> f64 {
        self.high.x - self.low.x
    }

    /// Extent along y in metres.
    pub fn height(self) -> f64 {
        self.high.y - self.low.y
    }

    /// Length of the diagonal in metres: the largest distance between two points of the area.
    pub fn diagonal(self) -> f64 {
        self.low.distance(self.high)
    }

    /// `true` if the point lies in the area.
    pub fn contains(self, point: Position) -> bool {
        (self.low.x..=self.high.x).contains(&point.x) && (self.low.y..=self.high.y).contains(&point.y)
    }

    /// `true` if the corners are finite and in order.
    pub fn is_valid(self) -> bool {
        self.low.is_finite() && self.high.is_finite() && self.width() >= 0.0 && self.height() >= 0.0
    }

    /// The mean distance of two independent points that are uniform in the area.
    ///
    /// Closed form for a rectangle (B. Ghosh, "Random distances within a rectangle and between two
    /// rectangles", Bull. Calcutta Math. Soc. 43, 1951); a third of the length for a segment.
    pub fn mean_distance(self) -> f64 {
        let (a, b) = (self.width(), self.height());
        if a == 0.0 || b == 0.0 {
            return (a + b) / 3.0;
        }
        let d = self.diagonal();
        let (a2, b2) = (a * a, b * b);
        let polynomial = a * a2 / b2 + b * b2 / a2 + d * (3.0 - a2 / b2 - b2 / a2);
        let logarithms = b2 / a * libm::log((a + d) / b) + a2 / b * libm::log((b + d) / a);
        polynomial / 15.0 + logarithms / 6.0
    }
}

impl fmt::Display for Area {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.low, self.high)
    }
}
