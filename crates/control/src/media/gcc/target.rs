//! The target: the least of the delay-based and loss-based estimates and the limits, and the response to a
//! high round-trip time.

use alloc::collections::VecDeque;

use whimbrel_units::{DataRate, Duration, Instant};

use super::loss_based::{LossBased, LossState};
use super::{LossBasedConfig, RateLimits, RttBackoffConfig};
use crate::media::PacketReport;

/// Time from the first loss report in which the delay-based estimate is trusted, with the threshold rule.
const START_PHASE: Duration = Duration::from_secs(2);
/// Interval of loss reports, as of RTCP's for video, and least number of packets in one.
const LOSS_INTERVAL: Duration = Duration::from_secs(1);
const LEAST_PACKETS: u64 = 20;
/// Age of a loss report beyond which it does not count: 1.2 times the longest interval of RTCP, 5 s.
const LOSS_TIMEOUT: Duration = Duration::from_secs(6);
/// Losses up to which the rate increases, and from which it decreases.
const LOW_LOSS: f64 = 0.02;
const HIGH_LOSS: f64 = 0.1;
/// Time over which the minimum of the targets is taken, from which the target increases.
const INCREASE_INTERVAL: Duration = Duration::from_secs(1);
/// Increase relative to that minimum, and constant increase in bit/s.
const INCREASE: f64 = 1.08;
const INCREASE_STEP: f64 = 1000.0;
/// Least time between two decreases, besides the round-trip time.
const DECREASE_INTERVAL: Duration = Duration::from_millis(300);

/// Response to a round-trip time that the other estimates are too slow for.
#[derive(Clone, Copy, PartialEq, Debug)]
struct RttBackoff {
    config: RttBackoffConfig,
    rtt: Duration,
    updated: Option<Instant>,
    last_sent: Instant,
}

impl RttBackoff {
    /// `true` if the round-trip time of the last report, with the time of sending since, is above the limit.
    fn is_above_limit(&self) -> bool {
        let silence = self.updated.map_or(Duration::ZERO, |updated| self.last_sent.saturating_since(updated));
        silence + self.rtt > self.config.limit
    }
}

/// Losses of the threshold rule.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
struct LossReports {
    first: Option<Instant>,
    /// Time of the last report with enough packets.
    last: Option<Instant>,
    began: Option<Instant>,
    lost: u64,
    packets: u64,
    ratio: f64,
    has_decreased: bool,
}

/// The target.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Target {
    loss_config: Option<LossBasedConfig>,
    min: DataRate,
    max: DataRate,
    rate: DataRate,
    /// Infinite if there is no delay-based estimate.
    delay_based: DataRate,
    backoff: RttBackoff,
    decreased: Option<Instant>,
    rtt: Duration,
    loss_based: Option<LossBased>,
    state: LossState,
    reports: LossReports,
    /// Least targets of the last second, in rising order.
    least: VecDeque<(Instant, DataRate)>,
}

impl Target {
    /// A target at the start rate of `limits`; by the thresholds of the loss ratio if `loss_config` is
    /// `None`.
    pub(super) fn new(
        loss_config: Option<LossBasedConfig>,
        backoff: RttBackoffConfig,
        limits: RateLimits,
    ) -> Self {
        Self {
            loss_config,
            min: limits.min,
            max: limits.max,
            rate: limits.start.min(limits.max).max(limits.min),
            delay_based: DataRate::INFINITE,
            backoff: RttBackoff {
                config: backoff,
                rtt: Duration::ZERO,
                updated: None,
                last_sent: Instant::ZERO,
            },
            decreased: None,
            rtt: Duration::ZERO,
            loss_based: loss_config.map(|config| LossBased::new(config, limits.min, limits.max)),
            state: LossState::DelayBased,
            reports: LossReports::default(),
            least: VecDeque::new(),
        }
    }

    /// Begins again at `rate`; what is known of the round-trip time remains.
    pub(super) fn reset(&mut self, rate: DataRate) {
        let limits = RateLimits { min: self.min, start: rate, max: self.max };
        let backoff = self.backoff;
        *self = Self { backoff, ..Self::new(self.loss_config, backoff.config, limits) };
    }

    pub(super) const fn rate(&self) -> DataRate {
        self.rate
    }

    pub(super) const fn loss_state(&self) -> LossState {
        self.state
    }

    /// Loss ratio of the last second.
    pub(super) const fn loss_ratio(&self) -> f64 {
        self.reports.ratio
    }

    pub(super) fn is_rtt_above_limit(&self) -> bool {
        self.backoff.is_above_limit()
    }

    pub(super) fn on_sent(&mut self, now: Instant) {
        self.backoff.last_sent = now;
        self.backoff.updated.get_or_insert(now);
    }

