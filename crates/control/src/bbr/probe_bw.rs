//! ProbeBW: the four phases, and the long-term bound of the bytes in flight (draft-ietf-ccwg-bbr, Section
//! 5.3.3).

use whimbrel_units::{Duration, Instant};

use super::delivery::RateSample;
use super::{AckPhase, Model, State};

/// Greatest exponent of the growth of the long-term bound.
const GROWTH_EXPONENT_MAX: u32 = 30;
/// Round-trip times between probes that match Reno's, at the most.
const RENO_ROUNDS_MAX: f64 = 63.0;

impl Model {
    pub(super) const fn is_in_probe_bw(&self) -> bool {
        matches!(self.state, State::Down | State::Cruise | State::Refill | State::Up)
    }

    pub(super) fn start_down(&mut self, now: Instant) {
        self.reset_congestion_signals();
        self.acked_per_increment = f64::INFINITY;
        let (rounds, wait) = (self.random.bit(), self.random.fraction());
        self.rounds_since_probe = rounds;
        self.probe_wait = Duration::from_secs_f64(self.parameters.probe_wait.as_secs_f64() + wait);
        self.cycle_start = now;
        self.ack_phase = AckPhase::ProbeStopping;
        self.start_round();
        self.state = State::Down;
    }

    pub(super) fn start_refill(&mut self) {
        self.reset_short_term_model();
        self.growth_exponent = 0;
        self.probe_acked = 0.0;
        self.last_probe_was_precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.start_round();
        self.state = State::Refill;
    }

    fn start_up(&mut self, sample: &RateSample) {
        self.ack_phase = AckPhase::ProbeStarting;
        self.start_round();
        self.full_pipe.reset(sample.rate);
        self.state = State::Up;
        self.raise_slope();
    }

    /// Advances the phases after an acknowledgement.
    pub(super) fn update_phase(&mut self, now: Instant, sample: &RateSample) {
        if !self.full_pipe.reached || self.adapt_long_term_model(sample) || !self.is_in_probe_bw() {
            return;
        }
        match self.state {
            State::Down | State::Cruise if self.is_time_to_probe(now) => self.start_refill(),
            State::Down if self.is_time_to_cruise() => self.state = State::Cruise,
            State::Refill if self.round_start => {
                self.is_probe_sample = true;
                self.start_up(sample);
            }
            State::Up => self.go_down_if_done(now, sample),
            _ => {}
        }
    }

    fn is_time_to_probe(&self, now: Instant) -> bool {
        let reno_rounds = (self.target_in_flight() / self.segment).min(RENO_ROUNDS_MAX);
        now > self.cycle_start + self.probe_wait || f64::from(self.rounds_since_probe) >= reno_rounds
    }

    fn is_time_to_cruise(&self) -> bool {
        let in_flight = self.in_flight;
        in_flight <= self.in_flight_with_headroom() && in_flight <= self.in_flight_for(self.max_bw(), 1.0)
    }

    /// Ends ProbeBW_UP when the pipe is full, or when a cautious probe reaches the bound of the one before.
    fn go_down_if_done(&mut self, now: Instant, sample: &RateSample) {
        if self.last_probe_was_too_high && self.in_flight >= self.long_term {
            self.last_probe_was_precautionary = true;
        } else if self.window_limited && self.window >= self.long_term {
            // The bandwidth is limited by the bound.
            self.full_pipe.reset(sample.rate);
            return;
        } else if !self.full_pipe.now {
            return;
        }
        self.last_probe_was_too_high = false;
        self.start_down(now);
    }

    fn raise_slope(&mut self) {
        let growth = f64::from(1_u32 << self.growth_exponent);
        self.growth_exponent = (self.growth_exponent + 1).min(GROWTH_EXPONENT_MAX);
        self.acked_per_increment = (self.window / growth).max(self.segment);
    }

    /// Raises the long-term bound while it limits the bytes in flight: by 1, 2, 4, ... packets in a
    /// round-trip time.
    fn raise_long_term(&mut self, sample: &RateSample) {
        if !self.window_limited || self.window < self.long_term {
            return;
        }
        self.probe_acked += sample.newly_delivered;
        if self.probe_acked >= self.acked_per_increment {
            let count = libm::floor(self.probe_acked / self.acked_per_increment);
            self.probe_acked -= count * self.acked_per_increment;
            self.long_term += count * self.segment;
        }
        if self.round_start {
            self.raise_slope();
        }
    }

    /// Tracks the samples of a probe and adapts the long-term bound; returns `true` if it changed the phase.
    fn adapt_long_term_model(&mut self, sample: &RateSample) -> bool {
        if self.ack_phase == AckPhase::ProbeStarting && self.round_start {
            self.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.ack_phase == AckPhase::ProbeStopping && self.round_start {
            self.is_probe_sample = false;
            self.ack_phase = AckPhase::Init;
            if self.is_in_probe_bw() {
                if !sample.application_limited {
                    self.advance_max_bw();
                }
                if self.last_probe_was_precautionary && !self.last_probe_was_too_high {
                    self.start_refill();
                    return true;
                }
            }
        }
        if !self.is_too_high(sample.lost, sample.in_flight_when_sent) && self.long_term.is_finite() {
            self.long_term = self.long_term.max(sample.in_flight_when_sent);
            if self.state == State::Up {
                self.raise_long_term(sample);
            }
        }
        false
    }
}
