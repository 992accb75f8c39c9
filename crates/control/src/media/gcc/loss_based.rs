//! The loss-based estimate with inherent loss: the bandwidth and the loss ratio of the channel itself under
//! which the reported losses are most likely.
//!
//! The probability of a loss at sending rate `s` over a channel with bandwidth `b` and inherent loss `i` is
//! `i + (1 - i) (s - b) / s` above the bandwidth and `i` below. For some candidates for `b`, a step of
//! Newton's method improves `i`; the candidate with the greatest likelihood, to which a preference for high
//! bandwidths is added, is chosen. Rates are in bit/s.

use libm::log;
use whimbrel_units::{DataRate, Duration, Instant};

use super::LossBasedConfig;
use crate::media::PacketReport;

mod observations;

use observations::{Observation, Observations};

/// First and longest time for which the estimate is held after it fell.
const HOLD: (Duration, Duration) = (Duration::from_millis(300), Duration::from_secs(60));
/// Least rate of libwebrtc's congestion control.
const LEAST_RATE: f64 = 5000.0;

/// State of the estimate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LossState {
    /// Losses do not limit the rate.
    DelayBased,
    /// The estimate grows.
    Increasing,
    /// The estimate grows, and padding tests it.
    IncreasingWithPadding,
    /// The estimate falls or is held.
    Decreasing,
}

/// A channel.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Channel {
    inherent_loss: f64,
    bandwidth: f64,
}

impl Channel {
    /// Probability of the loss of a packet sent at `rate`.
    fn loss_probability(&self, rate: f64) -> f64 {
        let inherent = self.inherent_loss.clamp(0.0, 1.0);
        let excess = if rate > self.bandwidth { (rate - self.bandwidth) / rate } else { 0.0 };
        (inherent + (1.0 - inherent) * excess).clamp(1e-6, 1.0 - 1e-6)
    }
}

/// The estimator.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct LossBased {
    config: LossBasedConfig,
    observations: Observations,
    min: f64,
    max: f64,
    /// The channel; its bandwidth is infinite until the delay-based estimate is valid.
    best: Channel,
    estimate: f64,
    state: LossState,
    /// Infinite if there is none.
    delay_based: f64,
    acknowledged: Option<f64>,
    /// Greatest bandwidth in the present window of delayed increase; infinite before the first.
    window_limit: f64,
    window_began: Option<Instant>,
    hold_until: Option<Instant>,
    hold_time: Duration,
    hold_rate: f64,
    padding_rate: f64,
    padding_began: Option<Instant>,
}

impl LossBased {
    pub(super) fn new(config: LossBasedConfig, min: DataRate, max: DataRate) -> Self {
        Self {
            observations: Observations::new(&config),
            min: min.as_bits_per_second(),
            max: max.as_bits_per_second(),
            best: Channel { inherent_loss: config.initial_inherent_loss, bandwidth: f64::INFINITY },
            estimate: f64::INFINITY,
            state: LossState::DelayBased,
            delay_based: f64::INFINITY,
            acknowledged: None,
            window_limit: f64::INFINITY,
            window_began: None,
            hold_until: None,
            hold_time: HOLD.0,
            hold_rate: f64::INFINITY,
            padding_rate: f64::NEG_INFINITY,
            padding_began: None,
            config,
        }
    }

    /// The estimate and its state; `None` while there are too few observations.
    pub(super) fn result(&self) -> Option<(DataRate, LossState)> {
        let is_ready =
            self.best.bandwidth.is_finite() && self.observations.count() >= self.config.least_observations;
        is_ready.then(|| (DataRate::from_bits_per_second(self.estimate), self.state))
    }

    pub(super) const fn set_acknowledged(&mut self, rate: DataRate) {
        self.acknowledged = Some(rate.as_bits_per_second());
    }

