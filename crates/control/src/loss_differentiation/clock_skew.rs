//! Correction of the skew between the sender's and the receiver's clock.
//!
//! Trip times are differences of two clocks. A constant offset has no effect, but skew does: 50 parts per
//! million are 3 ms a minute, which algorithms that use the minimum and maximum trip time mistake for a queue
//! that fills or empties.
//!
//! [`ClockSkew`] estimates the skew by the method of Moon, Skelly and Towsley ("Estimation and removal of
//! clock skew from network delay measurements", 1999): queues only add to a trip time, so that the closest
//! line below all trip times shows the skew. Here the line is fitted below the minimum trip times of the last
//! windows of 10 s. The estimate is accepted only if most of the minima lie on the line, as they do where the
//! queue is empty now and then; a queue that fills steadily for minutes cannot be distinguished from clock
//! skew.
//!
//! Without an empty queue on the data path, this yields no estimate. The return path carries mostly
//! acknowledgements; where the sender echoes timestamps, its trip times are available as well
//! ([`on_return_trip`](ClockSkew::on_return_trip)), and the line below them, over shorter windows, takes
//! precedence. It yields no estimate where data keeps both directions busy, or where the return trip time
//! varies by more than a tenth of the clock drift.

use alloc::collections::VecDeque;

use smallvec::SmallVec;
use whimbrel_units::{Duration, Instant};

use super::common_size::{CommonSize, TripTime};
use super::{PacketArrival, Rott};

/// Window length for the data path, and for the return path, which is sampled about every four round-trip
/// times.
const WINDOW: Duration = Duration::from_secs(10);
const WINDOW_BACK: Duration = Duration::from_secs(2);
/// Maximum number of windows kept, and minimum number required for an estimate.
const MOST: usize = 12;
const LEAST: usize = 10;
/// Greatest skew accepted: a crystal oscillator's, with a margin.
const GREATEST_SKEW: f64 = 500e-6;
/// Greatest distance from the line of three windows in four, as a fraction of the rise of the line. The queue
/// of a busy link is never empty, and its minimum trip times scatter by some packet times; with a fraction of
/// a quarter, half of them fit some line every few minutes.
const TOLERANCE: f64 = 0.1;
/// Upper bound of that distance in seconds, for lines with a large rise.
const GREATEST_TOLERANCE: f64 = 1e-3;

/// Distance from the line always accepted on the return path: a few units of the timestamps on the wire.
const GRAIN_BACK: f64 = 50e-6;

/// Seconds since the first arrival, and trip time in seconds relative to the first arrival's.
type Point = (f64, f64);

/// Estimates the clock skew and removes it from send times.
#[derive(Clone, Debug, Default)]
pub struct ClockSkew {
    /// The first arrival and its trip time.
    origin: Option<(Instant, Rott)>,
    /// Small packets are faster than others, which is no skew.
    sizes: CommonSize,
    data: Floor,
    /// The first return trip time.
    first_back: Option<i64>,
    back: Floor,
    /// `true` if the skew in force was estimated on the return path.
    is_from_back: bool,
    skew: f64,
    /// `true` once a skew has been estimated.
    is_known: bool,
    /// Time of the last update, and the drift accumulated in trip times by then, in seconds.
    gained: Point,
}

/// Minimum trip times of the last windows.
#[derive(Clone, Debug, Default)]
struct Floor {
    /// Minima of completed windows, the oldest first.
    windows: VecDeque<Point>,
    /// End of the current window and its minimum so far.
    current: Option<(f64, Point)>,
}

impl Floor {
    /// Adds a trip time. If this completes a window, returns the slope of the line below the windows,
    /// provided that most of them lie on it to within `grain` seconds or a fraction of its rise.
    fn note(&mut self, point: Point, window: Duration, grain: f64) -> Option<f64> {
        match &mut self.current {
            Some((end, least)) if point.0 < *end => {
                if point.1 < least.1 {
                    *least = point;
                }
                return None;
            }
            Some((_, least)) => {
                if self.windows.len() == MOST {
                    self.windows.pop_front();
                }
                self.windows.push_back(*least);
            }
            None => {}
        }
        self.current = Some((point.0 + window.as_secs_f64(), point));
        line_below(self.windows.make_contiguous(), grain)
    }
}

impl ClockSkew {
    /// The skew in force: the change of trip times per second.
    pub fn skew(&self) -> f64 {
        self.skew
    }

