//! For how long frames wait at the sender.

use whimbrel_units::Duration;

/// Part of the distance to the newest wait by which the least one rises: half a minute at 30 frames a second.
const RISE: u64 = 1024;

/// The time from the capture of a frame to the departure of its first packet: an encoder's, which is always
/// the same, and the wait for the granted rate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wait {
    newest: Duration,
    least: Option<Duration>,
}

impl Wait {
    /// A frame is begun, so long after its capture.
    pub(super) fn on_frame(&mut self, wait: Duration) {
        let least = self.least.unwrap_or(wait);
        self.least = Some(wait.min(least + wait.saturating_sub(least) / RISE));
        self.newest = wait;
    }

    /// `true` if the newest frame has waited for longer than the least by the time between frames: the rate
    /// does not suffice for what is sent already.
    pub(super) fn exceeds(&self, interval: Duration) -> bool {
        !interval.is_zero() && self.newest > self.least.unwrap_or_default() + interval
    }
}
