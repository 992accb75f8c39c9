//! BBR version 3 as a law for media: [`bbr`](crate::bbr) with the reports of a receiver.
//!
//! Choices for media, and where the draft leaves one:
//! - The rate for the encoder is the estimated bandwidth, less the pacing margin of 1 %, and less in the
//!   phases that send slower. In the phases that send faster the encoder keeps its rate and the sender fills
//!   with padding ([`MediaController::padding`]), so that the picture does not follow the probes;
//!   [`padding`](BbrConfig::padding) turns this off. There is no padding while the encoder leaves its rate
//!   unused, nor above its greatest rate.
//! - A report is one acknowledgement. Its packets are taken as acknowledged at the times of immediate reports
//!   for rates and round-trip times, and at its arrival for aggregation, so that the window has room for a
//!   report's interval.
//! - There is no undo of spurious losses, no send quantum and no offload budget.
//! - A stall of a second is the draft's retransmission time-out.
//!
//! Two properties of the draft show on paths of media rates. Random losses of 1 % leave two thirds to nine
//! tenths of 10 to 100 Mbit/s at 40 ms: the short-term bandwidth falls with the losses between probes, and in
//! some probes chance exceeds the threshold of 2 %. And where a fall of the capacity raises the round-trip
//! time to half a second without losses, ProbeRTT interrupts each probe for bandwidth before it ends, and the
//! estimate does not fall.

use whimbrel_units::{ByteCount, DataRate, Duration, Instant};

pub use self::config::BbrConfig;
use super::missing::MissingPackets;
use super::stall::Stall;
use super::{Allowance, Feedback, MediaController, RateLimits, SentPacket};
use crate::bbr::Model;

mod config;

#[cfg(test)]
mod tests;

/// Time without sending or reports after which packets in flight are taken as lost (RFC 6298, Section 2.4),
/// and in round-trip times.
const STALL_MIN: f64 = 1.0;
const STALL_ROUNDS: f64 = 3.0;
/// Weight of a sample in the average interval between reports.
const REPORT_SMOOTHING: f64 = 1.0 / 8.0;

/// BBR version 3.
#[derive(Clone, PartialEq, Debug)]
pub struct Bbr {
    config: BbrConfig,
    model: Model,
    missing: MissingPackets,
    stall: Stall,
    /// Sending time of the newest packet of which the arrival was reported.
    newest_sent_at: Instant,
    last_report: Option<Instant>,
    report_interval: f64,
    application_limited: bool,
}

impl Bbr {
    /// BBR with `config`, before any report.
    pub fn new(config: BbrConfig) -> Self {
        Self {
            config,
            model: Model::new(config.parameters, config.limits.start),
            missing: MissingPackets::default(),
            stall: Stall::default(),
            newest_sent_at: Instant::ZERO,
            last_report: None,
            report_interval: 0.0,
            application_limited: false,
        }
    }

    /// The estimated bandwidth.
    pub fn bandwidth(&self) -> DataRate {
        self.model.bandwidth()
    }

    /// The estimated minimum round-trip time; `None` before the first report.
    pub const fn min_rtt(&self) -> Option<Duration> {
        self.model.min_rtt()
    }

