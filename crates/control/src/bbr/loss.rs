//! The answer to losses: the long-term bound while probing, the short-term bounds otherwise
//! (draft-ietf-ccwg-bbr, Section 5.5.10).

use whimbrel_units::Instant;

use super::delivery::{Flight, RateSample};
use super::{Model, State};

impl Model {
    /// Processes a lost packet (HandleLostPacket). Bytes in flight are without it.
    pub fn on_lost(&mut self, now: Instant, sequence: u64) {
        let Some(flight) = self.delivery.flight(sequence) else { return };
        self.delivery.on_lost(flight.size);
        self.note_loss();
        if sequence != self.last_lost.wrapping_add(1) {
            self.loss_ranges += 1;
        }
        self.last_lost = sequence;
        let lost = self.delivery.lost - flight.lost;
        if self.is_probe_sample && self.is_too_high(lost, flight.in_flight) {
            let in_flight = self.in_flight_at_loss(&flight, lost);
            self.on_too_high(now, in_flight, flight.application_limited);
        }
    }

    /// A loss in this round trip, of which no more is known (NoteLoss).
    pub fn note_loss(&mut self) {
        if !self.loss_in_round {
            self.loss_round_delivered = self.delivery.delivered;
            self.save_model();
        }
        self.loss_in_round = true;
    }

    /// Bytes in flight at which the losses crossed the threshold, perhaps within the packet.
    fn in_flight_at_loss(&self, flight: &Flight, lost: f64) -> f64 {
        let threshold = self.parameters.loss_threshold;
        let (before, lost_before) = (flight.in_flight - flight.size, lost - flight.size);
        before + (threshold * before - lost_before) / (1.0 - threshold)
    }

    fn on_too_high(&mut self, now: Instant, in_flight: f64, application_limited: bool) {
        self.last_probe_was_too_high = true;
        self.is_probe_sample = false;
        if !application_limited {
            self.long_term = in_flight.max(self.target_in_flight() * self.parameters.beta);
        }
        if self.state == State::Up {
            self.undo.state = Some(State::Up);
            self.start_down(now);
        }
    }

    /// Near the start of the processing of an acknowledgement.
    pub(super) fn update_latest_signals(&mut self, sample: &RateSample) {
        self.loss_round_start = false;
        self.bw_latest = self.bw_latest.max(sample.rate);
        self.in_flight_latest = self.in_flight_latest.max(sample.delivered);
        if sample.prior_delivered >= self.loss_round_delivered {
            self.loss_round_delivered = self.delivery.delivered;
            self.loss_round_start = true;
        }
    }

    /// Near the end of the processing of an acknowledgement.
    pub(super) fn advance_latest_signals(&mut self, sample: &RateSample) {
        if self.loss_round_start {
            self.bw_latest = sample.rate;
            self.in_flight_latest = sample.delivered;
        }
    }

    /// Once in a round-trip time, lowers the short-term bounds to the measured delivery if there were losses.
    pub(super) fn update_congestion_signals(&mut self, sample: &RateSample) {
        self.update_max_bw(sample);
        if !self.loss_round_start {
            return;
        }
        if self.loss_in_round && !self.is_probing_bandwidth() {
            if self.bw_short_term.is_infinite() {
                self.bw_short_term = self.max_bw();
            }
            if self.in_flight_short_term.is_infinite() {
                self.in_flight_short_term = self.window;
            }
            let beta = self.parameters.beta;
            self.bw_short_term = self.bw_latest.max(beta * self.bw_short_term);
            self.in_flight_short_term = self.in_flight_latest.max(beta * self.in_flight_short_term);
        }
        if self.state == State::Startup && self.loss_in_round {
            self.check_startup_losses(sample);
        }
        self.loss_in_round = false;
        self.loss_ranges = 0;
    }

    /// Ends Startup after a round-trip time with many losses.
    fn check_startup_losses(&mut self, sample: &RateSample) {
        if self.loss_ranges >= self.parameters.startup_loss_ranges
            && self.is_too_high(sample.lost, sample.in_flight_when_sent)
        {
            self.undo.state = Some(State::Startup);
            self.full_pipe.reached = true;
            self.long_term = self.bdp(self.max_bw()).max(self.in_flight_latest);
        }
    }
}
