//! How much data had been sent at a given time.

use whimbrel_units::{ByteCount, Duration, Instant};

#[cfg(test)]
mod tests;

/// The data sent so far as a function of time, at a resolution that adapts to the time it has covered, in constant space.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct SentCurve {
    /// When a packet was sent, and what had been sent with it; the newest last.
    points: [(Instant, ByteCount); Self::KEPT],
    len: usize,
    /// The least time between two points but the last.
    grain: Duration,
}

impl SentCurve {
    const KEPT: usize = 32;

    /// Nothing was sent before `now`. Times up to `grain` apart are not told apart.
    pub(super) fn new(now: Instant, grain: Duration) -> Self {
        Self { points: [(now, ByteCount::ZERO); Self::KEPT], len: 1, grain }
    }

    /// `size` of data is sent at `now`.
    pub(super) fn on_sent(&mut self, now: Instant, size: ByteCount) {
        let (last, total) = self.points[self.len - 1];
        let total = total + size;
        // The last point moves along until it is far enough from the one before it.
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

    /// Forgets every other point but the newest.
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
