//! The rate for encoders, within its limits.

use whimbrel_units::{Duration, Instant};

/// The limits unless others are set, in bit/s.
pub(super) const LEAST: u32 = 100_000;
pub(super) const MOST: u32 = 8_192_000;
/// A rate that differs by less is no news for an encoder.
const NEWS: f64 = 0.02;
/// Time over which the rate of streams that do not follow is measured.
const WINDOW: Duration = Duration::from_secs(1);

/// The rate that encoders are told, in bit/s.
#[derive(Clone, Copy, Debug)]
pub(super) struct Estimate {
    pub(super) least: u32,
    pub(super) most: u32,
    /// `None` until the connection knows.
    rate: Option<f64>,
    /// The rate that encoders were told last.
    told: u32,
}

impl Default for Estimate {
    fn default() -> Self {
        Self { least: LEAST, most: MOST, rate: None, told: 0 }
    }
}

impl Estimate {
    /// The rate in bit/s; 0 while nothing is known.
    pub(super) fn bitrate(&self) -> u32 {
        self.rate.map_or(0, |rate| (rate as u32).min(self.most).max(self.least))
    }

    /// Takes what the connection says. Returns `true` if encoders should learn it.
    pub(super) fn update(&mut self, rate: f64) -> bool {
        self.rate = Some(rate);
        self.is_news()
    }

    /// `true` if encoders were told another rate.
    pub(super) fn is_news(&mut self) -> bool {
        let (new, told) = (self.bitrate(), self.told);
        let is_news = f64::from(new.abs_diff(told)) > NEWS * f64::from(told);
        if is_news {
            self.told = new;
        }
        is_news
    }
}

/// The rate of the streams that do not follow, from the number of their bytes so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Others {
    since: Option<(Instant, u64)>,
    rate: f64,
}

impl Others {
    /// The rate in bit/s.
    pub(super) fn update(&mut self, now: Instant, bytes: u64) -> f64 {
        match self.since {
            Some((since, before)) if now - since >= WINDOW => {
                self.rate = 8.0 * bytes.saturating_sub(before) as f64 / (now - since).as_secs_f64();
                self.since = Some((now, bytes));
            }
            Some(_) => {}
            None => self.since = Some((now, bytes)),
        }
        self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_stays_within_its_limits_and_small_changes_are_no_news() {
        let mut estimate = Estimate { least: 200_000, most: 2_000_000, ..Estimate::default() };
        assert_eq!(estimate.bitrate(), 0);
        assert!(estimate.update(1e6));
        assert!(!estimate.update(1.01e6) && estimate.bitrate() == 1_010_000);
        assert!(estimate.update(1.03e6));
        assert!(estimate.update(9e9) && estimate.bitrate() == 2_000_000);
        assert!(estimate.update(0.0) && estimate.bitrate() == 200_000);
        // Limits that cross: the lower one counts.
        estimate.most = 100;
        assert_eq!(estimate.bitrate(), 200_000);
    }

    #[test]
    fn the_rate_of_other_streams_is_that_of_the_last_second() {
        let mut others = Others::default();
        let at = |milliseconds: u64| Instant::from_millis(7000 + milliseconds);
        assert_eq!(others.update(at(0), 1000), 0.0);
        assert_eq!(others.update(at(500), 5000), 0.0);
        assert_eq!(others.update(at(1000), 9000), 64_000.0);
        assert_eq!(others.update(at(1900), 99_000), 64_000.0);
        assert_eq!(others.update(at(2000), 9000), 0.0);
    }
}