    /// Name of the state, as in the draft.
    pub const fn state(&self) -> &'static str {
        self.model.state()
    }

    /// The long-term bound of the bytes in flight; `None` while no probe has found it.
    pub fn long_term_bound(&self) -> Option<ByteCount> {
        self.model.long_term_bound()
    }

    fn timeout(&self) -> Duration {
        let rtt = self.model.min_rtt().map_or(0.0, Duration::as_secs_f64);
        Duration::from_secs_f64((STALL_ROUNDS * rtt).max(STALL_MIN))
    }

    /// Counts the packets of a report as acknowledged at the times of immediate reports, so that rates do not
    /// depend on the interval between reports.
    fn on_arrivals(&mut self, feedback: &Feedback<'_>) {
        // A report that a later one overtook gives no sample, as if it were lost: packets sent meanwhile
        // would have its bytes in the time of the later one.
        let arrived = feedback.packets.iter().filter(|packet| packet.arrival().is_some());
        let Some(sent_at) = arrived.map(|packet| packet.sent.sent_at).max() else { return };
        if sent_at < self.newest_sent_at {
            return;
        }
        self.newest_sent_at = sent_at;
        let mut least_rtt: Option<Duration> = None;
        for (packet, rtt) in feedback.round_trips() {
            if self.model.on_delivered(packet.sent.sequence, packet.sent.sent_at + rtt) {
                least_rtt = Some(least_rtt.map_or(rtt, |least| least.min(rtt)));
            }
        }
        // An interval below the round-trip time would be an artefact of the clocks.
        self.model.on_ack_of_interval(feedback.now, least_rtt, least_rtt.unwrap_or(Duration::ZERO));
    }
}

impl MediaController for Bbr {
    fn name(&self) -> &'static str {
        "BBRv3"
    }

    fn on_sent(&mut self, packet: &SentPacket) {
        self.model.on_sent(packet.sent_at, packet.sequence, packet.size.as_f64());
        self.stall.on_sent(packet);
    }

    fn on_feedback(&mut self, feedback: &Feedback<'_>) {
        if self.stall.written_off() > 0.0 {
            self.model.restore_window();
        }
        self.stall.on_feedback(feedback);
        self.model.set_in_flight(self.stall.in_flight());
        if let Some(last) = self.last_report.replace(feedback.now) {
            let interval = feedback.now.saturating_since(last).as_secs_f64();
            self.report_interval += REPORT_SMOOTHING * (interval - self.report_interval);
        }
        let rtt = self.model.min_rtt().unwrap_or(Duration::ZERO);
        let reordering = rtt.mul_f64(self.config.reordering_rtts);
        let Self { missing, model, .. } = self;
        missing
            .on_report(feedback.packets, reordering, |packet| model.on_lost(feedback.now, packet.sequence));
        self.on_arrivals(feedback);
    }

    fn next_timer(&self) -> Option<Instant> {
        self.stall.deadline(self.timeout())
    }

    fn on_timer(&mut self, now: Instant) {
        if self.stall.on_timer(now, self.timeout()) {
            self.model.set_in_flight(0.0);
            self.model.on_timeout();
        }
    }

    fn allowance(&self) -> Allowance {
        let RateLimits { min, start, max } = self.config.limits;
        let (bw, window) = (self.model.bw(), self.model.window());
        let pacing = self.model.pacing_rate().as_bytes_per_second();
        let estimate = match self.model.min_rtt() {
            Some(rtt) if bw > 0.0 => {
                let rate = bw * (1.0 - self.config.parameters.pacing_margin);
                // The window also covers the bytes that arrive in the interval between reports.
                let period = rtt.as_secs_f64().max(1e-3) + self.report_interval;
                rate.min(pacing).min(window / period)
            }
            _ => start.as_bytes_per_second(),
        };
        let target = estimate.max(min.as_bytes_per_second()).min(max.as_bytes_per_second());
        let window = (window > 0.0).then(|| ByteCount::new((window + self.stall.written_off()) as u64));
        Allowance {
            target: DataRate::from_bytes_per_second(target),
            pacing: DataRate::from_bytes_per_second(pacing.max(target)),
            window,
        }
    }

    fn padding(&self) -> DataRate {
        let most = self.config.limits.max.as_bytes_per_second();
        let has_room = !self.application_limited && self.model.bw() < most;
        if self.config.padding && self.model.is_probing_bandwidth() && has_room {
            self.model.pacing_rate()
        } else {
            DataRate::ZERO
        }
    }

    fn on_application_limited(&mut self, _now: Instant, limited: bool) {
        self.application_limited = limited;
        if limited {
            self.model.on_application_limited();
        }
    }

    fn on_path_change(&mut self, now: Instant) {
        self.model.on_path_change(now);
    }
}
