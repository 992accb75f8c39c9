//! X: the allowed sending rate.
//!
//! [`SendRate`] is the law of RFC 5348, Sections 4.2 to 4.4: it starts with an initial window per round-trip
//! time, doubles each round-trip time until the first loss, then follows the throughput equation, and never
//! exceeds twice the reported receive rate. Without feedback the rate is halved. Timers, pacing and
//! measurements come from [`TfrcSender`](super::TfrcSender).

use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

use super::faster_restart::FasterRestart;
use super::receive_rate::ReceiveRateSet;
use super::{LossEventRate, RetransmitTimeout, equation::throughput_with};
use crate::window::InitialWindow;

#[cfg(test)]
mod tests;

/// t_mbi: maximum time that a sender waits between packets (RFC 5348, Section 4.3).
pub const MAX_BACKOFF: Duration = Duration::from_secs(64);

/// In slow start the rate doubles once a round-trip time has passed since it last did, less this fraction of
/// it. Feedback is sent once per round-trip time, by another clock and estimate than the sender's: without
/// this, a feedback that is a microsecond early would cost a whole round-trip time.
const DOUBLING_GRACE: u64 = 16;

/// The sender's estimates of its path and its packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathEstimate {
    /// R.
    pub rtt: Duration,
    /// s.
    pub segment_size: ByteCount,
    /// The segment size that determines the initial window.
    pub max_segment_size: ByteCount,
    /// t_RTO, if it is [measured](RetransmitTimeout::Measured).
    pub retransmit_timeout: Option<Duration>,
}

impl PathEstimate {
    /// initial_rate = W_init/R (RFC 5348, Section 4.2, after RFC 3390).
    pub fn initial_rate(&self) -> DataRate {
        self.first_rate(InitialWindow::Rfc3390)
    }

    /// The same with another initial window.
    fn first_rate(&self, window: InitialWindow) -> DataRate {
        window.bytes(self.max_segment_size) / self.rtt
    }
}

/// The part of a feedback that affects the rate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RateReport {
    /// X_recv.
    pub receive_rate: DataRate,
    /// p.
    pub loss_event_rate: LossEventRate,
    /// `true` if it reports a new loss event. A higher p counts as one in any case.
    pub new_loss_event: bool,
    /// `true` if the sender was data-limited during all of the time covered by the feedback.
    pub data_limited: bool,
}

/// Options of a [`SendRate`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SendRateConfig {
    /// t_RTO in the throughput equation.
    pub retransmit_timeout: RetransmitTimeout,
    /// Maximum rate.
    pub max_rate: DataRate,
    /// DecayTime of [Faster Restart](super::faster_restart); `None` disables it.
    pub faster_restart: Option<Duration>,
    /// Amount allowed in the first round-trip time. RFC 5348, Section 4.2 takes W_init from RFC 3390, the
    /// initial window of TCP at the time; [`Rfc6928`](InitialWindow::Rfc6928) is the present one. W_init as
    /// the least rate of slow start and as the rate that an idle sender keeps remains RFC 3390's: RFC 6928,
    /// Section 2 concerns the beginning of a connection only.
    pub initial_window: InitialWindow,
    /// Minimum p for the throughput equation; zero for no floor. Implementations that use a lookup table for
    /// the equation have one, of 1e-5.
    pub least_loss_event_rate: LossEventRate,
}

impl Default for SendRateConfig {
    /// t_RTO = 4R, no maximum, no Faster Restart, W_init of RFC 3390, no floor of p.
    fn default() -> Self {
        Self {
            retransmit_timeout: RetransmitTimeout::FourRoundTrips,
            max_rate: DataRate::INFINITE,
            faster_restart: None,
            initial_window: InitialWindow::Rfc3390,
            least_loss_event_rate: LossEventRate::ZERO,
        }
    }
}

/// Effect of an expiration of the nofeedback timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expiration {
    /// The rate was reduced.
    Reduced,
    /// An idle sender with a rate not above its restart rate keeps it, as long as it is idle.
    Kept,
}

