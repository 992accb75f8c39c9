//! The delay-based rate: additive or multiplicative increase, multiplicative decrease.

use libm::{ceil, pow};
use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

use super::link_capacity::LinkCapacity;
use super::overuse::Usage;

/// Increase in a second while the capacity is unknown.
const GROWTH: f64 = 1.08;
/// Least step of a multiplicative increase, in bit/s.
const LEAST_STEP: f64 = 1000.0;
/// Least additive increase in a second, in bit/s.
const LEAST_INCREASE: f64 = 4000.0;
/// Interval of video frames and size of packets from which the additive increase follows.
const FRAME_RATE: f64 = 30.0;
const PACKET: ByteCount = ByteCount::new(1200);
/// Delay of the detection of overuse.
const DETECTION: Duration = Duration::from_millis(100);
/// Bounds of the time between two decreases.
const DECREASE_INTERVAL: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(200));
/// A decrease goes below the acknowledged rate by this much besides beta.
const DECREASE_OFFSET: f64 = 5000.0;
/// Time of acknowledged rates after which they initialize the rate, where it was not set.
const INITIALIZATION: Duration = Duration::from_secs(5);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Hold,
    Increase,
}

/// The delay-based rate.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Aimd {
    beta: f64,
    min: DataRate,
    rate: DataRate,
    acknowledged: DataRate,
    capacity: LinkCapacity,
    state: State,
    changed: Option<Instant>,
    first_acknowledged: Option<Instant>,
    is_initialized: bool,
    rtt: Duration,
}

impl Aimd {
    /// A rate that is unknown until the first overuse, or until [`set_start`](Self::set_start).
    pub(super) const fn new(beta: f64, initial: DataRate, rtt: Duration) -> Self {
        Self {
            beta,
            min: DataRate::ZERO,
            rate: initial,
            acknowledged: initial,
            capacity: LinkCapacity::new(),
            state: State::Hold,
            changed: None,
            first_acknowledged: None,
            is_initialized: false,
            rtt,
        }
    }

    pub(super) const fn set_start(&mut self, rate: DataRate) {
        self.rate = rate;
        self.acknowledged = rate;
        self.is_initialized = true;
    }

    pub(super) fn set_min(&mut self, min: DataRate) {
        self.min = min;
        self.rate = self.rate.max(min);
    }

    pub(super) const fn set_rtt(&mut self, rtt: Duration) {
        self.rtt = rtt;
    }

    /// Sets the rate, as measured by a probe.
    pub(super) fn set_rate(&mut self, rate: DataRate, now: Instant) {
        self.is_initialized = true;
        self.rate = rate.max(self.min);
        self.changed = Some(now);
    }

    pub(super) const fn rate(&self) -> DataRate {
        self.rate
    }

    pub(super) const fn is_initialized(&self) -> bool {
        self.is_initialized
    }

    /// `true` if the rate may be decreased again: once in a round-trip time, or at once if less than half of
    /// it is acknowledged.
    pub(super) fn may_decrease(&self, now: Instant, acknowledged: DataRate) -> bool {
        let interval = self.rtt.clamp(DECREASE_INTERVAL.0, DECREASE_INTERVAL.1);
        self.changed.is_none_or(|changed| now.saturating_since(changed) >= interval)
            || (self.is_initialized && acknowledged < self.rate * 0.5)
    }

    /// `true` if the rate may be halved before any rate is acknowledged.
    pub(super) fn may_halve(&self, now: Instant) -> bool {
        let below = self.rate / 2.0 - DataRate::from_bits_per_second(1.0);
        self.is_initialized && self.may_decrease(now, below)
    }

    /// Updates the rate for the state of the path, and returns it.
    pub(super) fn update(&mut self, usage: Usage, acknowledged: Option<DataRate>, now: Instant) -> DataRate {
        if !self.is_initialized
            && let Some(acknowledged) = acknowledged
        {
            let first = *self.first_acknowledged.get_or_insert(now);
            if now.saturating_since(first) > INITIALIZATION {
                self.rate = acknowledged;
                self.is_initialized = true;
            }
        }
        let throughput = acknowledged.unwrap_or(self.acknowledged);
        self.acknowledged = throughput;
        // Overuse gives a valid rate even without a first estimate.
        if self.is_initialized || usage == Usage::Over {
            match usage {
                Usage::Over => self.decrease(throughput, now),
                Usage::Under => self.state = State::Hold,
                Usage::Normal => {
                    if self.state == State::Hold {
                        self.changed = Some(now);
                        self.state = State::Increase;
                    }
                    self.increase(throughput, now);
                }
            }
            self.rate = self.rate.max(self.min);
        }
        self.rate
    }

    fn increase(&mut self, throughput: DataRate, now: Instant) {
        if throughput > self.capacity.upper_bound() {
            self.capacity.reset();
        }
        // Unbounded growth would need no acknowledged packets. The constant helps uneven encoders at low
        // rates.
        let limit = throughput * 1.5 + DataRate::from_kilobits_per_second(10.0);
        if self.rate < limit {
            let time = self.changed.map(|changed| now.saturating_since(changed));
            let step = if self.capacity.estimate().is_some() {
                self.increase_per_second() * time.unwrap_or(Duration::ZERO).as_secs_f64()
            } else {
                let growth = pow(GROWTH, time.map_or(1.0, |time| time.as_secs_f64().min(1.0)));
                (self.rate.as_bits_per_second() * (growth - 1.0)).max(LEAST_STEP)
            };
            self.rate = (self.rate + DataRate::from_bits_per_second(step)).min(limit);
        }
        self.changed = Some(now);
    }

    /// Additive increase near the capacity, in bit/s in a second: an average packet in each response time,
    /// which is twice the sum of the round-trip time and the delay of detection.
    pub(super) fn increase_per_second(&self) -> f64 {
        let frame = self.rate.as_bytes_per_second() / FRAME_RATE;
        let packet = frame * 8.0 / ceil(frame / PACKET.as_f64()).max(1.0);
        let response = (self.rtt + DETECTION) * 2;
        (packet / response.as_secs_f64()).max(LEAST_INCREASE)
    }

    fn decrease(&mut self, throughput: DataRate, now: Instant) {
        let offset = DataRate::from_bits_per_second(DECREASE_OFFSET);
        let mut decreased = throughput * self.beta;
        if decreased > offset {
            decreased = decreased - offset;
        }
        if decreased > self.rate
            && let Some(capacity) = self.capacity.estimate()
        {
            decreased = capacity * self.beta;
        }
        self.rate = self.rate.min(decreased);
        if throughput < self.capacity.lower_bound() {
            self.capacity.reset();
        }
        self.is_initialized = true;
        self.capacity.on_overuse(throughput);
        // The queue drains before the next increase.
        self.state = State::Hold;
        self.changed = Some(now);
    }
}

#[cfg(test)]
mod tests;
