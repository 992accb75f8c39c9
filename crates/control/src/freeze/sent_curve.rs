//! Cumulative amount of data sent over time.

use whimbrel_units::{ByteCount, Duration, Instant};

#[cfg(test)]
mod tests;

/// The data sent so far as a function of time, with a resolution that adapts to the time covered, in constant
/// space.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct SentCurve {
    /// Send times of packets, and the cumulative amount sent with each; the newest last.
    points: [(Instant, ByteCount); Self::KEPT],
    len: usize,
    /// Minimum time between two points, except for the last one.
    grain: Duration,
}

impl SentCurve {
    const KEPT: usize = 32;

    /// A curve that starts at `now` with a resolution of `grain`.
    pub(super) fn new(now: Instant, grain: Duration) -> Self {
        Self { points: [(now, ByteCount::ZERO); Self::KEPT], len: 1, grain }
    }

    /// Adds `size` of data sent at `now`.
    pub(super) fn on_sent(&mut self, now: Instant, size: ByteCount) {
        let (last, total) = self.points[self.len - 1];
        let total = total + size;
        // The last point advances until it is far enough from the one before it.
        let moves = self.len > 1 && last - self.points[self.len - 2].0 < self.grain;
        if moves || last == now {
            self.points[self.len - 1] = (now, total);
            return;
        }
        if self.len == Self::KEPT {
            self.thin_out();
        }
        self.points[self.len] = (now, total);
        self.len += 1;
    }

    /// Removes every other point except for the newest.
    fn thin_out(&mut self) {
        let newest = self.points[self.len - 1];
        let half = self.len / 2;
        for i in 0..half {
            self.points[i] = self.points[2 * i];
        }
        self.points[half] = newest;
        self.len = half + 1;
        self.grain = self.grain * 2;
    }

    /// The data sent after `from`, up to and at `to`.
    pub(super) fn between(&self, from: Instant, to: Instant) -> ByteCount {
        ByteCount::new((self.until(to) - self.until(from)).max(0.0) as u64)
    }

    /// The bytes sent up to and at `time`.
    fn until(&self, time: Instant) -> f64 {
        let points = &self.points[..self.len];
        let after = points.partition_point(|(at, _)| *at <= time);
        let Some(&(begin, before)) = after.checked_sub(1).and_then(|i| points.get(i)) else { return 0.0 };
        let before = before.as_f64();
        match points.get(after) {
            None => before,
            Some(&(end, total)) => {
                let part = (time - begin).as_secs_f64() / (end - begin).as_secs_f64();
                before + (total.as_f64() - before) * part
            }
        }
    }
}
