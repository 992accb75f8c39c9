//! The trend of the delay: the slope of a line through the accumulated differences of delay.

use alloc::collections::VecDeque;

use whimbrel_units::Instant;

use super::inter_arrival::Deltas;

/// Most groups that are counted.
const COUNTED: u32 = 1000;

/// A group of packets in the window.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Point {
    /// Arrival time since the first group, in ms.
    arrival: f64,
    /// Smoothed accumulated delay, in ms.
    delay: f64,
}

/// The estimator of the trend. It is about (sending rate - capacity) / capacity: positive while a queue
/// grows.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Trendline {
    window: usize,
    smoothing: f64,
    first: Option<Instant>,
    accumulated: f64,
    smoothed: f64,
    points: VecDeque<Point>,
    trend: f64,
    groups: u32,
}

impl Trendline {
    pub(super) fn new(window: usize, smoothing: f64) -> Self {
        Self {
            window: window.max(2),
            smoothing,
            first: None,
            accumulated: 0.0,
            smoothed: 0.0,
            points: VecDeque::with_capacity(window.max(2) + 1),
            trend: 0.0,
            groups: 0,
        }
    }

    /// Records a group that was complete at `arrival`, on the receiver's clock, and returns the trend.
    pub(super) fn update(&mut self, deltas: Deltas, arrival: Instant) -> f64 {
        self.groups = (self.groups + 1).min(COUNTED);
        let first = *self.first.get_or_insert(arrival);
        self.accumulated += (deltas.arrived.as_secs_f64() - deltas.sent.as_secs_f64()) * 1e3;
        self.smoothed = self.smoothing * self.smoothed + (1.0 - self.smoothing) * self.accumulated;
        // The receiver's clock may have been set back.
        let arrival = (arrival.as_nanos() as i64).wrapping_sub(first.as_nanos() as i64) as f64 / 1e6;
        self.points.push_back(Point { arrival, delay: self.smoothed });
        if self.points.len() > self.window {
            self.points.pop_front();
        }
        if self.points.len() == self.window {
            self.trend = self.slope().unwrap_or(self.trend);
        }
        self.trend
    }

    /// Number of groups so far, at most 1000.
    pub(super) const fn groups(&self) -> u32 {
        self.groups
    }

    /// Slope of the line of least squares; `None` if all points have one arrival time.
    fn slope(&self) -> Option<f64> {
        let n = self.points.len() as f64;
        let arrival = self.points.iter().map(|point| point.arrival).sum::<f64>() / n;
        let delay = self.points.iter().map(|point| point.delay).sum::<f64>() / n;
        let (mut product, mut square) = (0.0, 0.0);
        for point in &self.points {
            product += (point.arrival - arrival) * (point.delay - delay);
            square += (point.arrival - arrival) * (point.arrival - arrival);
        }
        (square != 0.0).then(|| product / square)
    }
}

#[cfg(test)]
mod tests;
