//! The router of RCP.

use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

use super::slot::Slot;
use super::{RcpConfig, TrafficSource};
use crate::capacity::Estimate;
use crate::explicit_rate::egress::EgressRates;
use crate::explicit_rate::{FlowHeader, RouterLaw};

/// Bits per second in a byte per millisecond, the unit of rates in algorithm 7 of paper `winf`.
const BYTE_PER_MILLISECOND: f64 = 8000.0;

/// An RCP router for one egress.
///
/// At the end of each slot of T = min(d, 10 ms), with the input rate y, the queue q and the average
/// round-trip time d:
///
/// ```text
/// R <- R [1 + (T/d) (alpha (gamma C - y) - beta q/d) / (gamma C)]
/// ```
///
/// clamped to \[minimum rate, gamma C\]. d follows the mean m of the round-trip times in the slot: fast
/// upwards, with gain T/d, and slowly downwards, with gain (R/C) (m/d) (T/d).
#[derive(Clone, Debug)]
pub struct RcpRouter {
    config: RcpConfig,
    egress: EgressRates,
    /// R in bit/s.
    rate: f64,
    /// d in seconds.
    average_rtt: f64,
    slot: Slot,
}

impl RcpRouter {
    /// A router whose first slot begins at `now`.
    pub fn new(config: RcpConfig, capacity: DataRate, now: Instant) -> Self {
        let egress = EgressRates::new(capacity);
        let slot = Slot::new(now, config.initial_rtt.min(config.max_slot));
        let average_rtt = config.initial_rtt.as_secs_f64();
        Self { config, egress, rate: egress.capacity * config.initial_share, average_rtt, slot }
    }

    /// R, the rate of each flow.
    pub fn rate(&self) -> DataRate {
        DataRate::from_bits_per_second(self.rate)
    }

    /// The average round-trip time d.
    pub fn average_rtt(&self) -> Duration {
        Duration::from_secs_f64(self.average_rtt)
    }

    fn update_rtt(&mut self, slot: f64) {
        let Some(mean) = self.slot.mean_rtt() else { return };
        let upwards = slot / self.average_rtt;
        let gain = if mean >= self.average_rtt {
            upwards
        } else {
            let share = if self.egress.capacity > 0.0 { self.rate / self.egress.capacity } else { 0.0 };
            share * (mean / self.average_rtt) * upwards
        };
        // The slot is no longer than d, unless the timer was processed late.
        self.average_rtt += gain.min(1.0) * (mean - self.average_rtt);
        self.average_rtt = self.average_rtt.max(1e-9);
    }

    fn update_rate(&mut self, slot: f64, queue: f64) {
        let RcpConfig { alpha, beta, utilization, floor_packets, floor_packet, .. } = self.config;
        let input = match self.config.traffic {
            TrafficSource::Measured => self.slot.input / slot,
            TrafficSource::Available => self.egress.available,
            TrafficSource::Used => self.egress.capacity - self.egress.available,
        };
        let target = utilization * self.egress.capacity;
        let change = alpha * (target - input) - beta * queue / self.average_rtt;
        let divisor = if self.config.is_normalized { target } else { BYTE_PER_MILLISECOND };
        let factor = 1.0 + slot / self.average_rtt * change / divisor;
        let rate = if target > 0.0 { self.rate * factor } else { 0.0 };
        let floor = floor_packets * floor_packet.bits() as f64 / self.average_rtt;
        self.rate = if rate < floor { floor } else { rate.min(target) };
    }
}

impl RouterLaw for RcpRouter {
    fn on_arrival(&mut self, now: Instant, size: u32, header: Option<&FlowHeader>, _backlog: ByteCount) {
        let bits = f64::from(size) * 8.0;
        self.slot.on_arrival(now, bits, self.egress.capacity);
        if let Some(header) = header.filter(|header| !header.rtt.is_zero()) {
            self.slot.on_rtt(header.rtt, bits, self.config.averaging);
        }
    }

    fn on_departure(
        &mut self,
        _now: Instant,
        _size: u32,
        header: Option<&mut FlowHeader>,
        _backlog: ByteCount,
    ) {
        // A negative request is "as much as possible".
        if let Some(header) = header
            && !(0.0..=self.rate).contains(&header.allocation)
        {
            header.allocation = self.rate;
        }
    }

    fn on_timeout(&mut self, now: Instant, backlog: ByteCount) {
        if now < self.slot.deadline {
            return;
        }
        let slot = now.saturating_since(self.slot.since).max(Duration::from_nanos(1)).as_secs_f64();
        self.update_rtt(slot);
        self.update_rate(slot, backlog.bits() as f64);
        let next = Duration::from_secs_f64(self.average_rtt).min(self.config.max_slot);
        self.slot.advance(now, next.max(Duration::from_nanos(1)));
    }

    fn poll_timeout(&self) -> Option<Instant> {
        Some(self.slot.deadline)
    }

    fn set_capacity(&mut self, capacity: DataRate) {
        self.egress.set_capacity(capacity);
    }

    fn set_estimate(&mut self, estimate: Estimate) {
        self.egress.set_estimate(estimate);
    }
}