/// The allowed sending rate.
#[derive(Clone, Copy, Debug)]
pub struct SendRate {
    config: SendRateConfig,
    /// X.
    allowed: DataRate,
    /// X_Bps; infinite as long as p is zero.
    equation: DataRate,
    /// Fraction of X_Bps left for data in TFRC-SP (RFC 4828, Section 3).
    data_share: f64,
    receive_rates: ReceiveRateSet,
    /// recv_limit.
    receive_limit: DataRate,
    /// p.
    loss_event_rate: LossEventRate,
    /// tld: time at which X was last doubled in slow start.
    last_doubled: Option<Instant>,
    restart: Option<FasterRestart>,
    /// Rate that the path carried some time ago, at which X starts.
    known: DataRate,
    /// Maximum rate of the receiving host, and its expiration time.
    host_limit: Option<(DataRate, Instant)>,
    /// `true` if X doubles regardless of p.
    probing: bool,
    /// Temporary maximum of X.
    ceiling: DataRate,
    /// Upper bound of X by another law, which leaves the state of this one as it is.
    bound: DataRate,
}

impl SendRate {
    /// The initial rate before any measurement: one segment per second (RFC 5348, Section 4.2).
    pub fn new(now: Instant, segment_size: ByteCount, config: SendRateConfig) -> Self {
        let mut rate = Self {
            config,
            allowed: DataRate::ZERO,
            equation: DataRate::INFINITE,
            data_share: 1.0,
            receive_rates: ReceiveRateSet::new(now),
            receive_limit: DataRate::INFINITE,
            loss_event_rate: LossEventRate::ZERO,
            last_doubled: None,
            restart: config.faster_restart.map(|decay_time| FasterRestart::new(now, decay_time)),
            known: DataRate::ZERO,
            host_limit: None,
            probing: false,
            ceiling: DataRate::INFINITE,
            bound: DataRate::INFINITE,
        };
        rate.begin(segment_size);
        rate
    }

    /// Returns to one segment per second, as segments are of another size than assumed before a round-trip
    /// time was measured.
    pub fn begin(&mut self, segment_size: ByteCount) {
        self.allowed = (segment_size / Duration::from_secs(1)).min(self.config.max_rate);
    }

    /// X, within the [bound](Self::set_bound).
    pub fn allowed(&self) -> DataRate {
        self.allowed.min(self.bound)
    }

    /// X without the [bound](Self::set_bound).
    pub fn unbounded(&self) -> DataRate {
        self.allowed
    }

    /// X_Bps; infinite as long as p is zero.
    pub fn equation(&self) -> DataRate {
        self.equation
    }

    /// recv_limit.
    pub fn receive_limit(&self) -> DataRate {
        self.receive_limit
    }

    /// max(X_recv_set).
    pub fn receive_rate(&self) -> DataRate {
        self.receive_rates.max()
    }

    /// p, as last reported.
    pub fn loss_event_rate(&self) -> LossEventRate {
        self.loss_event_rate
    }

    /// `true` in the initial slow start, before the first loss.
    pub fn in_slow_start(&self) -> bool {
        self.loss_event_rate.is_zero()
    }

    /// Sets the maximum rate.
    pub fn set_max_rate(&mut self, rate: DataRate) {
        self.config.max_rate = rate;
        self.allowed = self.allowed.min(rate);
    }

    /// Bounds X by the rate of another law; infinite for no bound. X without the bound stays, so that it can
    /// be raised at any time.
    pub fn set_bound(&mut self, rate: DataRate) {
        self.bound = rate;
    }

    /// The same without the bound, with the bounded X in its place: the state to [restore](Self::restore) on
    /// another path.
    pub(crate) fn settled(&self) -> Self {
        Self { allowed: self.allowed(), bound: DataRate::INFINITE, ..*self }
    }

    /// Starts X, in slow start, at `rate`, which the path carried some time ago.
    /// Careful Resume (RFC 9959) uses half of the rate carried.
    pub fn begin_at(&mut self, rate: DataRate) {
        self.known = rate;
        self.allowed = self.allowed.max(rate).min(self.config.max_rate);
    }

    /// Limits X to `rate`, the maximum of the receiving host, until `until`; independent of the network.
    pub fn limit_until(&mut self, rate: DataRate, until: Instant) {
        self.allowed = self.allowed.min(rate);
        self.host_limit = Some((rate, until));
    }

