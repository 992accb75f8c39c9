//! Proportional Integral controller Enhanced (RFC 8033, Sections 4 and 5, Appendices A and B).
//!
//! The queueing delay is taken from the packets' times of arrival, as in Appendix A.

use whimbrel_units::{Duration, Instant};

use super::fifo::Fifo;
use super::{DisciplineError, DropReason, Drops, QueueDiscipline, QueuedPacket};
use crate::random::RandomStream;
use crate::{Count, QueueLimit};

/// The parameters of PIE.
#[derive(Clone, PartialEq, Debug)]
pub struct PieConfig {
    /// `QDELAY_REF`: the target of the queueing delay. Default 15 ms.
    pub target: Duration,
    /// `T_UPDATE`: the interval between updates of the drop probability. Default 15 ms.
    pub update_interval: Duration,
    /// `MAX_BURST`: how long a burst into an idle queue passes without drops. Default 150 ms.
    pub max_burst: Duration,
    /// The weight of the deviation from the target, per second. Default 0.125.
    pub alpha: f64,
    /// The weight of the change of the delay, per second. Default 1.25.
    pub beta: f64,
    /// `true` to mark ECN-capable packets instead of dropping them while the drop probability is at most
    /// 10 % (RFC 8033, Section 5.1). Default false.
    pub ecn: bool,
    /// `true` to spread drops evenly (RFC 8033, Section 5.4). Default true.
    pub derandomized: bool,
    /// `true` if one update raises a probability of at least 10 % by at most 2 % (RFC 8033, Section 5.5).
    /// Default true.
    pub capped: bool,
}

impl Default for PieConfig {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(15),
            update_interval: Duration::from_millis(15),
            max_burst: Duration::from_millis(150),
            alpha: 0.125,
            beta: 1.25,
            ecn: false,
            derandomized: true,
            capped: true,
        }
    }
}

/// `mark_ecnth`
const ECN_LIMIT: f64 = 0.1;
/// `MEAN_PKTSIZE`: nothing is dropped while at most two such packets wait.
const MEAN_PACKET_SIZE: u64 = 1_500;

/// A PIE queue.
pub struct Pie {
    config: PieConfig,
    limit: QueueLimit,
    random: RandomStream,
    fifo: Fifo,
    /// `drop_prob_`
    probability: f64,
    /// `accu_prob_`
    accumulated: f64,
    /// `current_qdelay`: the delay of the packet that left last; nothing once the queue is empty.
    delay: Duration,
    /// `qdelay_old_`
    old_delay: Duration,
    burst_allowance: Duration,
    next_update: Instant,
}

impl Pie {
    /// An empty queue.
    ///
    /// # Errors
    /// If a parameter is out of range.
    pub fn new(config: &PieConfig, limit: QueueLimit, random: RandomStream) -> Result<Self, DisciplineError> {
        let check = DisciplineError::check;
        check(config.target > Duration::ZERO, "target", &config.target, "above 0")?;
        check(
            config.update_interval > Duration::ZERO,
            "update_interval",
            &config.update_interval,
            "above 0",
        )?;
        check(config.alpha.is_finite() && config.alpha > 0.0, "alpha", &config.alpha, "above 0")?;
        check(config.beta.is_finite() && config.beta > 0.0, "beta", &config.beta, "above 0")?;
        Ok(Self {
            limit,
            random,
            fifo: Fifo::default(),
            probability: 0.0,
            accumulated: 0.0,
            delay: Duration::ZERO,
            old_delay: Duration::ZERO,
            burst_allowance: Duration::ZERO,
            next_update: Instant::ZERO + config.update_interval,
            config: config.clone(),
        })
    }

    /// The present drop probability.
    pub fn probability(&self) -> f64 {
        self.probability
    }

    /// Runs the updates that have come due. Between calls only time passes: running late changes nothing.
    fn catch_up(&mut self, now: Instant) {
        while self.next_update <= now {
            if self.at_rest() {
                // Further updates change nothing: the next one keeps its place in the grid.
                let interval = self.config.update_interval.as_nanos();
                let passed = (now - self.next_update).as_nanos() / interval + 1;
                self.next_update += Duration::from_nanos(passed * interval);
                return;
            }
            self.update();
            self.next_update += self.config.update_interval;
        }
    }

    fn at_rest(&self) -> bool {
        self.probability == 0.0
            && self.delay == Duration::ZERO
            && self.old_delay == Duration::ZERO
            && self.burst_allowance == Duration::ZERO
    }

    /// `calculate_drop_prob`
    fn update(&mut self) {
        let PieConfig { target, alpha, beta, update_interval, .. } = self.config;
        let (delay, old) = (self.delay.as_secs_f64(), self.old_delay.as_secs_f64());
        let mut change = alpha * (delay - target.as_secs_f64()) + beta * (delay - old);
        // The smaller the probability, the smaller the steps (Section 4.2).
        change /= match self.probability {
            p if p < 0.000_001 => 2_048.0,
            p if p < 0.000_01 => 512.0,
            p if p < 0.000_1 => 128.0,
            p if p < 0.001 => 32.0,
            p if p < 0.01 => 8.0,
            p if p < 0.1 => 2.0,
            _ => 1.0,
        };
        if self.config.capped && self.probability >= 0.1 {
            change = change.min(0.02);
        }
        self.probability += change;
        if self.delay == Duration::ZERO && self.old_delay == Duration::ZERO {
            self.probability *= 0.98;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.old_delay = self.delay;
        self.burst_allowance = self.burst_allowance.saturating_sub(update_interval);
    }

    /// `drop_early`
    fn drops_early(&mut self) -> bool {
        let uncongested = self.old_delay < self.config.target / 2 && self.probability < 0.2;
        if uncongested || self.fifo.backlog().bytes <= 2 * MEAN_PACKET_SIZE {
            return false;
        }
        if !self.config.derandomized {
            return self.random.bernoulli(self.probability);
        }
        if self.probability == 0.0 {
            self.accumulated = 0.0;
        }
        self.accumulated += self.probability;
        if self.accumulated < 0.85 {
            return false;
        }
        if self.accumulated >= 8.5 || self.random.bernoulli(self.probability) {
            self.accumulated = 0.0;
            return true;
        }
        false
    }
}

impl QueueDiscipline for Pie {
    fn enqueue(&mut self, now: Instant, mut packet: QueuedPacket, drops: &mut Drops) {
        self.catch_up(now);
        let half = self.config.target / 2;
        if self.probability == 0.0 && self.delay < half && self.old_delay < half {
            self.burst_allowance = self.config.max_burst;
        }
        if !self.limit.admits(self.fifo.backlog(), packet.size) {
            return drops.push(packet, DropReason::Overflow);
        }
        if self.burst_allowance == Duration::ZERO && self.drops_early() {
            let may_mark = self.config.ecn && self.probability <= ECN_LIMIT;
            if !(may_mark && packet.mark()) {
                return drops.push(packet, DropReason::Early);
            }
        }
        self.fifo.push(packet);
    }

    fn dequeue(&mut self, now: Instant, _: &mut Drops) -> Option<QueuedPacket> {
        self.catch_up(now);
        let packet = self.fifo.pop()?;
        // The delay of an empty queue is zero, however long the last packet waited.
        self.delay = if self.fifo.backlog().packets == 0 { Duration::ZERO } else { now - packet.arrival };
        Some(packet)
    }

    fn backlog(&self) -> Count {
        self.fifo.backlog()
    }
}

#[cfg(test)]
mod tests;
