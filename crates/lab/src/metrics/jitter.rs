//! Interarrival jitter (RFC 3550, Section 6.4.1).

use whimbrel_units::Duration;

use super::seconds;

/// The smoothed mean of the change of one-way delay from packet to packet, with gain 1/16.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Jitter {
    last_delay: Option<Duration>,
    seconds: f64,
}

impl Jitter {
    /// A packet arrived with a one-way delay of `delay`.
    pub fn on_packet(&mut self, delay: Duration) {
        if let Some(last) = self.last_delay.replace(delay) {
            let change = (seconds(delay) - seconds(last)).abs();
            self.seconds += (change - self.seconds) / 16.0;
        }
    }

    /// The delay of the last packet; `None` before the first one.
    pub fn last_delay(&self) -> Option<Duration> {
        self.last_delay
    }

    /// The jitter in seconds; `None` before the second packet.
    pub fn seconds(&self) -> Option<f64> {
        self.last_delay.map(|_| self.seconds)
    }
}