    /// Sets if X doubles once per round-trip time regardless of p, up to recv_limit (papers/freeze, Section
    /// 4.6).
    pub(crate) fn set_probing(&mut self, probing: bool) {
        self.probing = probing;
    }

    /// Sets the temporary maximum of X.
    pub(crate) fn set_ceiling(&mut self, rate: DataRate) {
        self.ceiling = rate;
        self.allowed = self.allowed.min(rate);
    }

    /// Restores X and X_recv from `saved` (papers/freeze, Section 4.5), within the maximum and the ceiling; X
    /// is recomputed if there is a p and a `path`.
    pub(crate) fn restore(&mut self, now: Instant, saved: &Self, path: Option<&PathEstimate>) {
        let mut receive_rates = saved.receive_rates;
        receive_rates.replace(now, saved.receive_rates.max());
        *self = Self {
            config: self.config,
            host_limit: self.host_limit,
            ceiling: self.ceiling,
            probing: false,
            receive_rates,
            ..*saved
        };
        self.allowed = self.allowed.min(self.config.max_rate).min(self.ceiling);
        if let Some(path) = path.filter(|_| !self.in_slow_start()) {
            self.limit(now, path);
        }
    }

    /// Continues a restoration at `rate`, regardless of p: the rate stays until the ceiling is set anew, but
    /// each expiration of the nofeedback timer halves it, as half of it counts as the receive rate.
    pub(crate) fn restore_at(&mut self, now: Instant, rate: DataRate) {
        let rate = rate.min(self.config.max_rate);
        (self.allowed, self.ceiling, self.probing) = (rate, rate, true);
        self.receive_rates.replace(now, rate / 2.0);
        self.receive_limit = rate;
    }

    /// Replaces X_recv_set by a measurement.
    pub(crate) fn replace_receive_rate(&mut self, now: Instant, rate: DataRate) {
        self.receive_rates.replace(now, rate);
        self.receive_limit = rate * 2.0;
    }

    /// TFRC-SP: sets the fraction of X_Bps that is available for data, the remainder being headers (RFC 4828,
    /// Section 3; RFC 5622, Section 5). It takes effect with the next feedback.
    pub fn set_data_share(&mut self, share: f64) {
        self.data_share = share;
    }

    /// Processes the first packet sent, which starts the two round-trip times in which the receive rate does
    /// not limit X.
    pub fn on_first_packet(&mut self, now: Instant) {
        self.receive_rates = ReceiveRateSet::new(now);
    }

    /// Processes the first round-trip time sample: X becomes the initial rate (RFC 5348, Section 4.2).
    pub fn on_first_round_trip(&mut self, now: Instant, path: &PathEstimate) {
        self.last_doubled = Some(now);
        let first = path.first_rate(self.config.initial_window);
        self.allowed = first.max(self.known).min(self.config.max_rate);
    }

    /// Processes a packet in the initial round-trip time that is larger than those before. W_init uses "the
    /// maximum segment size to be used for the initial round-trip time" (RFC 5348, Section 4.2), which is
    /// known only now.
    pub(crate) fn on_larger_segment(&mut self, path: &PathEstimate) {
        self.raise_to_first_rate(path);
    }

    /// Processes a sample that shows a round-trip time much shorter than the handshake's, from which the
    /// initial rate was derived: the initial rate is W_init/R of the first R of data (RFC 5348, Section 4.2),
    /// and two round-trip times without a limit by X_recv begin (Section 4.3), as X_recv covered the time
    /// assumed before.
    pub(crate) fn on_corrected_round_trip(&mut self, now: Instant, path: &PathEstimate) {
        if !self.in_slow_start() {
            return;
        }
        let before = self.allowed;
        self.raise_to_first_rate(path);
        if self.allowed > before {
            self.last_doubled = Some(now);
        }
        self.receive_rates = ReceiveRateSet::new(now);
    }

    fn raise_to_first_rate(&mut self, path: &PathEstimate) {
        let host = self.host_limit.map_or(DataRate::INFINITE, |(rate, _)| rate);
        let most = self.config.max_rate.min(self.ceiling).min(host);
        self.allowed = self.allowed.max(path.first_rate(self.config.initial_window).min(most));
    }

