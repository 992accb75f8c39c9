//! Random Early Detection (Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance",
//! IEEE/ACM Transactions on Networking 1(4), August 1993, Figure 2), with Floyd's "gentle" variant.

use whimbrel_units::{Duration, Instant};

use super::fifo::Fifo;
use super::{DisciplineError, DropReason, Drops, QueueDiscipline, QueuedPacket};
use crate::random::RandomStream;
use crate::{Count, QueueLimit};

/// The parameters of RED, in packets.
#[derive(Clone, PartialEq, Debug)]
pub struct RedConfig {
    /// `min_th`: below this average queue no packet is dropped. Default 5 packets.
    pub min_threshold: f64,
    /// `max_th`: from this average queue on every packet is dropped, or with `gentle` from twice as much on.
    /// Default 15 packets.
    pub max_threshold: f64,
    /// `max_p`: the probability of a drop where the average reaches `max_th`. Default 0.1.
    pub max_probability: f64,
    /// `w_q`: the weight of the present queue in its average. Default 0.002.
    pub weight: f64,
    /// `true` if the probability rises from `max_p` to 1 between `max_th` and twice `max_th`. Default true.
    pub gentle: bool,
    /// `true` to mark ECN-capable packets where others are dropped early. Default false.
    pub ecn: bool,
    /// The time in which the link transmits a typical small packet: the unit in which an idle queue's
    /// average decays (`s` in the article). Default 1 ms.
    pub idle_packet_time: Duration,
}

impl Default for RedConfig {
    fn default() -> Self {
        Self {
            min_threshold: 5.0,
            max_threshold: 15.0,
            max_probability: 0.1,
            weight: 0.002,
            gentle: true,
            ecn: false,
            idle_packet_time: Duration::from_millis(1),
        }
    }
}

/// A RED queue.
pub struct Red {
    config: RedConfig,
    limit: QueueLimit,
    random: RandomStream,
    fifo: Fifo,
    /// `avg`
    average: f64,
    /// `count`: packets since the last drop or mark; `None` while the average is below `min_th`.
    since_last: Option<u32>,
    /// `q_time`: since when the queue has been empty.
    idle_since: Option<Instant>,
}

impl Red {
    /// An empty queue.
    ///
    /// # Errors
    /// If a parameter is out of range.
    pub fn new(config: &RedConfig, limit: QueueLimit, random: RandomStream) -> Result<Self, DisciplineError> {
        let check = DisciplineError::check;
        let RedConfig { min_threshold: min, max_threshold: max, max_probability, weight, .. } = *config;
        check(min.is_finite() && min > 0.0, "min_threshold", &min, "a number of packets above 0")?;
        check(max.is_finite() && max > min, "max_threshold", &max, "more packets than min_threshold")?;
        check(
            max_probability > 0.0 && max_probability <= 1.0,
            "max_probability",
            &max_probability,
            "above 0 and at most 1",
        )?;
        check(weight > 0.0 && weight <= 1.0, "weight", &weight, "above 0 and at most 1")?;
        check(
            config.idle_packet_time > Duration::ZERO,
            "idle_packet_time",
            &config.idle_packet_time,
            "above 0",
        )?;
        Ok(Self {
            config: config.clone(),
            limit,
            random,
            fifo: Fifo::default(),
            average: 0.0,
            since_last: None,
            idle_since: Some(Instant::ZERO),
        })
    }

    /// The average queue in packets.
    pub fn average(&self) -> f64 {
        self.average
    }

    fn update_average(&mut self, now: Instant) {
        let weight = self.config.weight;
        if let Some(idle_since) = self.idle_since.take() {
            let packets = (now - idle_since).as_secs_f64() / self.config.idle_packet_time.as_secs_f64();
            self.average *= libm::pow(1.0 - weight, packets);
        } else {
            self.average += weight * (self.fifo.backlog().packets as f64 - self.average);
        }
    }

    /// `p_b`: the probability of a drop by the average alone; 1 where every packet is dropped.
    fn base_probability(&self) -> f64 {
        let RedConfig { min_threshold: min, max_threshold: max, max_probability, gentle, .. } = self.config;
        let average = self.average;
        if average < min {
            0.0
        } else if average < max {
            max_probability * (average - min) / (max - min)
        } else if gentle && average < 2.0 * max {
            max_probability + (1.0 - max_probability) * (average - max) / max
        } else {
            1.0
        }
    }

    /// Decides if this packet is dropped or marked, and if only a drop will do.
    fn notifies(&mut self) -> Option<Severity> {
        let base = self.base_probability();
        if base == 0.0 {
            self.since_last = None;
            return None;
        }
        if base >= 1.0 {
            self.since_last = Some(0);
            return Some(Severity::Drop);
        }
        let count = self.since_last.map_or(0, |count| count + 1);
        self.since_last = Some(count);
        // p_a = p_b / (1 - count p_b) spaces drops evenly: their distances are uniform, not geometric.
        let remaining = 1.0 - f64::from(count) * base;
        if remaining > base && !self.random.bernoulli(base / remaining) {
            return None;
        }
        self.since_last = Some(0);
        Some(Severity::Notify)
    }
}

enum Severity {
    Notify,
    Drop,
}

impl QueueDiscipline for Red {
    fn enqueue(&mut self, now: Instant, mut packet: QueuedPacket, drops: &mut Drops) {
        self.update_average(now);
        let severity = self.notifies();
        if !self.limit.admits(self.fifo.backlog(), packet.size) {
            drops.push(packet, DropReason::Overflow);
        } else {
            match severity {
                Some(Severity::Notify) if self.config.ecn && packet.mark() => self.fifo.push(packet),
                Some(_) => drops.push(packet, DropReason::Early),
                None => self.fifo.push(packet),
            }
        }
        if self.fifo.backlog().packets == 0 {
            self.idle_since = Some(now);
        }
    }

    fn dequeue(&mut self, now: Instant, _: &mut Drops) -> Option<QueuedPacket> {
        let packet = self.fifo.pop()?;
        if self.fifo.backlog().packets == 0 {
            self.idle_since = Some(now);
        }
        Some(packet)
    }

    fn backlog(&self) -> Count {
        self.fifo.backlog()
    }
}

#[cfg(test)]
mod tests;
