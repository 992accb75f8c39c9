//! Controlled Delay (RFC 8289, Section 5).

use whimbrel_units::{Duration, Instant};

use super::fifo::Fifo;
use super::{DisciplineError, DropReason, Drops, QueueDiscipline, QueuedPacket};
use crate::{Count, QueueLimit};

/// The parameters of CoDel.
#[derive(Clone, PartialEq, Debug)]
pub struct CoDelConfig {
    /// `TARGET`: the acceptable standing delay. Default 5 ms (RFC 8289, Section 4.3).
    pub target: Duration,
    /// `INTERVAL`: the time above target after which packets are dropped; about a worst-case round-trip
    /// time. Default 100 ms (RFC 8289, Section 4.2).
    pub interval: Duration,
    /// `true` to mark ECN-capable packets instead of dropping them. Default false.
    pub ecn: bool,
    /// `MAXPACKET`: with at most this many bytes in the queue nothing is dropped. Default 1514 bytes.
    pub max_packet: u32,
}

impl Default for CoDelConfig {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            ecn: false,
            max_packet: 1_514,
        }
    }
}

impl CoDelConfig {
    pub(super) fn check(&self) -> Result<(), DisciplineError> {
        let check = DisciplineError::check;
        check(self.target > Duration::ZERO, "target", &self.target, "above 0")?;
        check(self.interval > self.target, "interval", &self.interval, "more than target")
    }
}

/// The state of the law for one queue (RFC 8289, Section 5.2).
#[derive(Default)]
pub(super) struct Law {
    /// The time at which the delay will have been above target for an interval; `None` while it is below.
    first_above: Option<Instant>,
    drop_next: Instant,
    count: u32,
    last_count: u32,
    dropping: bool,
}

impl Law {
    /// Takes the next packet to transmit out of `fifo`, dropping or marking as the law demands.
    pub(super) fn dequeue(
        &mut self,
        now: Instant,
        fifo: &mut Fifo,
        config: &CoDelConfig,
        drops: &mut Drops,
    ) -> Option<QueuedPacket> {
        let (mut packet, mut ok_to_drop) = self.take_head(now, fifo, config);
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while self.dropping && now >= self.drop_next {
                self.count = self.count.saturating_add(1);
                if Self::notify(&mut packet, config, drops) {
                    // A mark is the signal for this drop time. The packet still leaves, so the next one has
                    // to wait.
                    self.drop_next = control_law(self.drop_next, self.count, config.interval);
                    break;
                }
                (packet, ok_to_drop) = self.take_head(now, fifo, config);
                if ok_to_drop {
                    self.drop_next = control_law(self.drop_next, self.count, config.interval);
                } else {
                    self.dropping = false;
                }
            }
        } else if ok_to_drop {
            if !Self::notify(&mut packet, config, drops) {
                (packet, _) = self.take_head(now, fifo, config);
            }
            self.dropping = true;
            // Shortly after the last dropping state the law goes on near the rate that controlled the queue.
            let delta = self.count.saturating_sub(self.last_count);
            let recent = now.saturating_since(self.drop_next) < config.interval * 16;
            self.count = if delta > 1 && recent { delta } else { 1 };
            self.drop_next = control_law(now, self.count, config.interval);
            self.last_count = self.count;
        }
        packet
    }

    /// `dodequeue`: the head of the queue, and whether its delay allows a drop.
    fn take_head(
        &mut self,
        now: Instant,
        fifo: &mut Fifo,
        config: &CoDelConfig,
    ) -> (Option<QueuedPacket>, bool) {
        let Some(packet) = fifo.pop() else {
            self.first_above = None;
            return (None, false);
        };
        let short = now.saturating_since(packet.arrival) < config.target;
        if short || fifo.backlog().bytes <= u64::from(config.max_packet) {
            self.first_above = None;
            return (Some(packet), false);
        }
        let due = *self.first_above.get_or_insert(now + config.interval);
        (Some(packet), now >= due)
    }

    /// Marks the packet and returns true, or drops it and returns false.
    fn notify(packet: &mut Option<QueuedPacket>, config: &CoDelConfig, drops: &mut Drops) -> bool {
        if config.ecn && packet.as_mut().is_some_and(QueuedPacket::mark) {
            return true;
        }
        if let Some(packet) = packet.take() {
            drops.push(packet, DropReason::Early);
        }
        false
    }
}

/// `control_law`: drops follow each other at intervals that shrink with the root of their number.
fn control_law(from: Instant, count: u32, interval: Duration) -> Instant {
    from + interval.mul_f64(1.0 / libm::sqrt(f64::from(count)))
}

/// A FIFO whose standing delay CoDel controls.
pub struct CoDel {
    config: CoDelConfig,
    limit: QueueLimit,
    fifo: Fifo,
    law: Law,
}

impl CoDel {
    /// An empty queue.
    ///
    /// # Errors
    /// If a parameter is out of range.
    pub fn new(config: &CoDelConfig, limit: QueueLimit) -> Result<Self, DisciplineError> {
        config.check()?;
        Ok(Self { config: config.clone(), limit, fifo: Fifo::default(), law: Law::default() })
    }
}

impl QueueDiscipline for CoDel {
    fn enqueue(&mut self, _: Instant, packet: QueuedPacket, drops: &mut Drops) {
        if self.limit.admits(self.fifo.backlog(), packet.size) {
            self.fifo.push(packet);
        } else {
            drops.push(packet, DropReason::Overflow);
        }
    }

    fn dequeue(&mut self, now: Instant, drops: &mut Drops) -> Option<QueuedPacket> {
        self.law.dequeue(now, &mut self.fifo, &self.config, drops)
    }

    fn backlog(&self) -> Count {
        self.fifo.backlog()
    }
}

#[cfg(test)]
mod tests;
