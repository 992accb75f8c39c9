//! The time between frames, and for how long they wait at the sender.

use whimbrel_units::{Duration, Instant};

/// Part of the distance to the newest wait by which the least one rises: half a minute at 30 frames a second.
const RISE: u64 = 1024;

/// The times of frames. A frame waits from its capture until its first packet leaves: for the encoder, which
/// always takes the same time, and for the granted rate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cadence {
    /// Time between the captures of two frames; zero before the second.
    pub(super) interval: Duration,
    wait: Duration,
    least_wait: Option<Duration>,
}

impl Cadence {
    /// A frame is begun; the one before was captured at `before`.
    pub(super) fn on_frame(&mut self, now: Instant, captured: Instant, before: Option<Instant>) {
        let step = before.map_or(Duration::ZERO, |before| captured - before);
        if !step.is_zero() {
            self.interval = step;
        }
        self.wait = now.saturating_since(captured);
        let least = self.least_wait.unwrap_or(self.wait);
        self.least_wait = Some(self.wait.min(least + self.wait.saturating_sub(least) / RISE));
    }

    /// `true` if the newest frame has waited for longer than the least by the time between frames: the rate
    /// does not suffice for what is sent already.
    pub(super) fn is_behind(&self) -> bool {
        !self.interval.is_zero() && self.wait > self.least_wait.unwrap_or_default() + self.interval
    }
}