    /// Processes the packets of a report. `delay_based` is infinite if there is no delay-based estimate.
    pub(super) fn update(&mut self, packets: &[PacketReport], delay_based: DataRate, limited: bool) {
        self.delay_based = delay_based.as_bits_per_second();
        if !self.observations.record(packets) {
            return;
        }
        if self.best.bandwidth.is_infinite() {
            if self.delay_based.is_infinite() {
                return;
            }
            self.best.bandwidth = self.delay_based;
            (self.estimate, self.state) = (self.delay_based, LossState::DelayBased);
        }
        let mut best = self.most_likely(limited);
        if self.observations.average_loss() > best.inherent_loss && self.best.bandwidth < best.bandwidth {
            best.bandwidth = self.best.bandwidth;
        }
        if self.is_limiting() {
            self.limit_increase(&mut best);
        }
        let upper = self.upper_bound().min(self.delay_based);
        let bounded = self.lower_bound().max(best.bandwidth.min(upper));
        self.best = if bounded < best.bandwidth {
            Channel { inherent_loss: 0.0, bandwidth: bounded }
        } else {
            Channel { bandwidth: best.bandwidth.max(self.lower_bound()), ..best }
        };
        self.change_state(bounded);
    }

    const fn is_limiting(&self) -> bool {
        !matches!(self.state, LossState::DelayBased)
    }

    /// The sending time of the last packet observed.
    const fn now(&self) -> Instant {
        self.observations.last_sent()
    }

    /// Bounds the growth of a bandwidth that losses limit.
    fn limit_increase(&self, best: &mut Channel) {
        let is_in_window =
            self.window_began.is_some_and(|began| began + self.config.delayed_increase > self.now());
        if is_in_window {
            best.bandwidth = best.bandwidth.min(self.window_limit);
        }
        let before = self.best.bandwidth;
        if let Some(acknowledged) = self.acknowledged
            && self.is_increase(before, best.bandwidth)
        {
            let is_held =
                self.hold_rate.is_finite() && acknowledged < self.config.hold_threshold * self.hold_rate;
            let factor = if is_held { self.config.ramp_up_in_hold } else { self.config.ramp_up };
            best.bandwidth = before.max(best.bandwidth.min(factor * acknowledged));
            // The state has to change for padding to begin.
            if self.state == LossState::Decreasing && best.bandwidth == before {
                best.bandwidth = before + 1.0;
            }
        }
    }

    fn is_increase(&self, before: f64, after: f64) -> bool {
        let continues = matches!(self.state, LossState::Increasing | LossState::IncreasingWithPadding);
        self.is_limiting() && (before < after || (before == after && continues))
    }

    /// Sets state and estimate from the bounded bandwidth.
    fn change_state(&mut self, bounded: f64) {
        let now = self.now();
        let is_below = bounded < self.delay_based;
        if self.state == LossState::Decreasing && is_below && self.hold_until.is_some_and(|until| until > now)
        {
            self.hold_rate = self.hold_rate.max(self.lower_bound());
            self.estimate = self.hold_rate.min(bounded);
            return;
        }
        let is_limited = is_below && bounded < self.max;
        if is_limited && self.is_increase(self.estimate, bounded) && self.may_keep_increasing(bounded) {
            let pads = !self.config.padding.is_zero();
            if pads && bounded > self.padding_rate {
                self.padding_rate = bounded;
                self.padding_began = Some(now);
            }
            self.state = if pads { LossState::IncreasingWithPadding } else { LossState::Increasing };
        } else if is_limited {
            if self.state != LossState::Decreasing {
                self.hold_until = Some(now + self.hold_time);
                self.hold_time = HOLD.1.min(self.hold_time.mul_f64(self.config.hold_factor));
                self.hold_rate = bounded;
            }
            self.end_padding();
            self.state = LossState::Decreasing;
        } else {
            // A rate that the delay limits ends the hold, which would keep it low.
            (self.hold_until, self.hold_time, self.hold_rate) = (None, HOLD.0, f64::INFINITY);
            self.end_padding();
            self.state = LossState::DelayBased;
        }
        self.estimate = bounded;
        let is_over = self.window_began.is_none_or(|began| began + self.config.delayed_increase < now);
        if self.is_limiting() && is_over {
            self.window_limit = LEAST_RATE.max(self.best.bandwidth * self.config.max_increase);
            self.window_began = Some(now);
        }
    }

    const fn end_padding(&mut self) {
        self.padding_rate = f64::NEG_INFINITY;
        self.padding_began = None;
    }

