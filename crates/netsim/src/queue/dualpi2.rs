//! The dual-queue coupled AQM with a PI² controller (RFC 9332, Appendix A).
//!
//! Packets with ECT(1) or CE share a queue with a shallow threshold, all others have one that a PI controller
//! holds at its target. Both are coupled: the base probability `p'` is squared for the Classic queue and
//! multiplied by `k` for the low-latency one, so that flows of either kind get similar rates.
//!
//! Queue protection (RFC 9957) may redirect packets of flows that build a queue to the Classic queue.

mod pace;
mod protection;

pub use protection::QueueProtectionConfig;

use whimbrel_units::{Duration, Instant};

use self::protection::{FLOOR, Protection};
use super::fifo::Fifo;
use super::{DisciplineError, DropReason, Drops, QueueDiscipline, QueuedPacket};
use crate::{Count, Ecn, QueueLimit};

/// The parameters of DualPI2.
#[derive(Clone, PartialEq, Debug)]
pub struct DualPi2Config {
    /// `target`: the queueing delay that the Classic queue is held at. Default 15 ms.
    pub target: Duration,
    /// `RTT_max`: the longest typical round-trip time, which sets gains and update interval. Default 100 ms.
    pub rtt_max: Duration,
    /// `k`: the coupling factor. Default 2.
    pub coupling: f64,
    /// `minTh`: the low-latency queue's delay at which marking begins. Default 800 µs.
    pub min_threshold: Duration,
    /// `range`: marking is certain at `minTh + range`. Zero makes a step. Default 400 µs.
    pub range: Duration,
    /// One packet in this many is taken from the Classic queue, if it has any, however full the other is.
    /// Default 16, as in the weighted round robin of RFC 9332, Appendix A.1.
    pub classic_share: u32,
    /// Queue protection of the low-latency queue. Default: none.
    pub protection: Option<QueueProtectionConfig>,
}

impl Default for DualPi2Config {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(15),
            rtt_max: Duration::from_millis(100),
            coupling: 2.0,
            min_threshold: Duration::from_micros(800),
            range: Duration::from_micros(400),
            classic_share: 16,
            protection: None,
        }
    }
}

impl DualPi2Config {
    /// `Tupdate`
    fn update_interval(&self) -> Duration {
        self.target.min(self.rtt_max / 3)
    }

    /// `laqm`: the low-latency queue's own marking probability, a ramp over its delay.
    fn native_probability(&self, delay: Duration) -> f64 {
        let Self { min_threshold, range, .. } = *self;
        if delay >= min_threshold + range {
            1.0
        } else if delay > min_threshold {
            (delay - min_threshold).as_secs_f64() / range.as_secs_f64()
        } else {
            0.0
        }
    }
}

/// `recur`: marks as evenly as a probability allows, without random numbers.
#[derive(Default)]
struct Recurrence(f64);

impl Recurrence {
    fn happens(&mut self, probability: f64) -> bool {
        self.0 += probability;
        if self.0 > 1.0 {
            self.0 -= 1.0;
            return true;
        }
        false
    }
}

/// A DualPI2 queue.
pub struct DualPi2 {
    config: DualPi2Config,
    limit: QueueLimit,
    low_latency: Fifo,
    classic: Fifo,
    low_latency_count: Recurrence,
    classic_count: Recurrence,
    /// `p'`: the base probability.
    base: f64,
    /// `prevq`
    old_delay: Duration,
    next_update: Instant,
    /// Packets of the low-latency queue sent since the last of the Classic one.
    turn: u32,
    protection: Option<Protection>,
}

impl DualPi2 {
    /// An empty queue. `limit` bounds both queues together.
    ///
    /// # Errors
    /// If a parameter is out of range.
    pub fn new(config: &DualPi2Config, limit: QueueLimit) -> Result<Self, DisciplineError> {
        let check = DisciplineError::check;
        check(config.target > Duration::ZERO, "target", &config.target, "above 0")?;
        check(config.rtt_max > Duration::ZERO, "rtt_max", &config.rtt_max, "above 0")?;
        check(
            config.coupling.is_finite() && config.coupling >= 1.0,
            "coupling",
            &config.coupling,
            "at least 1",
        )?;
        check(config.classic_share >= 2, "classic_share", &config.classic_share, "at least 2")?;
        let upper_threshold = config.min_threshold + config.range;
        let protection = config.protection.as_ref();
        Ok(Self {
            protection: protection.map(|config| Protection::new(config, upper_threshold)).transpose()?,
            limit,
            low_latency: Fifo::default(),
            classic: Fifo::default(),
            low_latency_count: Recurrence::default(),
            classic_count: Recurrence::default(),
            base: 0.0,
            old_delay: Duration::ZERO,
            next_update: Instant::ZERO + config.update_interval(),
            turn: 0,
            config: config.clone(),
        })
    }

    /// `p'`: the base probability of the PI controller.
    pub fn base_probability(&self) -> f64 {
        self.base
    }

    /// `p_C = p'^2`: the probability of a drop or mark in the Classic queue.
    pub fn classic_probability(&self) -> f64 {
        self.base * self.base
    }

    /// `p_CL = k p'`: the probability that the Classic queue couples to marks of the low-latency queue.
    pub fn coupled_probability(&self) -> f64 {
        self.config.coupling * self.base
    }

