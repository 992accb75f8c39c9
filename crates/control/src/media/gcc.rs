//! GCC: Google congestion control, as libwebrtc's sender implements it.
//!
//! - The *delay-based* estimate: packets are grouped by sending time, a line is fitted through the
//!   accumulated differences of delay between groups, its slope is compared with an adaptive threshold, and
//!   the rate increases or decreases with what the detector finds.
//! - The *loss-based* estimate: the bandwidth and the inherent loss of the channel under which the reported
//!   losses are most likely, or two thresholds of the loss ratio ([`LossRule`]).
//! - *Probes* measure the capacity at the start, after a successful probe, and in application-limited
//!   regions, which the estimates do not explore.
//! - The target is the lower of both estimates; it decreases while the round-trip time is very high, and
//!   congestion window pushback reduces it further while too much is in flight.
//!
//! The reference for structure, constants and behaviour is libwebrtc, `modules/congestion_controller/goog_cc`
//! and `modules/remote_bitrate_estimator`, at commit bd635df3471c of signalapp/webrtc (2026-07-17). It has no
//! other specification: draft-ietf-rmcat-gcc-02 describes an older law.
//!
//! Differences from the reference:
//! - Arrival times are not rounded to milliseconds.
//! - The round-trip time comes from the packet reports; the reference takes it from RTCP.
//! - Pushback lowers the target. The reference does so or drops frames, as configured, by the same ratio.
//! - Parts that are off by default are left out: cap of the trend, separate detection for audio, estimates
//!   from the network and repeated initial probes. The limits do not change, so that no probe follows a
//!   change of them.
//! - Application-limited regions are detected from the bytes sent, as in the reference;
//!   [`on_application_limited`](MediaController::on_application_limited) has no effect.
//! - With [`LossRule::Thresholds`], loss ratios are counted over a second from the packet reports.

use alloc::vec::Vec;

use whimbrel_units::{DataRate, Duration, Instant};

use super::{Allowance, Feedback, MediaController, PacketReport, Probe, RateLimits, SentPacket};

mod acknowledged_rate;
mod aimd;
mod alr;
mod config;
mod delay_based;
mod inter_arrival;
mod link_capacity;
mod loss_based;
mod overuse;
mod probe_result;
mod probing;
mod pushback;
mod robust_rate;
mod stable;
mod target;
#[cfg(test)]
mod tests;
mod throughput;
mod trendline;

use alr::AlrDetector;
pub use config::{
    AlrConfig, DelayConfig, GccConfig, LossBasedConfig, LossRule, ProbingConfig, PushbackConfig, RouteReset,
    RttBackoffConfig, ThroughputRule,
};
use delay_based::DelayBased;
use loss_based::LossState;
use overuse::Usage;
use probe_result::ProbeResults;
use probing::{Limitation, ProbeController};
use pushback::Pushback;
use stable::StableCapacity;
use target::Target;
use throughput::Throughput;

/// Least rate of libwebrtc's congestion control (`kCongestionControllerMinBitrate`).
const LEAST_RATE: f64 = 5000.0;
/// Share of the acknowledged rate below which a probe's result does not count.
const SHARE_AFTER_PROBE: f64 = 0.85;

/// Google congestion control.
#[derive(Clone, PartialEq, Debug)]
pub struct Gcc {
    config: GccConfig,
    delay: DelayBased,
    target: Target,
    acknowledged: Throughput,
    alr: AlrDetector,
    probes: ProbeController,
    results: ProbeResults,
    pushback: Option<Pushback>,
    stable: StableCapacity,
    /// Time of the next timer; `None` before the first packet.
    next_timer: Option<Instant>,
    has_feedback: bool,
    was_limited: bool,
    /// The estimates that were last passed on to the other parts.
    last: Estimates,
    arrived: Vec<PacketReport>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Estimates {
    target: DataRate,
    /// The target after pushback.
    pushed: DataRate,
    state: LossState,
    loss: f64,
    rtt: Option<Duration>,
}

impl Gcc {
    /// A sender that begins at the start rate of `config`.
    pub fn new(mut config: GccConfig) -> Self {
        let min = config.limits.min.max(DataRate::from_bits_per_second(LEAST_RATE));
        let max = config.limits.max.max(min);
        config.limits = RateLimits { min, max, start: config.limits.start.min(max).max(min) };
        let start = config.limits.start;
        let loss_config = (config.loss == LossRule::InherentLoss).then_some(config.inherent_loss);
        Self {
            delay: new_delay(&config, start),
            target: Target::new(loss_config, config.rtt_backoff, config.limits),
            acknowledged: Throughput::new(config.throughput),
            alr: AlrDetector::new(config.alr),
            probes: ProbeController::new(config.probing),
            results: ProbeResults::default(),
            pushback: config.pushback.map(Pushback::new),
            stable: StableCapacity::new(start),
            next_timer: None,
            has_feedback: false,
            was_limited: false,
            last: Estimates {
                target: start,
                pushed: start,
                state: LossState::DelayBased,
                loss: 0.0,
                rtt: None,
            },
            arrived: Vec::new(),
            config,
        }
    }

