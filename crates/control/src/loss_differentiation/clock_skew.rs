//! The sender's clock runs a little faster or slower than the receiver's.
//!
//! Trip times are differences of two clocks. Their offset does not matter, but a difference in rate
//! does: 50 parts per million are 3 ms a minute, and algorithms that go by the least and the greatest trip time
//! seen so far take that for a queue that fills or empties.
//!
//! [`ClockSkew`] finds the difference in rate as Moon, Skelly and Towsley did ("Estimation and removal of clock
//! skew from network delay measurements", 1999): queues only ever add to a trip time, so the line
//! that lies below all of them and closest to them is the clocks'. Here it is drawn below the least trip times of
//! the last windows of 10 s. It is believed only where most of these lie on it, as they do where a queue is empty
//! now and then; one that fills steadily for minutes cannot be told from a clock.
//!
//! Where the queue of the data is never empty, that finds nothing. The way back is another path, on which mostly acknowledgements travel:
//! where the sender echoes timestamps, its trip times are known as well ([`on_way_back`](ClockSkew::on_way_back)), and the same line
//! below these, over shorter windows, goes before. It finds nothing where data keep both ways busy, or where the way back varies by
//! more than a tenth of what the clocks do.

use alloc::collections::VecDeque;

use smallvec::SmallVec;
use whimbrel_units::{Duration, Instant};

use super::{PacketArrival, Rott};

/// The length of a window of trip times of the data, and of the way back, which is sampled about every four round-trip times.
const WINDOW: Duration = Duration::from_secs(10);
const WINDOW_BACK: Duration = Duration::from_secs(2);
/// Windows that are remembered, and how many there must be.
const MOST: usize = 12;
const LEAST: usize = 10;
/// The greatest difference in rate that two clocks have: that of crystals, with room.
const GREATEST_SKEW: f64 = 500e-6;
/// How far off the line three windows in four may be, as a part of what the line rises or falls. The queue of a busy
/// link is never empty, and its least trip times scatter by some packet times; half of them within a quarter lie on
/// some line every few minutes.
const TOLERANCE: f64 = 0.1;
/// The same in seconds, for lines that rise or fall much.
const GREATEST_TOLERANCE: f64 = 1e-3;

/// How far off the line trip times of the way back may be in any case: some units of the clocks on the wire.
const GRAIN_BACK: f64 = 50e-6;

/// Seconds since the first arrival, and seconds of trip time above the first one's.
type Point = (f64, f64);

/// Takes the difference in rate between two clocks out of send times.
#[derive(Clone, Debug, Default)]
pub struct ClockSkew {
    /// The first arrival and its trip time.
    origin: Option<(Instant, Rott)>,
    data: Floor,
    /// The first trip time of the way back.
    first_back: Option<i64>,
    back: Floor,
    /// Whether the way back told the skew in force.
    is_from_back: bool,
    skew: f64,
    /// Whether there was one.
    is_known: bool,
    /// What trip times have gained by the skew, in seconds, and until when.
    gained: Point,
}

/// The least trip times of the last windows.
#[derive(Clone, Debug, Default)]
struct Floor {
    /// Those of windows that are over, the oldest first.
    windows: VecDeque<Point>,
    /// The current window's end and its least trip time.
    current: Option<(f64, Point)>,
}

impl Floor {
    /// Adds a trip time; where that ends a window, the slope of the line below the windows, if most of them lie on it. That is
    /// within `grain` seconds, or a part of what the line rises.
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
    /// The difference in rate in force: what trip times gain per second.
    pub fn skew(&self) -> f64 {
        self.skew
    }

    /// The arrival with the send time that a clock with the receiver's rate would have shown. Arrivals
    /// come in the order of their times.
    pub fn correct(&mut self, arrival: PacketArrival) -> PacketArrival {
        let (Some(rott), Some(sent)) = (Rott::of(&arrival), arrival.sent) else { return arrival };
        let (start, first) = *self.origin.get_or_insert((arrival.at, rott));
        let now = (arrival.at - start).as_secs_f64();
        self.gained = (now, self.gained.1 + self.skew * (now - self.gained.0));
        let found = self.data.note((now, (rott - first) * 1e-9), WINDOW, 0.0);
        if let Some(skew) = found.filter(|_| !self.is_from_back) {
            self.set(now, skew);
        }
        let gained = (self.gained.1 * 1e9) as i64;
        let sent = Instant::from_nanos(sent.as_nanos().saturating_add_signed(gained));
        PacketArrival { sent: Some(sent), ..arrival }
    }

    /// A packet that left the receiver at `left`, by its clock, came to the sender at `came`, by the sender's: what a timestamp and
    /// its echo tell. It may be late news: `now` it is known.
    pub fn on_way_back(&mut self, now: Instant, left: Instant, came: Instant) {
        let Some((start, _)) = self.origin else { return };
        let trip = came.as_nanos().wrapping_sub(left.as_nanos()).cast_signed();
        let first = *self.first_back.get_or_insert(trip);
        let point = ((now - start).as_secs_f64(), trip.saturating_sub(first) as f64 * 1e-9);
        if let Some(slope) = self.back.note(point, WINDOW_BACK, GRAIN_BACK) {
            // A sender's clock that is fast makes the way back longer, and the data's shorter.
            self.set(point.0, -slope);
            self.is_from_back = true;
        }
    }

    /// The skew in force from `now` on. What trip times have gained before it was known is taken out as well: the least
    /// one, which algorithms remember, is the first one then. What they have lost is not: the least is the last one.
    fn set(&mut self, now: f64, skew: f64) {
        if !core::mem::replace(&mut self.is_known, true) && skew > 0.0 {
            self.gained = (now, skew * now);
        }
        self.skew = skew;
    }

    /// The path is another, with another least trip time; the clocks are the same.
    pub fn on_path_change(&mut self) {
        self.data = Floor::default();
        self.back = Floor::default();
    }
}

/// The slope of the line below the points and closest to them, if most of them lie on it. They are in order of
/// time.
fn line_below(points: &[Point], grain: f64) -> Option<f64> {
    let (first, last) = (points.first()?, points.last()?);
    let mean = points.iter().map(|point| point.0).sum::<f64>() / points.len() as f64;
    // Of all lines below the points, the one that is closest to them touches the hull around their mean time.
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
