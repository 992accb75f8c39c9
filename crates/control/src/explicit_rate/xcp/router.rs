//! The router of XCP: the efficiency controller and the timers.

use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

use super::persistent_queue::PersistentQueue;
use super::pools::Pools;
use super::{PacketWeight, SpareBandwidth, XcpConfig, XcpReading};
use crate::capacity::Estimate;
use crate::explicit_rate::blind::BlindController;
use crate::explicit_rate::egress::EgressRates;
use crate::explicit_rate::{FlowHeader, RouterLaw};

/// Maximum of X, the time between two packets of a flow: the largest value of the field in the header of
/// draft-falk-xcp-spec-03, in seconds.
const MAX_X: f64 = 16.0;

/// An XCP router for one egress.
#[derive(Clone, Debug)]
pub struct XcpRouter {
    config: XcpConfig,
    egress: EgressRates,
    totals: Totals,
    /// Start of the control interval.
    since: Instant,
    /// End of the control interval.
    deadline: Instant,
    /// d in seconds.
    average_rtt: f64,
    /// F in bit/s.
    feedback: f64,
    pools: Pools,
    queue: PersistentQueue,
    blind: BlindController,
}

/// Sums over the packets that arrived in a control interval.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
struct Totals {
    /// `input_traffic` in bits.
    input: f64,
    /// `sum_inv_throughput`: X in seconds.
    x: f64,
    /// X of the packets with an RTT.
    x_with_rtt: f64,
    /// `sum_rtt_by_throughput`: X times RTT.
    x_rtt: f64,
}

impl XcpRouter {
    /// A router whose first control interval begins at `now`.
    pub fn new(config: XcpConfig, capacity: DataRate, now: Instant) -> Self {
        let first = now + config.initial_rtt;
        let egress = EgressRates::new(capacity);
        Self {
            config,
            egress,
            totals: Totals::default(),
            since: now,
            deadline: first,
            average_rtt: config.initial_rtt.as_secs_f64(),
            feedback: 0.0,
            pools: Pools::default(),
            queue: PersistentQueue::new(first),
            blind: BlindController::default(),
        }
    }

    /// The aggregate feedback F of the last control interval in bit/s.
    pub fn aggregate_feedback(&self) -> f64 {
        self.feedback
    }

    /// The average round-trip time d.
    pub fn average_rtt(&self) -> Duration {
        Duration::from_secs_f64(self.average_rtt)
    }

    /// The positive and the negative feedback that remain to be handed out in this control interval, in
    /// bit/s.
    pub fn residues(&self) -> (f64, f64) {
        (self.pools.positive, self.pools.negative)
    }

    /// The persistent queue.
    pub fn persistent_queue(&self) -> ByteCount {
        ByteCount::new((self.queue.bits / 8.0) as u64)
    }

    /// X in seconds; zero if it is unknown.
    fn x(&self, bits: f64, header: &FlowHeader) -> f64 {
        let rate = match self.config.weight {
            PacketWeight::FlowRate => header.rate.as_bits_per_second(),
            PacketWeight::Capacity => self.egress.capacity,
        };
        if rate > 0.0 { (bits / rate).min(MAX_X) } else { 0.0 }
    }

    fn end_interval(&mut self, now: Instant, queue: f64) {
        let totals = core::mem::take(&mut self.totals);
        let is_ns2 = self.config.reading == XcpReading::Ns2;
        let elapsed = now.saturating_since(self.since).max(Duration::from_nanos(1)).as_secs_f64();
        if totals.x_with_rtt > 0.0 {
            self.average_rtt = (totals.x_rtt / totals.x_with_rtt).max(1e-9);
        } else if is_ns2 {
            self.average_rtt = self.config.initial_rtt.as_secs_f64();
        }
        let measured = totals.input / elapsed;
        let XcpConfig { alpha, beta, gamma, .. } = self.config;
        let drain = beta * self.queue.bits / self.average_rtt;
        let (feedback, input) = match self.config.spare {
            SpareBandwidth::Measured => (alpha * (self.egress.capacity - measured) - drain, measured),
            SpareBandwidth::AvailableAsInput => {
                (alpha * (self.egress.capacity - self.egress.available) - drain, self.egress.available)
            }
            SpareBandwidth::Available => (alpha * self.egress.available - drain, measured),
            SpareBandwidth::QueueGrowth(blind) => {
                let gains = (alpha, beta);
                let queues = (queue, self.queue.bits);
                (self.blind.feedback(&blind, gains, queues, elapsed, self.average_rtt), measured)
            }
        };
        let is_idle = is_ns2 && totals.input == 0.0;
        self.feedback = if is_idle { 0.0 } else { feedback };
        let shuffled = if is_idle { 0.0 } else { (gamma * input - feedback.abs()).max(0.0) };
        self.pools = Pools::new(self.feedback, shuffled, totals.x, totals.input);
        self.since = now;
        self.deadline = now + Duration::from_secs_f64(self.average_rtt).max(self.config.min_interval);
    }
}

impl RouterLaw for XcpRouter {
    fn on_arrival(&mut self, _now: Instant, size: u32, header: Option<&FlowHeader>, backlog: ByteCount) {
        let bits = f64::from(size) * 8.0;
        self.totals.input += bits;
        if self.config.reading == XcpReading::Sigcomm {
            self.queue.on_sample(backlog.bits() as f64);
        }
        let Some(header) = header else { return };
        let has_rtt = !header.rtt.is_zero();
        if !has_rtt && self.config.reading == XcpReading::Ns2 {
            return;
        }
        let x = self.x(bits, header);
        self.totals.x += x;
        if has_rtt {
            self.totals.x_with_rtt += x;
            self.totals.x_rtt += x * header.rtt.min(self.config.max_interval).as_secs_f64();
        }
    }

    fn on_departure(
        &mut self,
        _now: Instant,
        size: u32,
        header: Option<&mut FlowHeader>,
        backlog: ByteCount,
    ) {
        let bits = f64::from(size) * 8.0;
        match self.config.reading {
            XcpReading::Draft => self.queue.on_sample(backlog.bits() as f64),
            XcpReading::Ns2 => self.queue.on_sample(backlog.bits() as f64 + bits),
            XcpReading::Sigcomm => {}
        }
        let Some(header) = header else { return };
        if header.rtt.is_zero() && self.config.reading == XcpReading::Ns2 {
            header.allocation = 0.0;
            return;
        }
        let x = self.x(bits, header);
        let cap = if self.config.caps_feedback { self.egress.available } else { f64::INFINITY };
        header.allocation = self.pools.allocate(x, bits, header.allocation, cap, self.config.reading);
    }

    fn on_timeout(&mut self, now: Instant, backlog: ByteCount) {
        let queue = backlog.bits() as f64;
        self.queue.on_timeout(now, queue, self.average_rtt, self.egress.capacity, &self.config);
        if now >= self.deadline {
            self.end_interval(now, queue);
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        Some(self.deadline.min(self.queue.deadline))
    }

    fn set_capacity(&mut self, capacity: DataRate) {
        self.egress.set_capacity(capacity);
    }

    fn set_estimate(&mut self, estimate: Estimate) {
        self.egress.set_estimate(estimate);
    }
}