    /// The target that falls at once and rises slowly, for decisions that should not follow each variation of
    /// [`Allowance::target`].
    pub fn stable_target(&self) -> DataRate {
        self.stable.capacity().min(self.last.pushed)
    }

    /// The acknowledged rate; `None` before the first measurement.
    pub fn acknowledged_rate(&self) -> Option<DataRate> {
        self.acknowledged.rate()
    }

    /// `true` while the sender sends clearly less than the target.
    pub const fn is_application_limited(&self) -> bool {
        self.alr.since().is_some()
    }

    fn limitation(&self) -> Limitation {
        if self.delay.usage() != Usage::Normal {
            return Limitation::Queue;
        }
        if self.target.is_rtt_above_limit() {
            return Limitation::RoundTrip;
        }
        match self.target.loss_state() {
            LossState::Decreasing | LossState::IncreasingWithPadding => Limitation::Loss,
            LossState::Increasing => Limitation::LossIncreasing,
            LossState::DelayBased => Limitation::Delay,
        }
    }

    /// Applies pushback, and passes on what has changed.
    fn refresh(&mut self, rtt: Option<Duration>, now: Instant) {
        let target = self.target.rate();
        let pushed = self.pushback.as_mut().map_or(target, |pushback| pushback.apply(target));
        let estimates = Estimates {
            target,
            pushed: pushed.max(self.config.limits.min),
            state: self.target.loss_state(),
            loss: self.target.loss_ratio(),
            rtt: rtt.or(self.last.rtt),
        };
        if estimates == self.last {
            return;
        }
        self.last = estimates;
        self.alr.set_target(target);
        self.probes.set_estimate(target, self.limitation(), now);
    }

    /// Records the times from sending to report of the packets that arrived.
    fn record_round_trips(&mut self, now: Instant) {
        let Some(newest) = self.arrived.iter().filter_map(PacketReport::arrival).max() else { return };
        let (mut longest, mut propagation) = (Duration::ZERO, Duration::MAX);
        for packet in &self.arrived {
            let time = now.saturating_since(packet.sent.sent_at);
            // Packets that arrived before the newest one waited for the report.
            let waited = packet.arrival().map_or(Duration::ZERO, |arrival| newest.saturating_since(arrival));
            longest = longest.max(time);
            propagation = propagation.min(time.saturating_sub(waited));
        }
        if let Some(pushback) = &mut self.pushback {
            pushback.record_rtt(longest);
        }
        self.target.set_propagation_rtt(propagation, now);
    }

    /// Result of the probes of which packets arrived.
    fn probed(&mut self) -> Option<DataRate> {
        let mut probed = None;
        for packet in &self.arrived {
            let result = packet.sent.probe.and_then(|id| self.results.record(id, packet));
            probed = result.or(probed);
        }
        let probed = probed?;
        let Some(acknowledged) = self.acknowledged.rate() else { return Some(probed) };
        // A result far below what is acknowledged is wrong.
        Some(probed.max(self.delay.rate().min(acknowledged * SHARE_AFTER_PROBE)))
    }

