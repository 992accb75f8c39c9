//! When datagrams are delivered: the sender's timestamps on the receiver's clock.
//!
//! A datagram that was captured at `t` by the sender's clock is due at `t + base + latency`, in which `base`
//! is the least difference of arrival and timestamp of late. The least difference belongs to a datagram that
//! waited in no queue and was not repeated. Hence a slow first packet moves nothing for longer than until the
//! next, a queue does not look like drift, and drift is followed in both directions: a faster clock or a
//! shorter route at once, a slower clock or a longer route when the old minimum is forgotten, after
//! [`Playout::MEMORY`]. A base that rises moves by small steps, so that the picture never stands still for
//! it.

use whimbrel_units::{Duration, Instant};

use crate::wire::AduHeader;

const BINS: usize = 10;
const BIN: Duration = Duration::from_secs(1);

/// The receiver's reading of the sender's clock.
#[derive(Clone, Debug)]
pub struct Playout {
    latency: Duration,
    /// The timestamp and its arrival from which the others are counted.
    origin: Option<(u32, Instant)>,
    /// The nanoseconds of the newest timestamp after the origin, to undo the wrapping.
    newest: i64,
    /// Least differences in nanoseconds, by second.
    bins: [i64; BINS],
    bin: usize,
    bin_ends: Instant,
    base: i64,
}

impl Playout {
    /// Memory of a least difference.
    pub const MEMORY: Duration = Duration::from_secs(BINS as u64);

    /// Delivery `latency` after the arrival of the fastest datagrams.
    #[must_use]
    pub const fn new(latency: Duration) -> Self {
        Self {
            latency,
            origin: None,
            newest: 0,
            bins: [i64::MAX; BINS],
            bin: 0,
            bin_ends: Instant::ZERO,
            base: 0,
        }
    }

    /// The time between the fastest arrival and the delivery.
    #[must_use]
    pub const fn latency(&self) -> Duration {
        self.latency
    }

    /// The stamp in nanoseconds after the origin, near the newest.
    fn unwrap(&self, time: u32) -> Option<(i64, Instant)> {
        let (origin, at) = self.origin?;
        let newest_stamp = origin.wrapping_add((self.newest / 32_000) as u32) & 0xff_ffff;
        Some(((self.newest / 32_000 * 32_000).saturating_add(AduHeader::difference(time, newest_stamp)), at))
    }

    /// A datagram arrived for the first time and was sent once, at its capture or (`has_waited`) later. Those
    /// that were held at the sender say nothing about the path, so that delivery is not delayed where all of
    /// them are.
    pub fn on_arrival(&mut self, now: Instant, time: u32, has_waited: bool) {
        // After a pause, all that was seen is forgotten: timestamps may have wrapped unnoticed.
        let is_pause = now.saturating_since(self.bin_ends) > Self::MEMORY;
        if self.origin.is_none() || is_pause {
            (self.origin, self.newest, self.base) = (Some((time, now)), 0, 0);
            self.bins = [i64::MAX; BINS];
            self.bin_ends = now + BIN;
        }
        let Some((sent, origin)) = self.unwrap(time) else { return };
        self.newest = self.newest.max(sent);
        let difference = (now.as_nanos() as i64).wrapping_sub(origin.as_nanos() as i64).wrapping_sub(sent);
        while now >= self.bin_ends {
            self.bin = (self.bin + 1) % BINS;
            self.bins[self.bin] = i64::MAX;
            self.bin_ends += BIN;
        }
        // Datagrams sooner than all others show the path nevertheless.
        if !has_waited || difference < self.base {
            let bin = &mut self.bins[self.bin];
            *bin = difference.min(*bin);
        }
        let least = self.bins.iter().copied().min().filter(|&least| least < i64::MAX);
        // Upwards by at most a tenth of a millisecond per datagram.
        self.base = least.map_or(self.base, |least| least.min(self.base.saturating_add(100_000)));
        if self.newest == 0 && sent == 0 {
            self.base = difference;
        }
    }

    /// When a datagram with this timestamp is due. `None` before the first arrival.
    #[must_use]
    pub fn due(&self, time: u32) -> Option<Instant> {
        let (sent, origin) = self.unwrap(time)?;
        let at = (origin.as_nanos() as i64).saturating_add(sent).saturating_add(self.base);
        Some(Instant::from_nanos(u64::try_from(at).unwrap_or(0)) + self.latency)
    }
}

#[cfg(test)]
mod tests;
