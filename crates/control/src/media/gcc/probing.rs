//! The decisions to probe: at the start, beyond a successful probe, while the application limits the rate,
//! and after a large fall.

use alloc::collections::VecDeque;

use whimbrel_units::{DataRate, Duration, Instant};

use super::ProbingConfig;
use crate::media::{Probe, ProbeId};

/// Time in which the result of a probe is expected.
const WAITING: Duration = Duration::from_secs(1);
/// A rate below this share of the one before is a large fall.
const LARGE_FALL: f64 = 0.66;
/// Time after a large fall in which a probe may restore the rate, and the share of the rate that it probes.
const FALL_TIMEOUT: Duration = Duration::from_secs(5);
const SHARE_AFTER_FALL: f64 = 0.85;
/// Least time between two probes after falls.
const FALL_INTERVAL: Duration = Duration::from_secs(5);
/// Time after an application-limited region that counts as within it.
const LIMIT_ENDED: Duration = Duration::from_secs(3);
/// Uncertainty of a probe's result.
const UNCERTAINTY: f64 = 0.05;
/// Greatest rate of a probe where the encoder has none.
const DEFAULT_MAX: f64 = 5e6;
/// Most probes that wait to be sent.
const MOST_PENDING: usize = 5;

/// Cause that limits the estimate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Limitation {
    /// The delay-based estimate, without a growing queue.
    Delay,
    /// A queue that grows or drains.
    Queue,
    /// Losses, while the loss-based estimate increases.
    LossIncreasing,
    /// Losses.
    Loss,
    /// The round-trip time.
    RoundTrip,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Initial,
    Waiting,
    Complete,
}

/// The probe controller.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct ProbeController {
    config: ProbingConfig,
    state: State,
    limitation: Limitation,
    estimate: DataRate,
    max: DataRate,
    /// A result above this is followed by a further probe.
    further_above: DataRate,
    initiated: Instant,
    fall_probed: Instant,
    fell: Instant,
    before_fall: DataRate,
    limited_since: Option<Instant>,
    limit_ended: Option<Instant>,
    next: u32,
    pending: VecDeque<Probe>,
}

impl ProbeController {
    pub(super) const fn new(config: ProbingConfig) -> Self {
        Self {
            config,
            state: State::Initial,
            limitation: Limitation::Delay,
            estimate: DataRate::ZERO,
            max: DataRate::INFINITE,
            further_above: DataRate::INFINITE,
            initiated: Instant::ZERO,
            fall_probed: Instant::ZERO,
            fell: Instant::ZERO,
            before_fall: DataRate::ZERO,
            limited_since: None,
            limit_ended: None,
            next: 0,
            pending: VecDeque::new(),
        }
    }

    /// Begins at `now` with a rate, and requests the first probes.
    pub(super) fn start(&mut self, start: DataRate, max: DataRate, now: Instant) {
        let is_limited = max < DataRate::INFINITE;
        let max = if is_limited { max } else { DataRate::from_bits_per_second(DEFAULT_MAX) };
        *self = Self { max, estimate: start, next: self.next, ..Self::new(self.config) };
        (self.fall_probed, self.fell) = (now, now);
        let probes = [start * self.config.first_scale, start * self.config.second_scale];
        self.initiate(&probes, true, now);
    }

    /// Sets the estimate and its limitation; a probe follows if one before had a result near its rate.
    pub(super) fn set_estimate(&mut self, estimate: DataRate, limitation: Limitation, now: Instant) {
        self.limitation = limitation;
        if estimate < self.estimate * LARGE_FALL {
            self.fell = now;
            self.before_fall = self.estimate;
        }
        self.estimate = estimate;
        if self.state == State::Waiting && estimate > self.further_above {
            self.initiate(&[estimate * self.config.further_scale], true, now);
        }
    }

    pub(super) const fn set_limited(&mut self, since: Option<Instant>) {
        self.limited_since = since;
    }

    pub(super) const fn on_limit_ended(&mut self, now: Instant) {
        self.limit_ended = Some(now);
    }

    /// Requests a probe of the rate before a large fall, once the queue has drained: during
    /// application-limited regions the estimate would not find it again.
    pub(super) fn on_recovery(&mut self, now: Instant) {
        let ended = |ended: Instant| now.saturating_since(ended) < LIMIT_ENDED;
        let is_limited = self.limited_since.is_some() || self.limit_ended.is_some_and(ended);
        let rate = self.before_fall * SHARE_AFTER_FALL;
        if is_limited
            && self.state == State::Complete
            && rate * (1.0 - UNCERTAINTY) > self.estimate
            && now.saturating_since(self.fell) < FALL_TIMEOUT
            && now.saturating_since(self.fall_probed) > FALL_INTERVAL
        {
            self.fall_probed = now;
            self.initiate(&[rate], false, now);
        }
    }

    /// Ends the wait for results, and requests a probe in an application-limited region.
    pub(super) fn process(&mut self, now: Instant) {
        if self.state == State::Waiting && now.saturating_since(self.initiated) > WAITING {
            self.complete();
        }
        let Some(since) = self.limited_since else { return };
        if self.config.while_limited
            && self.state == State::Complete
            && now >= since.max(self.initiated) + self.config.limited_interval
        {
            self.initiate(&[self.estimate * self.config.limited_scale], true, now);
        }
    }

    const fn complete(&mut self) {
        self.state = State::Complete;
        self.further_above = DataRate::INFINITE;
    }

    fn initiate(&mut self, rates: &[DataRate], mut further: bool, now: Instant) {
        let max = match self.limitation {
            Limitation::RoundTrip | Limitation::Queue | Limitation::Loss => return,
            Limitation::LossIncreasing => self.max.min(self.estimate * self.config.loss_limited_scale),
            Limitation::Delay => self.max,
        };
        let mut last = DataRate::ZERO;
        for rate in rates {
            if *rate >= max {
                further = false;
            }
            last = rate.min(max);
            let size = last * self.config.duration;
            let probe = Probe { id: ProbeId(self.next), rate: last, size, packets: self.config.packets };
            self.next = self.next.wrapping_add(1);
            if self.pending.len() >= MOST_PENDING {
                self.pending.pop_front();
            }
            self.pending.push_back(probe);
        }
        self.initiated = now;
        if further {
            self.state = State::Waiting;
            self.further_above = last * self.config.further_threshold;
        } else {
            self.complete();
        }
    }

    /// The next probe to be sent.
    pub(super) fn poll(&mut self) -> Option<Probe> {
        self.pending.pop_front()
    }
}

#[cfg(test)]
mod tests;