    fn process_arrivals(&mut self, feedback: &Feedback<'_>) {
        let now = feedback.now;
        self.record_round_trips(now);
        let is_limited = self.alr.since().is_some();
        if self.was_limited && !is_limited {
            self.acknowledged.on_limit_ended(now);
            self.probes.on_limit_ended(now);
        }
        self.was_limited = is_limited;
        self.acknowledged.record(&self.arrived);
        let acknowledged = self.acknowledged.rate();
        self.target.set_acknowledged(acknowledged);
        let probed = self.probed();
        let outcome = self.delay.process(&self.arrived, acknowledged, probed, now);
        if let Some(rate) = outcome.rate {
            if outcome.is_probe {
                self.target.set_rate(rate);
            }
            self.target.set_delay_based(rate);
            self.stable.on_delay_based(rate, now);
        }
        self.target.on_report(feedback.packets, is_limited, now);
        self.stable.on_update(acknowledged, self.target.rate(), now);
        if outcome.rate.is_some() {
            self.refresh(feedback.rtt, now);
        }
        if outcome.recovered {
            self.probes.set_limited(self.alr.since());
            self.probes.on_recovery(now);
        }
    }

    fn update_window(&mut self) {
        if let Some(pushback) = &mut self.pushback {
            pushback.update_window(self.last.target);
        }
    }
}

fn new_delay(config: &GccConfig, start: DataRate) -> DelayBased {
    let mut delay = DelayBased::new(config.delay);
    delay.aimd().set_start(start);
    delay.aimd().set_min(config.limits.min);
    delay
}

impl MediaController for Gcc {
    fn name(&self) -> &'static str {
        "GCC"
    }

    fn on_sent(&mut self, packet: &SentPacket) {
        let now = packet.sent_at;
        if self.next_timer.is_none() {
            self.next_timer = Some(now + self.config.interval);
            self.probes.start(self.config.limits.start, self.config.limits.max, now);
            self.alr.set_target(self.last.target);
        }
        self.alr.on_sent(packet.size, now);
        self.target.on_sent(now);
        if let Some(pushback) = &mut self.pushback {
            pushback.on_sent(packet.size);
            self.refresh(None, now);
        }
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        if feedback.packets.is_empty() {
            return;
        }
        self.has_feedback = true;
        if let Some(pushback) = &mut self.pushback {
            pushback.set_in_flight(feedback.in_flight);
        }
        if let Some(rtt) = feedback.rtt {
            self.delay.aimd().set_rtt(rtt);
            self.target.set_rtt(rtt);
        }
        self.arrived.clear();
        self.arrived.extend(feedback.packets.iter().filter(|packet| packet.arrival().is_some()));
        self.arrived.sort_unstable_by_key(|packet| (packet.arrival(), packet.sent.sequence));
        self.process_arrivals(feedback);
        self.update_window();
    }

    fn next_timer(&self) -> Option<Instant> {
        self.next_timer
    }

    fn on_timer(&mut self, now: Instant) {
        if self.next_timer.is_none_or(|at| now < at) {
            return;
        }
        self.next_timer = Some(now + self.config.interval);
        self.target.update(now);
        self.probes.set_limited(self.alr.since().filter(|_| self.has_feedback));
        self.probes.process(now);
        self.update_window();
        self.refresh(None, now);
    }

    fn allowance(&self) -> Allowance {
        let factor = if self.has_feedback { self.config.pacing } else { self.config.initial_pacing };
        // Pushback does not slow the pacer, in which packets would wait.
        Allowance { target: self.last.pushed, pacing: self.last.target * factor, window: None }
    }

    fn poll_probe(&mut self, _now: Instant) -> Option<Probe> {
        let probe = self.probes.poll()?;
        self.results.expect(probe);
        Some(probe)
    }

    /// Up to the target while the loss-based estimate grows.
    fn padding(&self) -> DataRate {
        if self.last.state == LossState::IncreasingWithPadding { self.last.pushed } else { DataRate::ZERO }
    }

    fn on_path_change(&mut self, now: Instant) {
        if self.next_timer.is_none() {
            return;
        }
        let estimate = match self.config.reset {
            RouteReset::Start => None,
            RouteReset::Target => Some(self.target.rate()),
            RouteReset::Acknowledged => self.acknowledged.peek(),
        };
        let limits = self.config.limits;
        let start = estimate.map_or(limits.start, |rate| rate.min(limits.start)).max(limits.min);
        self.acknowledged = Throughput::new(self.config.throughput);
        self.results = ProbeResults::default();
        self.delay = new_delay(&self.config, start);
        self.stable = StableCapacity::new(start);
        self.target.reset(start);
        self.probes.start(start, limits.max, now);
        self.refresh(None, now);
    }
}
