//! ABC, Accel-Brake Control: one bit of feedback per packet.
//!
//! The router marks each packet "accelerate" or "brake", and the sender adds or removes one packet for it:
//! with a fraction f of accelerates, the rate of a round-trip time later is 2 f times the rate now (Goyal et
//! al., "ABC: a simple explicit congestion controller for wireless networks", NSDI 2020, Section 3.1).

use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

use super::{FlowHeader, RouterLaw};

/// Parameters of an ABC router.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct AbcConfig {
    /// eta: target utilization.
    pub utilization: f64,
    /// delta: time in which excess queueing delay is drained; stable above two thirds of the round-trip time
    /// (Theorem 3.1).
    pub drain_time: Duration,
    /// d_t: queueing delay without effect.
    pub delay_threshold: Duration,
    /// Period over which the departure rate is measured.
    pub window: Duration,
    /// `tokenLimit`: accelerates that may be saved up.
    pub token_limit: f64,
}

impl Default for AbcConfig {
    /// eta = 0.98, delta = 133 ms, and the token limit of 5 of the queue discipline for Linux of the
    /// University of Oslo. d_t = 20 ms, above the batches of a wireless MAC, and the window of 40 ms are
    /// choices of this implementation.
    fn default() -> Self {
        Self {
            utilization: 0.98,
            drain_time: Duration::from_millis(133),
            delay_threshold: Duration::from_millis(20),
            window: Duration::from_millis(40),
            token_limit: 5.0,
        }
    }
}

/// Parts of the window over which the departure rate is measured.
const PARTS: usize = 8;

/// Bits that departed in the last window, in parts.
#[derive(Clone, Copy, PartialEq, Debug)]
struct DepartureRate {
    part: Duration,
    parts: [f64; PARTS],
    /// Part of the latest departure, counted from the start.
    latest: u64,
    start: Instant,
}

impl DepartureRate {
    fn new(window: Duration, start: Instant) -> Self {
        let part = (window / PARTS as u64).max(Duration::from_nanos(1));
        Self { part, parts: [0.0; PARTS], latest: 0, start }
    }

    /// The rate in bit/s of the departures before `now`, at which `bits` depart.
    fn on_departure(&mut self, now: Instant, bits: f64) -> f64 {
        let current = now.saturating_since(self.start).as_nanos() / self.part.as_nanos();
        for skipped in (self.latest + 1..=current).take(PARTS) {
            self.parts[(skipped % PARTS as u64) as usize] = 0.0;
        }
        if current - self.latest.min(current) >= PARTS as u64 {
            self.parts = [0.0; PARTS];
        }
        self.latest = self.latest.max(current);
        let whole_parts = self.latest.min(PARTS as u64 - 1);
        let since = self.start + self.part * (self.latest - whole_parts);
        // A window that has just begun is not shorter than one part.
        let elapsed = now.saturating_since(since).max(self.part);
        let rate = self.parts.iter().sum::<f64>() / elapsed.as_secs_f64();
        self.parts[(self.latest % PARTS as u64) as usize] += bits;
        rate
    }
}

/// An ABC router for one egress.
///
/// With the capacity mu, the queueing delay x and the departure rate cr, the target rate is
/// `tr = eta mu - mu/delta max(0, x - d_t)` and the fraction of accelerates `f = min(tr / (2 cr), 1)`
/// (equations 1 and 2). Marking is deterministic: each departure adds f to a token, up to the limit, and an
/// accelerate takes 1 (algorithm 1). A brake of an earlier router stays.
#[derive(Clone, Debug)]
pub struct AbcRouter {
    config: AbcConfig,
    /// mu in bit/s.
    capacity: f64,
    departures: DepartureRate,
    token: f64,
    fraction: f64,
}

impl AbcRouter {
    /// A router that begins to measure at `now`.
    pub fn new(config: AbcConfig, capacity: DataRate, now: Instant) -> Self {
        let departures = DepartureRate::new(config.window, now);
        let capacity = capacity.as_bits_per_second().min(1e18);
        Self { config, capacity, departures, token: 0.0, fraction: 0.0 }
    }

    /// f at the last departure.
    pub fn fraction(&self) -> f64 {
        self.fraction
    }

    /// The target rate with `backlog` in the queue.
    pub fn target_rate(&self, backlog: ByteCount) -> DataRate {
        if self.capacity <= 0.0 {
            return DataRate::ZERO;
        }
        let delay = backlog.bits() as f64 / self.capacity;
        let excess = (delay - self.config.delay_threshold.as_secs_f64()).max(0.0);
        let drain = self.config.drain_time.as_secs_f64().max(1e-9);
        DataRate::from_bits_per_second(self.capacity * (self.config.utilization - excess / drain))
    }

    /// The mark of a packet of `size` bytes that leaves `backlog` behind: `true` for accelerate. `accelerate`
    /// is its mark on arrival.
    pub fn mark(&mut self, now: Instant, size: u32, accelerate: bool, backlog: ByteCount) -> bool {
        let departing = self.departures.on_departure(now, f64::from(size) * 8.0);
        let target = self.target_rate(backlog).as_bits_per_second();
        self.fraction = if departing > 0.0 { (target / (2.0 * departing)).min(1.0) } else { 1.0 };
        self.token = (self.token + self.fraction).min(self.config.token_limit);
        let is_accelerated = accelerate && self.token > 1.0;
        if is_accelerated {
            self.token -= 1.0;
        }
        is_accelerated
    }
}

/// The mark occupies the allocation: positive for accelerate, -1 for brake.
impl RouterLaw for AbcRouter {
    fn on_arrival(&mut self, _now: Instant, _size: u32, _header: Option<&FlowHeader>, _backlog: ByteCount) {}

    fn on_departure(&mut self, now: Instant, size: u32, header: Option<&mut FlowHeader>, backlog: ByteCount) {
        match header {
            Some(header) => {
                let is_accelerated = self.mark(now, size, header.allocation > 0.0, backlog);
                header.allocation = if is_accelerated { 1.0 } else { -1.0 };
            }
            None => {
                self.departures.on_departure(now, f64::from(size) * 8.0);
            }
        }
    }

    fn on_timeout(&mut self, _now: Instant, _backlog: ByteCount) {}

    fn poll_timeout(&self) -> Option<Instant> {
        None
    }

    fn set_capacity(&mut self, capacity: DataRate) {
        self.capacity = capacity.as_bits_per_second().min(1e18);
    }
}

/// The window of an ABC sender, in packets: w + 1 + 1/w on an accelerate, w - 1 + 1/w on a brake (equation
/// 3). The second term, one packet per round-trip time, makes flows converge to equal windows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct AbcWindow {
    packets: f64,
}

impl AbcWindow {
    /// A window of `packets`, at least one.
    pub fn new(packets: f64) -> Self {
        Self { packets: packets.max(1.0) }
    }

    /// The window in packets.
    pub fn packets(&self) -> f64 {
        self.packets
    }

    /// Processes the acknowledgement of a packet with its mark.
    pub fn on_ack(&mut self, accelerate: bool) {
        let step = if accelerate { 1.0 } else { -1.0 };
        self.packets = (self.packets + step + 1.0 / self.packets).max(1.0);
    }

    /// Processes a loss: the window is halved, as TCP's.
    pub fn on_congestion(&mut self) {
        self.packets = (self.packets / 2.0).max(1.0);
    }
}

#[cfg(test)]
mod tests;
