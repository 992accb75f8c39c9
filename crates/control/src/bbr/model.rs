//! The model of the path: bandwidth, round-trip time and bounds, and what follows from them for window and
//! pace (draft-ietf-ccwg-bbr, Sections 5.5 and 5.6).

use whimbrel_units::Instant;

use super::delivery::RateSample;
use super::{INITIAL_PACKETS, LEAST_PACKETS, Model, QUANTA_IN_FLIGHT, State};

impl Model {
    pub(super) fn initial_window(&self) -> f64 {
        self.initial_window.unwrap_or(INITIAL_PACKETS * self.segment)
    }

    pub(super) fn max_bw(&self) -> f64 {
        self.max_bw[0].max(self.max_bw[1])
    }

    pub(crate) fn bw(&self) -> f64 {
        self.max_bw().min(self.bw_short_term)
    }

    /// Bytes in flight that a bandwidth fills.
    pub(super) fn bdp(&self, bw: f64) -> f64 {
        match self.min_rtt.estimate {
            Some(rtt) => bw * rtt.as_secs_f64(),
            None => self.initial_window(),
        }
    }

    pub(super) fn in_flight_for(&self, bw: f64, gain: f64) -> f64 {
        let up = if self.state == State::Up { 2.0 * self.segment } else { 0.0 };
        let quanta = if self.parameters.quanta { QUANTA_IN_FLIGHT * self.send_quantum() } else { 0.0 };
        (gain * self.bdp(bw)).max(quanta).max(LEAST_PACKETS * self.segment) + up
    }

    pub(super) fn target_in_flight(&self) -> f64 {
        self.bdp(self.bw()).min(self.window)
    }

    pub(super) fn in_flight_with_headroom(&self) -> f64 {
        if self.long_term.is_infinite() {
            return f64::INFINITY;
        }
        let headroom = (self.parameters.headroom * self.long_term).max(self.segment);
        (self.long_term - headroom).max(LEAST_PACKETS * self.segment)
    }

    pub(super) fn probe_rtt_window(&self) -> f64 {
        (self.parameters.probe_rtt_gain * self.bdp(self.bw())).max(LEAST_PACKETS * self.segment)
    }

    pub(super) const fn start_round(&mut self) {
        self.next_round_delivered = self.delivery.delivered;
    }

    pub(super) fn update_max_bw(&mut self, sample: &RateSample) {
        self.round_start = sample.prior_delivered >= self.next_round_delivered;
        if self.round_start {
            self.start_round();
            self.round += 1;
            self.rounds_since_probe = self.rounds_since_probe.saturating_add(1);
        }
        if sample.rate >= self.max_bw() || !sample.application_limited {
            self.max_bw[0] = self.max_bw[0].max(sample.rate);
        }
    }

    pub(super) const fn advance_max_bw(&mut self) {
        self.max_bw = [0.0, self.max_bw[0]];
    }

    pub(super) fn update_aggregation(&mut self, now: Instant, newly_delivered: f64) {
        let elapsed = now.saturating_since(self.extra_start).as_secs_f64();
        let mut expected = self.bw() * elapsed;
        if self.extra_delivered <= expected {
            (self.extra_delivered, self.extra_start, expected) = (0.0, now, 0.0);
        }
        self.extra_delivered += newly_delivered;
        let extra = (self.extra_delivered - expected).min(self.window).max(0.0);
        // The maximum of the present and the previous period stands for the draft's sliding one.
        let period = if self.full_pipe.reached { self.parameters.extra_acked_rounds } else { 1 };
        if self.round >= self.extra_round + period {
            self.extra = [0.0, self.extra[0]];
            self.extra_round = self.round;
        }
        self.extra[0] = self.extra[0].max(extra);
    }

    fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => self.parameters.startup_gain,
            State::Drain => self.parameters.drain_gain,
            State::Down => self.parameters.down_gain,
            State::Up => self.parameters.up_gain,
            State::Cruise | State::Refill | State::ProbeRtt => 1.0,
        }
    }

    pub(super) fn set_pacing(&mut self) {
        let rate = self.pacing_gain() * self.bw() * (1.0 - self.parameters.pacing_margin);
        if self.full_pipe.reached || rate > self.pacing {
            self.pacing = rate;
        }
    }

    pub(super) fn set_window(&mut self, newly_delivered: f64) {
        let gain = match self.state {
            State::Up => self.parameters.up_window_gain,
            State::ProbeRtt => self.parameters.probe_rtt_gain,
            _ => self.parameters.window_gain,
        };
        let least = LEAST_PACKETS * self.segment;
        let most = self.in_flight_for(self.bw(), gain) + self.extra[0].max(self.extra[1]);
        if self.full_pipe.reached {
            self.window = (self.window + newly_delivered).min(most);
        } else if self.window < most || self.delivery.delivered < self.initial_window() {
            self.window += newly_delivered;
        }
        self.window = self.window.max(least);
        if self.state == State::ProbeRtt {
            self.window = self.window.min(self.probe_rtt_window());
        }
        let cap = match self.state {
            State::Down | State::Refill | State::Up => self.long_term,
            State::ProbeRtt | State::Cruise => self.in_flight_with_headroom(),
            State::Startup | State::Drain => f64::INFINITY,
        };
        self.window = self.window.min(cap.min(self.in_flight_short_term).max(least));
    }

    /// `true` if more than the threshold of the bytes in flight were lost.
    pub(super) fn is_too_high(&self, lost: f64, in_flight: f64) -> bool {
        lost > in_flight * self.parameters.loss_threshold
    }

    pub(super) const fn reset_congestion_signals(&mut self) {
        self.loss_in_round = false;
        self.bw_latest = 0.0;
        self.in_flight_latest = 0.0;
    }

    pub(super) const fn reset_short_term_model(&mut self) {
        self.bw_short_term = f64::INFINITY;
        self.in_flight_short_term = f64::INFINITY;
    }
}
