//! The times of a test.

use serde::{Deserialize, Serialize};
use whimbrel_units::Duration;

/// The times of a test, in seconds.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
pub struct Times {
    /// Length of the measured part of the test.
    pub time_s: f64,
    /// Length of the part before that, which the summary leaves out.
    #[serde(default)]
    pub omit_s: f64,
    /// Time between two reports.
    pub interval_s: f64,
    /// Time for which the ends wait for each other while the link is down.
    #[serde(default)]
    pub patience_s: f64,
}

impl Times {
    /// The number of intervals that end before the test does; the last one ends with it.
    pub(crate) fn ticks(&self) -> u64 {
        (((self.omit_s + self.time_s) / self.interval_s - 1e-6).ceil() as u64).saturating_sub(1)
    }

    /// Time between two reports.
    pub(crate) fn interval(&self) -> Duration {
        Duration::from_secs_f64(self.interval_s)
    }

    /// Duration of the test, the omitted part included.
    pub(crate) fn total(&self) -> Duration {
        Duration::from_secs_f64(self.omit_s + self.time_s)
    }

    /// Duration of the part that the summary leaves out.
    pub(crate) fn omitted(&self) -> Duration {
        Duration::from_secs_f64(self.omit_s)
    }

    /// Time for which the ends wait for each other while the link is down.
    pub(crate) fn patience(&self) -> Duration {
        Duration::from_secs_f64(self.patience_s)
    }
}
