//! NADA: network-assisted dynamic adaptation (RFC 8698).
//!
//! Queueing delay, losses and marks are added up to one congestion signal in units of time, `x_curr`. While
//! the path is underutilized the rate follows the receiving rate (accelerated ramp-up); otherwise it is
//! updated by the offset of the signal from its equilibrium and by its change (gradual update).
//!
//! All calculations run at the sender, from the reception of each packet, which Sections 5.3 and 6.4 allow
//! and which the authors' own simulator does (cisco/ns3-rmcat, commit adb3f8e).
//!
//! Choices that the RFC leaves open:
//! - A report is processed if more than half of DELTA has passed since the one before, so that jitter of the
//!   reports does not double the interval; what it reports is recorded in any case.
//! - Loss intervals begin with a loss event, as Section 5.4 of RFC 5348 defines them: losses of packets sent
//!   within a round-trip time are one event. The simulator counts each gap as one.
//! - The average loss interval leaves out the open interval. With it, as in RFC 5348 and the simulator, the
//!   last loss would never expire: the open interval is at most six times an average of which it has a sixth
//!   of the weight, and MULTILOSS is seven.
//! - `x_curr` has an upper bound, which is the simulator's.
//! - The RFC has no rule for missing reports: the rate stays.

use whimbrel_units::{ByteCount, DataRate, Duration, Ecn, Instant};

use super::{Allowance, Feedback, MediaController, RateLimits, SentPacket};

mod observation;
mod signal;
#[cfg(test)]
mod tests;

use observation::Observation;
use signal::CongestionSignal;

/// Parameters of NADA. The defaults are taken from RFC 8698, Table 2, except where another source is given.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct NadaConfig {
    /// RMIN and RMAX, and the rate at the start. The RFC starts at RMIN.
    pub limits: RateLimits,
    /// PRIO: weight of the flow.
    pub priority: f64,
    /// XREF: reference congestion level.
    pub x_ref: Duration,
    /// KAPPA: scaling of the gradual update.
    pub kappa: f64,
    /// ETA: scaling of the change of the signal in the gradual update.
    pub eta: f64,
    /// TAU: upper bound of the round-trip time in the gradual update.
    pub tau: Duration,
    /// DELTA: target interval between reports.
    pub delta: Duration,
    /// LOGWIN: time over which packets are counted.
    pub log_window: Duration,
    /// QEPS: queueing delay up to which the path counts as underutilized.
    pub q_eps: Duration,
    /// DFILT: bound of the filtering delay.
    pub d_filt: Duration,
    /// GAMMA_MAX: upper bound of the increase in accelerated ramp-up.
    pub gamma_max: f64,
    /// QBOUND: upper bound of the self-inflicted queueing delay in accelerated ramp-up.
    pub q_bound: Duration,
    /// MULTILOSS: loss intervals after which the last loss expires.
    pub multi_loss: f64,
    /// QTH: queueing delay from which it is warped.
    pub q_th: Duration,
    /// LAMBDA: exponent of the warping.
    pub lambda: f64,
    /// PLRREF: reference loss ratio.
    pub loss_ref: f64,
    /// PMRREF: reference marking ratio.
    pub mark_ref: f64,
    /// DLOSS: penalty at the reference loss ratio.
    pub d_loss: Duration,
    /// DMARK: penalty at the reference marking ratio.
    pub d_mark: Duration,
    /// FPS: frame rate of the encoder.
    pub frame_rate: f64,
    /// BETA_S: scaling of the sending rate by the rate-shaping buffer.
    pub beta_s: f64,
    /// BETA_V: scaling of the encoder's rate by the rate-shaping buffer.
    pub beta_v: f64,
    /// ALPHA: smoothing of the loss and marking ratios.
    pub alpha: f64,
    /// Upper bound of the congestion signal (XMAX of cisco/ns3-rmcat).
    pub x_max: Duration,
    /// Packets over which the minimum of the queueing delay is taken (Section 5.1.1).
    pub filter_packets: usize,
    /// Time over which the baseline delay is the minimum of the one-way delays; ten minutes are the history
    /// of RFC 6817, to which Section 5.1.1 refers.
    pub base_history: Duration,
}

impl NadaConfig {
    /// The defaults with other limits.
    pub fn new(limits: RateLimits) -> Self {
        Self { limits, ..Self::default() }
    }
}

impl Default for NadaConfig {
    fn default() -> Self {
        let min = DataRate::from_kilobits_per_second(150.0);
        Self {
            limits: RateLimits { min, start: min, max: DataRate::from_megabits_per_second(1.5) },
            priority: 1.0,
            x_ref: Duration::from_millis(10),
            kappa: 0.5,
            eta: 2.0,
            tau: Duration::from_millis(500),
            delta: Duration::from_millis(100),
            log_window: Duration::from_millis(500),
            q_eps: Duration::from_millis(10),
            d_filt: Duration::from_millis(120),
            gamma_max: 0.5,
            q_bound: Duration::from_millis(50),
            multi_loss: 7.0,
            q_th: Duration::from_millis(50),
            lambda: 0.5,
            loss_ref: 0.01,
            mark_ref: 0.01,
            d_loss: Duration::from_millis(10),
            d_mark: Duration::from_millis(2),
            frame_rate: 30.0,
            beta_s: 0.1,
            beta_v: 0.1,
            alpha: 0.1,
            x_max: Duration::from_millis(500),
            filter_packets: 15,
            base_history: Duration::from_secs(600),
        }
    }
}

