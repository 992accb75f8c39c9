//! The minimum round-trip time and ProbeRTT (draft-ietf-ccwg-bbr, Section 5.3.4).

use whimbrel_units::{Duration, Instant};

use super::delivery::RateSample;
use super::{AckPhase, Model, State};

/// Estimates of the minimum round-trip time, and the progress of ProbeRTT.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct MinRtt {
    /// The estimate and its time; `None` before the first sample.
    pub(super) estimate: Option<Duration>,
    taken: Instant,
    /// The minimum since the last ProbeRTT and its time.
    recent: Option<Duration>,
    recent_taken: Instant,
    expired: bool,
    /// End of ProbeRTT, once the bytes in flight are low.
    done_at: Option<Instant>,
    round_done: bool,
}

impl MinRtt {
    /// Takes an estimate from before the first packet, if there is one.
    pub(super) const fn begin(&mut self, now: Instant, rtt: Option<Duration>) {
        (self.estimate, self.taken) = (rtt, now);
    }
}

impl Model {
    pub(super) fn update_min_rtt(&mut self, now: Instant, sample: &RateSample) {
        let min = &mut self.min_rtt;
        min.expired = min.recent.is_some() && now > min.recent_taken + self.parameters.probe_rtt_interval;
        if let Some(rtt) = sample.rtt
            && (min.expired || min.recent.is_none_or(|recent| rtt < recent))
        {
            (min.recent, min.recent_taken) = (Some(rtt), now);
        }
        let is_old = now > min.taken + self.parameters.min_rtt_period;
        if let Some(recent) = min.recent
            && (is_old || min.estimate.is_none_or(|estimate| recent < estimate))
        {
            (min.estimate, min.taken) = (Some(recent), min.recent_taken);
        }
    }

    pub(super) fn check_probe_rtt(&mut self, now: Instant) {
        if self.state != State::ProbeRtt && self.min_rtt.expired && !self.idle_restart {
            self.save_window();
            self.state = State::ProbeRtt;
            self.min_rtt.done_at = None;
            self.ack_phase = AckPhase::ProbeStopping;
            self.start_round();
        }
        if self.state == State::ProbeRtt {
            self.advance_probe_rtt(now);
        }
        self.idle_restart = false;
    }

    fn advance_probe_rtt(&mut self, now: Instant) {
        let in_flight = self.in_flight;
        // The low rate of ProbeRTT is not the path's.
        self.delivery.limit(in_flight);
        if self.min_rtt.done_at.is_some() {
            self.min_rtt.round_done |= self.round_start;
            if self.min_rtt.round_done {
                self.end_probe_rtt(now);
            }
        } else if in_flight <= self.probe_rtt_window() {
            self.min_rtt.done_at = Some(now + self.parameters.probe_rtt_duration);
            self.min_rtt.round_done = false;
            self.start_round();
        }
    }

    pub(super) fn end_probe_rtt(&mut self, now: Instant) {
        if self.min_rtt.done_at.is_none_or(|at| now <= at) {
            return;
        }
        self.min_rtt.recent_taken = now;
        self.restore_window();
        self.reset_short_term_model();
        if self.full_pipe.reached {
            self.start_down(now);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }
}
