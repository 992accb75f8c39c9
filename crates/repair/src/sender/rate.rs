//! Send limits: the granted rate, and the shares of coded packets and repeats.

use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

/// The granted rate, as a bucket of bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grant {
    rate: Option<DataRate>,
    /// Bytes that may be sent now; negative after a packet that was larger than the rest.
    credit: f64,
    updated: Instant,
}

impl Grant {
    /// Bytes that may be sent at once, in time at the granted rate.
    const BURST: Duration = Duration::from_millis(10);

    pub(super) const fn unlimited() -> Self {
        Self { rate: None, credit: 0.0, updated: Instant::ZERO }
    }

    pub(super) fn set(&mut self, now: Instant, rate: Option<DataRate>) {
        self.update(now);
        if self.rate.is_none() {
            self.credit = 0.0;
        }
        self.rate = rate;
        self.updated = now;
    }

    fn update(&mut self, now: Instant) {
        if let Some(rate) = self.rate {
            let gained = rate.as_bytes_per_second() * now.saturating_since(self.updated).as_secs_f64();
            let most = rate.as_bytes_per_second() * Self::BURST.as_secs_f64();
            self.credit = (self.credit + gained).min(most.max(1.0));
        }
        self.updated = now.max(self.updated);
    }

    pub(super) fn is_open(&mut self, now: Instant) -> bool {
        self.update(now);
        self.rate.is_none() || self.credit > 0.0
    }

    pub(super) fn on_sent(&mut self, bytes: usize) {
        if self.rate.is_some() {
            self.credit -= bytes as f64;
        }
    }

    /// Bytes that the path is known to carry in a time: at half of the granted rate, which may be twice what
    /// has arrived (RFC 5348, Section 4.3).
    pub(super) fn carried_within(&self, time: Duration) -> u64 {
        self.rate.map_or(u64::MAX, |rate| (rate.as_bytes_per_second() * time.as_secs_f64() / 2.0) as u64)
    }

    /// When the next packet may be sent.
    pub(super) fn opens(&self) -> Instant {
        match self.rate {
            Some(rate) if self.credit <= 0.0 => {
                let bytes = ByteCount::new(-self.credit as u64 + 1);
                if rate.is_zero() {
                    Instant::FAR_FUTURE
                } else {
                    self.updated + bytes / rate + Duration::from_nanos(1)
                }
            }
            _ => self.updated,
        }
    }
}

/// The time between packets while others wait, independent of what limits the rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// When the last packet left, if others waited behind it.
    last: Option<Instant>,
    spacing: Duration,
}

impl Pace {
    pub(super) const fn new() -> Self {
        Self { last: None, spacing: Duration::ZERO }
    }

    /// A packet has left. A gap of the latency or more is an outage and says nothing of the pace after it.
    pub(super) fn on_sent(&mut self, now: Instant, others_wait: bool, latency: Duration) {
        if let Some(gap) = self.last.map(|last| now.saturating_since(last)).filter(|gap| *gap < latency) {
            self.spacing = (self.spacing * 15 + gap) / 16;
        }
        self.last = others_wait.then_some(now);
    }

    /// From the first of so many packets to the last.
    pub(super) fn time_of(&self, packets: u64) -> Duration {
        self.spacing * packets.saturating_sub(1)
    }
}

const PARTS: usize = 64;
const PART: u64 = 1_000_000_000 / PARTS as u64;

/// Bytes of the last second.
#[derive(Clone, Debug)]
struct Second {
    parts: [u64; PARTS],
    sum: u64,
    /// The part of time that the newest bytes belong to.
    newest: u64,
}

impl Second {
    fn advance(&mut self, now: Instant) {
        let part = now.as_nanos() / PART;
        let steps = part.saturating_sub(self.newest).min(PARTS as u64);
        for step in 1..=steps {
            let at = ((self.newest + step) % PARTS as u64) as usize;
            self.sum -= core::mem::take(&mut self.parts[at]);
        }
        if steps == PARTS as u64 {
            self.parts = [0; PARTS];
            self.sum = 0;
        }
        self.newest = self.newest.max(part);
    }

    fn add(&mut self, bytes: usize) {
        self.parts[(self.newest % PARTS as u64) as usize] += bytes as u64;
        self.sum += bytes as u64;
    }

    /// Adds the bytes, if there are at most `most` with them.
    fn take(&mut self, now: Instant, bytes: usize, most: u64) -> bool {
        self.advance(now);
        let is_allowed = self.sum + bytes as u64 <= most;
        if is_allowed {
            self.add(bytes);
        }
        is_allowed
    }
}

/// Keeps coded packets at or below the source over a second (RFC 6363, Section 8.2), and repeats at or below
/// [`Share::REPEATS`] times the source.
///
/// The times and the answers in reports decide how often a frame is answered. Without the second limit, a
/// receiver with false reports would get each datagram again for each of them.
#[derive(Clone, Debug)]
pub(super) struct Share {
    source: Second,
    coded: Second,
    repeats: Second,
}

impl Share {
    /// At 30 % of losses, one in 10,000 datagrams is lost eight times: also one without others within the
    /// second is repeated so often.
    const REPEATS: u64 = 8;

    pub(super) const fn new() -> Self {
        const EMPTY: Second = Second { parts: [0; PARTS], sum: 0, newest: 0 };
        Self { source: EMPTY, coded: EMPTY, repeats: EMPTY }
    }

    pub(super) fn on_source(&mut self, now: Instant, bytes: usize) {
        self.source.advance(now);
        self.source.add(bytes);
    }

    /// Takes the bytes of a coded packet, if they are allowed.
    pub(super) fn take_coded(&mut self, now: Instant, bytes: usize) -> bool {
        self.source.advance(now);
        self.coded.take(now, bytes, self.source.sum)
    }

    /// Takes the bytes of a repeat, if they are allowed.
    pub(super) fn take_repeat(&mut self, now: Instant, bytes: usize) -> bool {
        self.source.advance(now);
        self.repeats.take(now, bytes, Self::REPEATS * self.source.sum)
    }
}

#[cfg(test)]
mod tests;