/// The NADA sender (RFC 8698).
#[derive(Clone, PartialEq, Debug)]
pub struct Nada {
    config: NadaConfig,
    observation: Observation,
    signal: CongestionSignal,
    /// r_ref.
    reference: DataRate,
    /// x_prev, in seconds.
    x_prev: f64,
    /// t_last; `None` before the first packet.
    last_report: Option<Instant>,
    /// buffer_len.
    waiting: ByteCount,
}

impl Nada {
    /// A sender that begins at the start rate of `config`.
    pub fn new(config: NadaConfig) -> Self {
        Self {
            observation: Observation::new(&config),
            signal: CongestionSignal::default(),
            reference: config.limits.start.max(config.limits.min).min(config.limits.max),
            x_prev: 0.0,
            last_report: None,
            waiting: ByteCount::ZERO,
            config,
        }
    }

    /// The reference rate, r_ref, from which the rates of encoder and pacer follow.
    pub const fn reference_rate(&self) -> DataRate {
        self.reference
    }

    /// The aggregate congestion signal, x_curr, of the last report.
    pub fn congestion(&self) -> Duration {
        Duration::from_secs_f64(self.x_prev)
    }

    /// Accelerated ramp-up (equations 3 and 4).
    fn ramp_up(&mut self, rtt: Duration) {
        let config = &self.config;
        let gamma = config.gamma_max.min(config.q_bound / (rtt + config.delta + config.d_filt));
        if let Some(received) = self.observation.receiving_rate() {
            self.reference = self.reference.max(received * (1.0 + gamma));
        }
    }

    /// Gradual update (equations 5 to 7). Times are in seconds.
    fn update_gradually(&mut self, x_curr: f64, delta: f64) {
        let config = &self.config;
        let (tau, rate) = (config.tau.as_secs_f64(), self.reference.as_bits_per_second());
        let share = config.limits.max.as_bits_per_second() / rate.max(1.0);
        let x_offset = x_curr - config.priority * config.x_ref.as_secs_f64() * share;
        let x_diff = x_curr - self.x_prev;
        let offset = config.kappa * (delta / tau) * (x_offset / tau) * rate;
        let change = config.kappa * config.eta * (x_diff / tau) * rate;
        self.reference = DataRate::from_bits_per_second(rate - offset - change);
    }

    /// Rate by which encoder and pacer deviate from the reference rate (equations 11 and 12).
    fn deviation(&self, beta: f64) -> DataRate {
        let drain = beta * self.waiting.bits() as f64 * self.config.frame_rate;
        DataRate::from_bits_per_second(drain).min(self.reference * 0.05)
    }
}

impl MediaController for Nada {
    fn name(&self) -> &'static str {
        "NADA"
    }

    /// ECT(0): Section 4.2 weighs marks of classic queues, which mark about as rarely as they would drop.
    fn ecn(&self) -> Ecn {
        Ecn::Ect0
    }

    fn on_sent(&mut self, packet: &SentPacket) {
        self.last_report.get_or_insert(packet.sent_at);
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        self.observation.record(feedback);
        let last = *self.last_report.get_or_insert(feedback.now);
        let delta = feedback.now.saturating_since(last);
        if delta + delta <= self.config.delta {
            return;
        }
        let Some(queueing) = self.observation.queueing_delay() else { return };
        self.last_report = Some(feedback.now);
        self.signal.smooth(&self.config, &self.observation);
        let x_curr = self.signal.aggregate(&self.config, queueing, self.observation.losses());
        if self.observation.is_underutilized(self.config.q_eps) {
            self.ramp_up(self.observation.rtt());
        } else {
            self.update_gradually(x_curr, delta.as_secs_f64());
        }
        self.reference = self.reference.min(self.config.limits.max).max(self.config.limits.min);
        self.x_prev = x_curr;
    }

    fn next_timer(&self) -> Option<Instant> {
        None
    }

    fn on_timer(&mut self, _now: Instant) {}

    /// Rates of encoder and pacer (equations 13 and 14).
    fn allowance(&self) -> Allowance {
        let limits = self.config.limits;
        Allowance {
            target: (self.reference - self.deviation(self.config.beta_v)).max(limits.min),
            pacing: (self.reference + self.deviation(self.config.beta_s)).min(limits.max).max(limits.min),
            window: None,
        }
    }

    fn on_pacer_queue(&mut self, _now: Instant, waiting: ByteCount) {
        self.waiting = waiting;
    }

    /// Begins again, at most at the start rate. The RFC does not treat changes of the path.
    fn on_path_change(&mut self, _now: Instant) {
        let reference = self.reference;
        *self = Self::new(self.config);
        self.reference = self.reference.min(reference);
    }
}