    /// Returns the arrival with its send time converted to the rate of the receiver's clock. Arrivals must be
    /// given in order of arrival time.
    pub fn correct(&mut self, arrival: PacketArrival) -> PacketArrival {
        let (Some(rott), Some(sent)) = (Rott::of(&arrival), arrival.sent) else { return arrival };
        let (start, first) = *self.origin.get_or_insert((arrival.at, rott));
        let now = (arrival.at - start).as_secs_f64();
        self.gained = (now, self.gained.1 + self.skew * (now - self.gained.0));
        let full = self.sizes.trip_time(&arrival);
        if let TripTime::First(_) = full {
            self.data = Floor::default();
        }
        let found = match full {
            TripTime::None => None,
            TripTime::First(rott) | TripTime::Next(rott) => {
                self.data.note((now, (rott - first) * 1e-9), WINDOW, 0.0)
            }
        };
        if let Some(skew) = found.filter(|_| !self.is_from_back) {
            self.set(now, skew);
        }
        let gained = (self.gained.1 * 1e9) as i64;
        let sent = Instant::from_nanos(sent.as_nanos().saturating_add_signed(gained));
        PacketArrival { sent: Some(sent), ..arrival }
    }

    /// Processes the trip time of a packet that left the receiver at `left` by its clock and reached the
    /// sender at `came` by the sender's clock, as given by a timestamp and its echo. `now` is the time at
    /// which this is reported, which may be much later.
    pub fn on_return_trip(&mut self, now: Instant, left: Instant, came: Instant) {
        let Some((start, _)) = self.origin else { return };
        let trip = came.as_nanos().wrapping_sub(left.as_nanos()).cast_signed();
        let first = *self.first_back.get_or_insert(trip);
        let point = ((now - start).as_secs_f64(), trip.saturating_sub(first) as f64 * 1e-9);
        if let Some(slope) = self.back.note(point, WINDOW_BACK, GRAIN_BACK) {
            // A fast sender clock lengthens return trip times and shortens the data's.
            self.set(point.0, -slope);
            self.is_from_back = true;
        }
    }

    /// Sets the skew in force from `now` on. A positive drift accumulated before is removed as well, as
    /// algorithms remember the minimum trip time, which is then the first one. A negative drift is not: the
    /// minimum is then the latest one.
    fn set(&mut self, now: f64, skew: f64) {
        if !core::mem::replace(&mut self.is_known, true) && skew > 0.0 {
            self.gained = (now, skew * now);
        }
        self.skew = skew;
    }

    /// Discards the minimum trip times of the old path; the skew of the clocks remains.
    pub fn on_path_change(&mut self) {
        self.data = Floor::default();
        self.back = Floor::default();
    }
}

/// Returns the slope of the closest line below the points, if most of them lie on it. Points are in order of
/// time.
fn line_below(points: &[Point], grain: f64) -> Option<f64> {
    let (first, last) = (points.first()?, points.last()?);
    let mean = points.iter().map(|point| point.0).sum::<f64>() / points.len() as f64;
    // Of all lines below the points, the closest one touches the hull around their mean time.
    let hull = lower_hull(points);
    let edge = hull.windows(2).find(|edge| edge[1].0 >= mean)?;
    let slope = slope(edge[0], edge[1]);
    let mut above: SmallVec<[f64; MOST]> =
        points.iter().map(|point| point.1 - edge[0].1 - slope * (point.0 - edge[0].0)).collect();
    above.sort_unstable_by(f64::total_cmp);
    let rise = slope.abs() * (last.0 - first.0);
    let most = (above.len() * 3).div_ceil(4);
    let fits = above[most - 1] <= (TOLERANCE * rise).min(GREATEST_TOLERANCE).max(grain);
    (points.len() >= LEAST && fits && slope.abs() <= GREATEST_SKEW).then_some(slope)
}

fn lower_hull(points: &[Point]) -> SmallVec<[Point; MOST]> {
    let mut hull: SmallVec<[Point; MOST]> = SmallVec::new();
    for point in points {
        while let [.., a, b] = hull[..]
            && slope(a, b) >= slope(a, *point)
        {
            hull.pop();
        }
        hull.push(*point);
    }
    hull
}

fn slope(a: Point, b: Point) -> f64 {
    (b.1 - a.1) / (b.0 - a.0)
}
