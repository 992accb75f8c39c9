//! Detection of overuse: the trend against an adaptive threshold.

use whimbrel_units::{Duration, Instant};

use super::DelayConfig;

/// Groups from which the trend has its full weight.
const FULL_WEIGHT: u32 = 60;
/// Distance of the trend from the threshold beyond which the threshold does not adapt, in ms.
const LARGEST_ADAPTED: f64 = 15.0;
/// Longest time for which the threshold adapts at once.
const LONGEST_ADAPTATION: Duration = Duration::from_millis(100);
/// Bounds of the threshold, in ms.
const THRESHOLD: (f64, f64) = (6.0, 600.0);

/// Use of the path's capacity.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Usage {
    /// The queue neither grows nor shrinks.
    #[default]
    Normal,
    /// The queue grows.
    Over,
    /// The queue shrinks.
    Under,
}

/// The detector.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct OveruseDetector {
    gain: f64,
    k_up: f64,
    k_down: f64,
    time_limit: f64,
    /// In ms.
    threshold: f64,
    updated: Option<Instant>,
    previous_trend: f64,
    /// Time of overuse in ms of sending time; `None` if there is none.
    overusing: Option<f64>,
    overuses: u32,
    usage: Usage,
}

impl OveruseDetector {
    pub(super) fn new(config: &DelayConfig) -> Self {
        Self {
            gain: config.threshold_gain,
            k_up: config.k_up,
            k_down: config.k_down,
            time_limit: config.overuse_time.as_secs_f64() * 1e3,
            threshold: config.initial_threshold.as_secs_f64() * 1e3,
            updated: None,
            previous_trend: 0.0,
            overusing: None,
            overuses: 0,
            usage: Usage::Normal,
        }
    }

    pub(super) const fn usage(&self) -> Usage {
        self.usage
    }

    /// Processes the trend after `groups` groups, the last of them sent `sent` after the one before and
    /// arrived at `arrival`.
    pub(super) fn detect(&mut self, trend: f64, groups: u32, sent: Duration, arrival: Instant) {
        if groups < 2 {
            self.usage = Usage::Normal;
            return;
        }
        let modified = f64::from(groups.min(FULL_WEIGHT)) * trend * self.gain;
        if modified > self.threshold {
            let sent = sent.as_secs_f64() * 1e3;
            // Overuse began halfway since the group before.
            let overusing = self.overusing.map_or(sent / 2.0, |time| time + sent);
            self.overusing = Some(overusing);
            self.overuses += 1;
            if overusing > self.time_limit && self.overuses > 1 && trend >= self.previous_trend {
                self.overusing = Some(0.0);
                self.overuses = 0;
                self.usage = Usage::Over;
            }
        } else {
            self.overusing = None;
            self.overuses = 0;
            self.usage = if modified < -self.threshold { Usage::Under } else { Usage::Normal };
        }
        self.previous_trend = trend;
        self.adapt(modified.abs(), arrival);
    }

    /// Adapts the threshold to the magnitude of the trend, so that neither an unused capacity nor a competing
    /// flow with large queues triggers it all the time.
    fn adapt(&mut self, trend: f64, arrival: Instant) {
        let updated = self.updated.replace(arrival).unwrap_or(arrival);
        if trend > self.threshold + LARGEST_ADAPTED {
            // A jump of the delay, such as a fall of the capacity causes.
            return;
        }
        let k = if trend < self.threshold { self.k_down } else { self.k_up };
        let time = arrival.saturating_since(updated).min(LONGEST_ADAPTATION).as_secs_f64() * 1e3;
        let threshold = self.threshold + k * (trend - self.threshold) * time;
        self.threshold = threshold.clamp(THRESHOLD.0, THRESHOLD.1);
    }

    #[cfg(test)]
    pub(super) const fn threshold(&self) -> f64 {
        self.threshold
    }
}

#[cfg(test)]
mod tests;