    /// Runs the updates that have come due, each with the delays of its own time.
    fn catch_up(&mut self, now: Instant) {
        let interval = self.config.update_interval();
        while self.next_update <= now {
            let idle = self.backlog().packets == 0 && self.old_delay == Duration::ZERO && self.base == 0.0;
            if idle {
                let passed = (now - self.next_update).as_nanos() / interval.as_nanos() + 1;
                self.next_update += Duration::from_nanos(passed * interval.as_nanos());
                return;
            }
            self.update(self.next_update);
            self.next_update += interval;
        }
    }

    /// `dualpi2_update`: a PI controller of the longer of both delays.
    fn update(&mut self, at: Instant) {
        let DualPi2Config { target, rtt_max, .. } = self.config;
        let delay = self.classic.head_delay(at).max(self.low_latency.head_delay(at));
        let (interval, rtt_max) = (self.config.update_interval().as_secs_f64(), rtt_max.as_secs_f64());
        let alpha = 0.1 * interval / (rtt_max * rtt_max);
        let beta = 0.3 / rtt_max;
        self.base += alpha * (delay.as_secs_f64() - target.as_secs_f64())
            + beta * (delay.as_secs_f64() - self.old_delay.as_secs_f64());
        self.base = self.base.clamp(0.0, 1.0);
        self.old_delay = delay;
    }

    /// Returns `true` if queue protection redirects an arrival of the low-latency queue to the Classic queue.
    fn redirects(&mut self, now: Instant, packet: &QueuedPacket) -> bool {
        let Some(protection) = &mut self.protection else { return false };
        let bytes = self.low_latency.backlog().bytes;
        // The head has waited longer than the pace tells if the link has become slow or has gone down.
        let delay = protection.pace.delay(bytes).max(self.low_latency.head_delay(now));
        let probability = if bytes > FLOOR { self.config.native_probability(delay) } else { 0.0 };
        protection.redirects(now, packet.flow, packet.size, delay, probability)
    }

    /// `p_Cmax`: from this probability on, ECN is switched off for Classic packets.
    fn classic_overload(&self) -> f64 {
        (1.0 / (self.config.coupling * self.config.coupling)).min(1.0)
    }

    /// `scheduler`: weighted round robin that lets the low-latency queue go first.
    fn serves_low_latency(&mut self) -> bool {
        let (low, classic) = (self.low_latency.head().is_some(), self.classic.head().is_some());
        if low && classic {
            self.turn = (self.turn + 1) % self.config.classic_share;
            return self.turn != 0;
        }
        low
    }

    /// Marks or drops the packet as the law of its queue demands; `None` if it was dropped.
    fn police_low_latency(
        &mut self,
        now: Instant,
        mut packet: QueuedPacket,
        drops: &mut Drops,
    ) -> Option<QueuedPacket> {
        let coupled = self.coupled_probability();
        if coupled < 1.0 {
            // A queue of a single packet is never marked for its own length (`Th_len`).
            let waits = self.low_latency.head().is_some();
            let native = if waits { self.config.native_probability(now - packet.arrival) } else { 0.0 };
            if self.low_latency_count.happens(native.max(coupled)) {
                packet.mark();
            }
            return Some(packet);
        }
        // Overload: both queues drop alike, and what remains is marked.
        if self.low_latency_count.happens(self.classic_probability()) {
            drops.push(packet, DropReason::Early);
            return None;
        }
        if self.low_latency_count.happens(coupled) {
            packet.mark();
        }
        Some(packet)
    }

    fn police_classic(&mut self, mut packet: QueuedPacket, drops: &mut Drops) -> Option<QueuedPacket> {
        let probability = self.classic_probability();
        if self.classic_count.happens(probability) {
            let overload = probability >= self.classic_overload();
            if overload || !packet.mark() {
                drops.push(packet, DropReason::Early);
                return None;
            }
        }
        Some(packet)
    }
}

impl QueueDiscipline for DualPi2 {
    fn enqueue(&mut self, now: Instant, packet: QueuedPacket, drops: &mut Drops) {
        self.catch_up(now);
        if !self.limit.admits(self.backlog(), packet.size) {
            drops.push(packet, DropReason::Overflow);
        } else if matches!(packet.ecn, Ecn::Ect1 | Ecn::Ce) && !self.redirects(now, &packet) {
            self.low_latency.push(packet);
        } else {
            self.classic.push(packet);
        }
    }

    fn dequeue(&mut self, now: Instant, drops: &mut Drops) -> Option<QueuedPacket> {
        self.catch_up(now);
        loop {
            let kept = if self.serves_low_latency() {
                let packet = self.low_latency.pop()?;
                let size = packet.size;
                let kept = self.police_low_latency(now, packet, drops);
                if let Some(protection) = &mut self.protection {
                    protection.pace.depart(now, size, kept.is_some() && self.low_latency.head().is_some());
                }
                kept
            } else {
                let packet = self.classic.pop()?;
                self.police_classic(packet, drops)
            };
            if kept.is_some() {
                return kept;
            }
        }
    }

    fn backlog(&self) -> Count {
        let mut backlog = self.classic.backlog();
        backlog += self.low_latency.backlog();
        backlog
    }
}

#[cfg(test)]
mod tests;
