//! The offset and the skew of two clocks, from delays in both directions.
//!
//! The least delays of a path do not change, so the lower border of the measured ones shows the clocks. In
//! each direction it is the line below all points with the least sum of distances, an edge of their convex
//! hull (S. Moon, P. Skelly, D. Towsley, "Estimation and removal of clock skew from network delay
//! measurements", INFOCOM 1999). Skew has opposite signs in the two directions, a change of the path's delay
//! has not. The offset supposes equal least delays in both directions: half of their difference, if there is
//! any, is its error.

/// A line: a value at time zero and a slope.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Line {
    pub(super) at_zero: f64,
    pub(super) slope: f64,
}

/// The line below all points with the least sum of distances; `None` without points. Points are (time, delay)
/// in the order of time.
pub(super) fn lower_border(points: &[(f64, f64)]) -> Option<Line> {
    let mean = points.iter().map(|(time, _)| time).sum::<f64>() / points.len() as f64;
    let mut hull: Vec<(f64, f64)> = Vec::new();
    for &point in points {
        while let [.., a, b] = hull[..] {
            let turn = (b.0 - a.0) * (point.1 - a.1) - (b.1 - a.1) * (point.0 - a.0);
            if turn > 0.0 {
                break;
            }
            hull.pop();
        }
        // Of points at one time the lowest counts.
        if hull.last().is_some_and(|last| last.0 == point.0 && last.1 <= point.1) {
            continue;
        }
        hull.push(point);
    }
    // The sum of distances is least for the edge above which the mean time lies.
    let edge = hull.windows(2).find(|pair| pair[0].0 <= mean && mean <= pair[1].0 && pair[0].0 < pair[1].0);
    match (edge, hull.last()) {
        (Some(edge), _) => {
            let slope = (edge[1].1 - edge[0].1) / (edge[1].0 - edge[0].0);
            Some(Line { at_zero: edge[0].1 - slope * edge[0].0, slope })
        }
        (None, Some(point)) => Some(Line { at_zero: point.1, slope: 0.0 }),
        (None, None) => None,
    }
}

/// The server's clock by the client's.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct ClockFit {
    /// Seconds by which the server's clock is ahead at the client's time zero.
    pub(super) offset: f64,
    /// Seconds that it gains per second.
    pub(super) skew: f64,
}

impl ClockFit {
    /// From (client's time, measured delay in seconds) of both directions: to the server, by its clock less
    /// the client's, and to the client. `None` if one direction has no packet.
    pub(super) fn new(up: &[(f64, f64)], down: &[(f64, f64)]) -> Option<Self> {
        let (mut up, mut down) = (up.to_vec(), down.to_vec());
        let by_time = |a: &(f64, f64), b: &(f64, f64)| a.0.total_cmp(&b.0);
        up.sort_by(by_time);
        down.sort_by(by_time);
        let skew = (lower_border(&up)?.slope - lower_border(&down)?.slope) / 2.0;
        let least = |points: &[(f64, f64)], sign: f64| {
            points.iter().map(|(time, delay)| delay - sign * skew * time).fold(f64::INFINITY, f64::min)
        };
        Some(Self { offset: (least(&up, 1.0) - least(&down, -1.0)) / 2.0, skew })
    }

    /// Seconds by which the server's clock is ahead at a client's time.
    pub(super) fn ahead(&self, time: f64) -> f64 {
        self.offset + self.skew * time
    }
}

#[cfg(test)]
mod tests;