    /// Updates X (RFC 5348, Section 4.3, step 4).
    pub fn on_feedback(&mut self, now: Instant, report: &RateReport, path: &PathEstimate) {
        let loss = report.new_loss_event || report.loss_event_rate > self.loss_event_rate;
        let rate = report.receive_rate;
        if let Some(restart) = &mut self.restart {
            restart.on_feedback(now, rate, loss);
        }
        self.loss_event_rate = report.loss_event_rate;
        if report.data_limited && loss {
            self.receive_rates.halve();
            self.receive_rates.maximize(now, rate * 0.85);
            self.receive_limit = self.receive_rates.max();
        } else {
            if report.data_limited {
                self.receive_rates.maximize(now, rate);
            } else if !rate.is_zero() {
                // The first feedback reports zero, as nothing has been measured yet.
                self.receive_rates.update(now, rate, path.rtt);
            }
            let limit = self.receive_rates.max() * 2.0;
            self.receive_limit = self.restart.map_or(limit, |restart| restart.raise(now, limit));
        }
        self.limit(now, path);
    }

    /// Processes an expiration of the nofeedback timer (RFC 5348, Section 4.4, step 1). `path` is known once
    /// there was a round-trip sample. `idle` is `true` if nothing was sent since the timer was set.
    pub fn on_nofeedback(
        &mut self,
        now: Instant,
        path: Option<&PathEstimate>,
        segment_size: ByteCount,
        idle: bool,
    ) -> Expiration {
        let Some(path) = path else {
            if idle {
                return Expiration::Kept;
            }
            self.halve(segment_size);
            return Expiration::Reduced;
        };
        let receive_rate = self.receive_rates.max();
        let recover_rate = path.initial_rate() * if self.restart.is_some() { 2.0 } else { 1.0 };
        let little = if self.in_slow_start() {
            self.allowed < recover_rate * 2.0
        } else {
            receive_rate < recover_rate
        };
        if idle && little {
            return Expiration::Kept;
        }
        if self.in_slow_start() {
            self.halve(segment_size);
        } else if self.equation > receive_rate * 2.0 {
            self.limit_by_timer(now, receive_rate, path);
        } else {
            self.limit_by_timer(now, self.equation / 2.0, path);
        }
        Expiration::Reduced
    }

    /// Update_Limits(timer_limit).
    fn limit_by_timer(&mut self, now: Instant, timer_limit: DataRate, path: &PathEstimate) {
        let timer_limit = timer_limit.max(path.segment_size / MAX_BACKOFF);
        self.receive_rates.replace(now, timer_limit / 2.0);
        self.receive_limit = timer_limit;
        self.limit(now, path);
    }

    fn halve(&mut self, segment_size: ByteCount) {
        self.allowed = (self.allowed / 2.0).max(segment_size / MAX_BACKOFF);
    }

    /// The last part of step 4: X from X_Bps and recv_limit.
    fn limit(&mut self, now: Instant, path: &PathEstimate) {
        self.equation = if self.in_slow_start() {
            DataRate::INFINITE
        } else {
            let timeout = match path.retransmit_timeout {
                Some(measured) => measured / path.rtt,
                None => self.config.retransmit_timeout.in_round_trips(path.rtt),
            };
            let p = self.loss_event_rate.max(self.config.least_loss_event_rate);
            throughput_with(path.segment_size, path.rtt, p, timeout) * self.data_share
        };
        let allowed = if self.in_slow_start() || self.probing {
            let grace = path.rtt / DOUBLING_GRACE;
            if self.last_doubled.is_some_and(|doubled| now - doubled + grace < path.rtt) {
                return;
            }
            self.last_doubled = Some(now);
            let least = if self.probing { path.segment_size / MAX_BACKOFF } else { path.initial_rate() };
            (self.allowed * 2.0).min(self.receive_limit).max(least)
        } else {
            self.equation.min(self.receive_limit).max(path.segment_size / MAX_BACKOFF)
        };
        let host_limit = self.host_limit.filter(|(_, until)| now < *until);
        self.allowed = allowed
            .min(self.config.max_rate)
            .min(self.ceiling)
            .min(host_limit.map_or(DataRate::INFINITE, |(rate, _)| rate));
    }
}