    pub(super) const fn set_propagation_rtt(&mut self, rtt: Duration, now: Instant) {
        self.backoff.rtt = rtt;
        self.backoff.updated = Some(now);
    }

    pub(super) const fn set_rtt(&mut self, rtt: Duration) {
        self.rtt = rtt;
    }

    pub(super) fn set_acknowledged(&mut self, acknowledged: Option<DataRate>) {
        if let (Some(loss_based), Some(rate)) = (&mut self.loss_based, acknowledged) {
            loss_based.set_acknowledged(rate);
        }
    }

    /// Sets the target to what a probe measured.
    pub(super) fn set_rate(&mut self, rate: DataRate) {
        self.delay_based = DataRate::INFINITE;
        self.set(rate);
        self.least.clear();
    }

    pub(super) fn set_delay_based(&mut self, rate: DataRate) {
        self.delay_based = rate;
        self.set(self.rate);
    }

    /// Processes the losses of a report.
    pub(super) fn on_report(&mut self, packets: &[PacketReport], limited: bool, now: Instant) {
        self.count_losses(packets, now);
        if let Some(loss_based) = &mut self.loss_based {
            loss_based.update(packets, self.delay_based, limited);
        }
        self.update(now);
    }

    fn count_losses(&mut self, packets: &[PacketReport], now: Instant) {
        let reports = &mut self.reports;
        reports.first.get_or_insert(now);
        reports.packets += packets.len() as u64;
        reports.lost += packets.iter().filter(|packet| packet.arrival().is_none()).count() as u64;
        let began = *reports.began.get_or_insert(now);
        if now.saturating_since(began) >= LOSS_INTERVAL && reports.packets >= LEAST_PACKETS {
            reports.ratio = reports.lost as f64 / reports.packets as f64;
            (reports.lost, reports.packets, reports.began) = (0, 0, None);
            reports.has_decreased = false;
            reports.last = Some(now);
        }
    }

    /// Updates the target for the passage of time.
    pub(super) fn update(&mut self, now: Instant) {
        if self.backoff.is_above_limit() {
            self.back_off(now);
            return;
        }
        let result = self.loss_based.as_ref().and_then(LossBased::result);
        let is_start = self.reports.first.is_none_or(|first| now.saturating_since(first) < START_PHASE);
        if result.is_none() && is_start && self.reports.ratio == 0.0 {
            let trusted = if self.delay_based < DataRate::INFINITE { self.delay_based } else { self.rate };
            if trusted > self.rate {
                self.least.clear();
                self.least.push_back((now, self.rate));
                self.set(trusted);
                return;
            }
        }
        self.record_least(now);
        if let Some((rate, state)) = result {
            self.state = state;
            self.set(rate);
        } else if let Some(rate) = self.apply_thresholds(now) {
            self.set(rate);
        } else {
            self.set(self.rate);
        }
    }

    fn back_off(&mut self, now: Instant) {
        let config = self.backoff.config;
        let is_due = self.decreased.is_none_or(|at| now.saturating_since(at) >= config.interval);
        if is_due && self.rate > config.floor {
            self.decreased = Some(now);
            self.set((self.rate * config.factor).max(config.floor));
        } else {
            self.set(self.rate);
        }
    }

    /// The target by the thresholds of 2 % and 10 %; `None` if it stays.
    fn apply_thresholds(&mut self, now: Instant) -> Option<DataRate> {
        let last = self.reports.last?;
        if now.saturating_since(last) >= LOSS_TIMEOUT {
            return None;
        }
        let loss = self.reports.ratio;
        if loss <= LOW_LOSS {
            let least = self.least.front().map_or(self.rate, |(_, rate)| *rate);
            return Some(least * INCREASE + DataRate::from_bits_per_second(INCREASE_STEP));
        }
        let interval = DECREASE_INTERVAL + self.rtt;
        let is_due = self.decreased.is_none_or(|at| now.saturating_since(at) >= interval);
        if loss <= HIGH_LOSS || self.reports.has_decreased || !is_due {
            return None;
        }
        self.decreased = Some(now);
        self.reports.has_decreased = true;
        Some(self.rate * (1.0 - 0.5 * loss))
    }

    fn record_least(&mut self, now: Instant) {
        let is_old = |(at, _): &(Instant, DataRate)| now.saturating_since(*at) >= INCREASE_INTERVAL;
        while self.least.front().is_some_and(is_old) {
            self.least.pop_front();
        }
        while self.least.back().is_some_and(|(_, rate)| self.rate <= *rate) {
            self.least.pop_back();
        }
        self.least.push_back((now, self.rate));
    }

    fn set(&mut self, rate: DataRate) {
        self.rate = rate.min(self.delay_based).min(self.max).max(self.min);
    }
}

#[cfg(test)]
mod tests;
