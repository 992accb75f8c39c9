//! The round-trip time, by messages that the other end echoes.

use whimbrel_units::{Duration, Instant};

use super::Message;

/// An estimate of the round-trip time at the end that sends probes.
#[derive(Clone, Copy, Debug)]
pub struct Probing {
    interval: Duration,
    next: Instant,
    estimate: Option<(Duration, Duration)>,
    first: (Duration, Duration),
}

impl Probing {
    /// Probes every `interval`; the round-trip time and its variation are `first` until one is measured.
    pub fn new(interval: Duration, first: (Duration, Duration)) -> Self {
        Self { interval, next: Instant::ZERO, estimate: None, first }
    }

    /// The smoothed round-trip time.
    pub fn rtt(&self) -> Duration {
        self.estimate.unwrap_or(self.first).0
    }

    /// The variation of the round-trip time.
    pub fn variation(&self) -> Duration {
        self.estimate.unwrap_or(self.first).1
    }

    /// Something arrived: the next probe, if it is due.
    pub fn poll(&mut self, now: Instant) -> Option<Message> {
        if now < self.next {
            return None;
        }
        self.next = now + self.interval;
        Some(Message::Probe { sent: now, rtt: self.estimate })
    }

    /// The echo of a probe that was sent at `sent` arrived: RFC 6298's averages.
    pub fn on_echo(&mut self, now: Instant, sent: Instant) {
        let sample = now.saturating_since(sent);
        let (rtt, variation) = match self.estimate {
            None => (sample, sample / 2),
            Some((rtt, variation)) => {
                let difference = rtt.max(sample) - rtt.min(sample);
                (
                    rtt.mul_f64(0.875) + sample.mul_f64(0.125),
                    variation.mul_f64(0.75) + difference.mul_f64(0.25),
                )
            }
        };
        self.estimate = Some((rtt, variation));
    }

    /// The other end reports its estimate.
    pub fn adopt(&mut self, estimate: Option<(Duration, Duration)>) {
        self.estimate = estimate.or(self.estimate);
    }
}
