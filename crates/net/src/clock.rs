//! The one place where this crate reads clocks and asks for entropy.
#![allow(clippy::disallowed_types, reason = "the driver's clock is read here and nowhere else")]

use std::io;

use whimbrel_units::{Duration, Instant};

/// A monotonic clock whose epoch is its creation.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    epoch: tokio::time::Instant,
}

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Self {
        Self { epoch: tokio::time::Instant::now() }
    }

    /// The time since its epoch.
    pub fn now(&self) -> Instant {
        Instant::ZERO + Duration::from(self.epoch.elapsed())
    }

    /// Sleeps until `deadline`. The runtime's timers have a grain of a millisecond.
    pub async fn sleep_until(&self, deadline: Instant) {
        tokio::time::sleep_until(self.system_instant(deadline)).await;
    }

    /// The instant on the runtime's clock.
    pub(crate) fn system_instant(&self, instant: Instant) -> tokio::time::Instant {
        self.epoch + std::time::Duration::from_nanos(instant.as_nanos())
    }

    /// Offset by which the system's clock is ahead of this one, in nanoseconds.
    pub(crate) fn behind_system(&self) -> i64 {
        /// The two clocks cannot be read at the same instant: a reading is repeated if the process was
        /// interrupted between them.
        const CLOSE: Duration = Duration::from_micros(5);
        const ATTEMPTS: u32 = 4;
        let mut best = (Duration::MAX, 0);
        for _ in 0..ATTEMPTS {
            let before = self.now();
            let system = std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_nanos() as i64);
            let width = self.now() - before;
            if width < best.0 {
                best = (width, system - (before + width / 2).as_nanos() as i64);
            }
            if width <= CLOSE {
                break;
            }
        }
        best.1
    }
}

/// Unpredictable bits from the operating system's generator.
///
/// # Errors
/// The system has no generator, or refuses it.
pub fn entropy() -> io::Result<u64> {
    Ok(u64::from_ne_bytes(secret()?))
}

/// Unpredictable bytes from the operating system's generator.
pub(crate) fn secret<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entropy_is_not_the_same_twice_and_every_bit_of_it_varies() {
        let mut seen = (u64::MAX, 0);
        let mut all = Vec::new();
        for _ in 0..64 {
            let bits = entropy().expect("the system's generator");
            seen = (seen.0 & bits, seen.1 | bits);
            all.push(bits);
        }
        // One in 2^57 runs fails by chance.
        assert_eq!(seen, (0, u64::MAX));
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 64);
        assert_ne!(secret::<32>().expect("the system's generator")[..16], [0; 16]);
    }

    #[test]
    fn the_distance_to_the_systems_clock_is_read_to_within_some_microseconds() {
        let clock = Clock::start();
        let read: Vec<i64> = (0..100).map(|_| clock.behind_system()).collect();
        let (least, most) = (read.iter().min().expect("100"), read.iter().max().expect("100"));
        // On a busy machine as well. If the clock is set at this time, this fails.
        assert!(most - least < 1_000_000, "{least} to {most}");
    }
}