    fn may_keep_increasing(&self, bounded: f64) -> bool {
        self.config.padding.is_zero()
            || self.state != LossState::IncreasingWithPadding
            || self.is_padding()
            || self.padding_rate < bounded
    }

    fn is_padding(&self) -> bool {
        self.padding_began.is_some_and(|began| began + self.config.padding >= self.now())
    }

    /// Least estimate: what is acknowledged.
    fn lower_bound(&self) -> f64 {
        self.acknowledged.map_or(0.0, |rate| rate * self.config.acknowledged_factor).max(self.min)
    }

    /// Greatest estimate at the average loss.
    fn upper_bound(&self) -> f64 {
        let excess = self.observations.average_loss() - self.config.instant_loss_offset;
        if excess <= 0.0 {
            return self.max;
        }
        self.config.instant_balance.as_bits_per_second() / excess
    }

    /// The most likely channel among the candidates; the one with the higher bandwidth of two that are equal.
    fn most_likely(&self, limited: bool) -> Channel {
        let before = self.best.bandwidth;
        let [up, same, down] = self.config.candidate_factors.map(|factor| Some(factor * before));
        // A limited sender is acknowledged less than the bandwidth.
        let acknowledged = self.acknowledged.filter(|_| !limited || self.is_padding());
        let delay_based = Some(self.delay_based).filter(|rate| rate.is_finite() && *rate > before);
        let upper =
            if self.is_limiting() && self.window_limit.is_finite() { self.window_limit } else { self.max };
        let mut best = self.best;
        let mut greatest = f64::MIN;
        for bandwidth in [up, same, down, acknowledged, delay_based].into_iter().flatten() {
            let bandwidth = bandwidth.min(before.max(upper));
            let mut channel = Channel { bandwidth, ..self.best };
            channel.inherent_loss = self.feasible(&channel);
            self.improve(&mut channel);
            let objective = self.objective(&channel);
            if objective > greatest || (objective == greatest && bandwidth > best.bandwidth) {
                (greatest, best) = (objective, channel);
            }
        }
        best
    }

    /// Inherent loss within its bounds; the upper one falls with the bandwidth.
    fn feasible(&self, channel: &Channel) -> f64 {
        let config = &self.config;
        let balance = config.inherent_balance.as_bits_per_second();
        let upper = if channel.bandwidth > 0.0 {
            (config.inherent_loss_offset + balance / channel.bandwidth).min(1.0)
        } else {
            1.0
        };
        channel.inherent_loss.max(config.least_inherent_loss).min(upper)
    }

    /// A step of Newton's method on the derivative of the likelihood with respect to the inherent loss.
    fn improve(&self, channel: &mut Channel) {
        let (mut first, mut second) = (0.0, 0.0);
        for (weight, Observation { size, lost, rate }) in self.observations.weighted() {
            let p = channel.loss_probability(rate);
            let q = 1.0 - p;
            first += weight * (lost / p - (size - lost) / q);
            second -= weight * (lost / (p * p) + (size - lost) / (q * q));
        }
        if second >= 0.0 {
            second = -1e-6;
        }
        channel.inherent_loss -= self.config.newton_step * first / second;
        channel.inherent_loss = self.feasible(channel);
    }

    /// Likelihood and preference.
    fn objective(&self, channel: &Channel) -> f64 {
        let preference = self.preference(channel.bandwidth);
        let mut objective = 0.0;
        for (weight, Observation { size, lost, rate }) in self.observations.weighted() {
            let p = channel.loss_probability(rate);
            objective += weight * (lost * log(p) + (size - lost) * log(1.0 - p) + preference * size);
        }
        objective
    }

    /// Preference of a bandwidth: for high ones below the threshold of the average loss, against them above.
    fn preference(&self, bandwidth: f64) -> f64 {
        let config = &self.config;
        let distance = config.preference_loss_threshold - self.observations.average_loss();
        let sign = distance / (config.preference_smoothing + distance.abs());
        let kilobits = bandwidth / 1e3;
        sign * (config.preference * kilobits + config.log_preference * log(1.0 + kilobits))
    }
}

#[cfg(test)]
mod tests;
