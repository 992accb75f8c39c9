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

use alloc::collections::VecDeque;

use smallvec::SmallVec;
use whimbrel_units::{Duration, Instant};

use super::{PacketArrival, Rott};

/// The length of a window.
const WINDOW: Duration = Duration::from_secs(10);
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

/// Seconds since the first arrival, and seconds of trip time above the first one's.
type Point = (f64, f64);

/// Takes the difference in rate between two clocks out of send times.
#[derive(Clone, Debug, Default)]
pub struct ClockSkew {
    /// The first arrival and its trip time.
    origin: Option<(Instant, Rott)>,
    /// The least trip times of windows that are over, the oldest first.
    windows: VecDeque<Point>,
    /// The current window's end and its least trip time.
    current: Option<(f64, Point)>,
    skew: f64,
    /// What trip times have gained by the skew, in seconds, and until when.
    gained: Point,
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
        self.note((now, (rott - first) * 1e-9));
        let gained = (self.gained.1 * 1e9) as i64;
        let sent = Instant::from_nanos(sent.as_nanos().saturating_add_signed(gained));
        PacketArrival { sent: Some(sent), ..arrival }
    }

    /// The path is another, with another least trip time; the clocks are the same.
    pub fn on_path_change(&mut self) {
        self.windows.clear();
        self.current = None;
    }

    fn note(&mut self, point: Point) {
        match &mut self.current {
            Some((end, least)) if point.0 < *end => {
                if point.1 < least.1 {
                    *least = point;
                }
                return;
            }
            Some((_, least)) => {
                if self.windows.len() == MOST {
                    self.windows.pop_front();
                }
                self.windows.push_back(*least);
            }
            None => {}
        }
        self.current = Some((point.0 + WINDOW.as_secs_f64(), point));
        if let Some(skew) = line_below(self.windows.make_contiguous()) {
            self.skew = skew;
        }
    }
}

/// The slope of the line below the points and closest to them, if most of them lie on it. They are in order of
/// time.
fn line_below(points: &[Point]) -> Option<f64> {
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
    let fits = above[most - 1] <= (TOLERANCE * rise).min(GREATEST_TOLERANCE);
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
