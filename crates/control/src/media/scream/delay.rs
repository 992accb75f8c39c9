//! The queueing delay: one-way delay over its minimum, and its averages.

use whimbrel_units::{Duration, Instant};

use super::super::windowed::WindowedMin;
use super::since;

/// Period over which the least one-way delay is taken: 50 periods of 10 s (`kBaseOwdHistSize`,
/// `kBaseDelayUpdateInterval_ntp`).
const BASE_PERIOD: Duration = Duration::from_secs(500);
/// Gain of the average queueing delay when it rises; falls are followed at once (`kQueueDelayAvgAlpha`).
const AVERAGE_GAIN: f64 = 0.25;
/// Round-trip times of an update of the slow minimum, and its gain (`kQueueDelayMinSlowAvgUpdateRtts`,
/// `kQueueDelayMinSlowAvgAlpha`).
const FLOOR_ROUNDS: f64 = 100.0;
const FLOOR_GAIN: f64 = 0.125;
/// Gain of the running maximum and minimum (`kQueueDelayMinMaxAlpha`).
const MIN_MAX_GAIN: f64 = 1.0 / 16.0;
/// Gain of the average spread between them, and the spread at which growth stops (`kLatencyDiffAlpha`,
/// `kLatencyDiffThreshold`).
const SPREAD_GAIN: f64 = 1.0 / 32.0;
const SPREAD_LIMIT: f64 = 0.01;
/// Time between refreshes of the base delay (`kBaseDelayResetInterval_ntp`), least length of the reduced
/// rate, its length in round-trip times (`kNumRateLimitRtts`) and its factor.
const REFRESH_INTERVAL: f64 = 60.0;
const REFRESH_MIN: f64 = 0.1;
const REFRESH_ROUNDS: f64 = 5.0;
const REFRESH_FACTOR: f64 = 0.5;

/// The queueing delay and its averages, in seconds.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct QueueDelay {
    pub(super) target: f64,
    /// Of the newest packet.
    pub(super) latest: f64,
    /// Average, over the slow minimum.
    pub(super) average: f64,
    base: WindowedMin<i64>,
    max_average: f64,
    min_average: f64,
    /// Average difference of maximum and minimum.
    spread: f64,
    /// Slow average of the minima: a standing queue, or clock drift.
    floor: f64,
    least: f64,
    updated: Option<Instant>,
    floor_updated: Option<Instant>,
    refreshed: Option<Instant>,
    /// End of the reduced rate during a refresh of the base delay.
    refresh_until: Option<Instant>,
}

impl QueueDelay {
    pub(super) fn new(target: f64) -> Self {
        Self {
            target,
            latest: 0.0,
            average: 0.0,
            base: WindowedMin::default(),
            max_average: 0.0,
            min_average: f64::INFINITY,
            spread: 0.0,
            floor: 0.0,
            least: f64::INFINITY,
            updated: None,
            floor_updated: None,
            refreshed: None,
            refresh_until: None,
        }
    }

    /// Takes the delay of a packet from its sending and its arrival on the receiver's clock.
    pub(super) fn on_arrival(&mut self, now: Instant, sent: Instant, arrival: Instant) {
        // Wrapping: only differences of such values are used, and those are short.
        let one_way = arrival.as_nanos().wrapping_sub(sent.as_nanos()) as i64;
        let base = self.base.add(now, one_way, BASE_PERIOD);
        self.latest = one_way.saturating_sub(base) as f64 * 1e-9;
        self.least = self.least.min(self.latest);
        self.min_average = self.min_average.min(self.latest);
        self.max_average = self.max_average.max(self.latest).min(self.target);
    }

    /// Updates the averages, once per `interval`.
    pub(super) fn update(&mut self, now: Instant, srtt: f64, interval: f64) {
        self.refresh_base(now, srtt);
        if self.updated.is_some_and(|at| since(now, at) <= interval) {
            return;
        }
        self.updated = Some(now);
        let floor_updated = *self.floor_updated.get_or_insert(now);
        if since(now, floor_updated) > FLOOR_ROUNDS * srtt {
            if self.least.is_finite() {
                let gain = if self.least < self.floor { 1.0 } else { FLOOR_GAIN };
                self.floor += gain * (self.least - self.floor);
            }
            self.least = f64::INFINITY;
            self.floor_updated = Some(now);
        }
        let over = self.latest - self.floor;
        let gain = if over < self.average { 1.0 } else { AVERAGE_GAIN };
        self.average += gain * (over - self.average);
        let spread = (self.max_average - self.min_average).clamp(0.0, 2.0 * SPREAD_LIMIT);
        self.spread += SPREAD_GAIN * (spread - self.spread);
        // The maximum decays to zero and the minimum to the maximum: the difference does not depend on drift.
        self.max_average *= 1.0 - MIN_MAX_GAIN;
        if self.min_average.is_finite() {
            self.min_average += MIN_MAX_GAIN * (self.max_average - self.min_average);
        }
    }

    /// 1 for a constant queueing delay, falling to 0 at a spread of 10 ms (`latencyDiffCwndScale`).
    pub(super) fn steadiness(&self) -> f64 {
        (1.0 - self.spread / SPREAD_LIMIT).clamp(0.0, 1.0)
    }

    /// The share of virtual marks, if the average delay is above half the target; `reactions` of them in a
    /// round-trip time.
    ///
    /// The code divides by `reactions` here and once more where the window is reduced; so does this one.
    pub(super) fn virtual_share(&self, reactions: f64) -> Option<f64> {
        let half = self.target / 2.0;
        (self.average > half).then(|| ((self.average - half) / half).clamp(0.0, 1.0) / reactions.max(1.0))
    }

    /// Starts and ends a refresh of the base delay, which drains a standing queue, or a drifting clock, into
    /// a new minimum.
    fn refresh_base(&mut self, now: Instant, srtt: f64) {
        if let Some(until) = self.refresh_until {
            if now >= until {
                self.base.clear();
                (self.latest, self.floor, self.refresh_until) = (0.0, 0.0, None);
            }
            return;
        }
        if self.floor > self.target / 8.0 && self.refreshed.is_none_or(|at| since(now, at) > REFRESH_INTERVAL)
        {
            self.refreshed = Some(now);
            let length = REFRESH_MIN.max(REFRESH_ROUNDS * srtt);
            self.refresh_until = Some(now + Duration::from_secs_f64(length));
        }
    }

    /// Factor of the rate: one half while the base delay is refreshed.
    pub(super) const fn refresh_factor(&self) -> f64 {
        if self.refresh_until.is_some() { REFRESH_FACTOR } else { 1.0 }
    }
}
