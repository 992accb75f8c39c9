//! Recovery by counting duplicate acknowledgements: Tahoe, Reno (RFC 5681, Section 3.2) and NewReno (RFC
//! 6582).

use whimbrel_control::window::CongestionCause;
use whimbrel_units::Instant;

use super::{SenderPhase, TcpSender};
use crate::tcp::config::{PartialAckTimer, RecoveryExit, Variant};
use crate::tcp::segment::Segment;

impl TcpSender {
    pub(super) fn on_ack_counting_duplicates(
        &mut self,
        now: Instant,
        segment: &Segment,
        window_changed: bool,
    ) {
        if segment.ack > self.unacknowledged {
            let recovering = self.recovery.phase == SenderPhase::FastRecovery;
            if recovering && self.config.variant != Variant::Reno && segment.ack < self.recovery.point {
                self.on_partial_ack(now, segment);
            } else {
                self.on_full_ack(now, segment, recovering);
            }
        } else if segment.ack == self.unacknowledged
            && self.high > self.unacknowledged
            && !segment.occupies_sequence_space()
            && !window_changed
        {
            self.on_duplicate(now);
        }
    }

    fn on_duplicate(&mut self, now: Instant) {
        if self.recovery.duplicates == 0 {
            self.recovery.flight_before = self.flight();
        }
        self.recovery.duplicates += 1;
        self.note_duplicate_delivery(now);
        let threshold = self.config.recovery.duplicate_threshold;
        let recovering = self.recovery.phase == SenderPhase::FastRecovery;
        if !recovering && self.recovery.duplicates < threshold {
            return self.note_early_duplicate();
        }
        self.recovery.early_duplicates = 0;
        if recovering {
            // A segment has left the network (RFC 5681, Section 3.2, step 4).
            self.recovery.inflation += 1.0;
        } else if self.recovery.duplicates == threshold && self.may_fast_retransmit() {
            if self.config.variant == Variant::Tahoe {
                return self.start_over(now);
            }
            self.enter_fast_recovery(now);
            // The segments that caused the duplicates have left the network (step 3).
            self.recovery.inflation = f64::from(threshold);
        }
        self.limit_burst(self.config.recovery.bursts.recovery);
    }

    /// Tahoe: like a timeout, but sooner and without backing off.
    fn start_over(&mut self, now: Instant) {
        self.counts.fast_retransmits += 1;
        let signal = self.signal(now, self.recovery.flight_before, CongestionCause::Loss);
        self.reduce_after_timeout(&signal, false);
        self.announce_reduction();
        self.recovery.early_duplicates = 0;
        self.recovery.not_before = Some(self.high);
        self.next = self.unacknowledged;
        self.timers.stop_timing();
        if self.config.recovery.restart_timer {
            self.restart_retransmission_timer(now);
        }
    }

    /// More was lost than one segment: send the next one (RFC 6582, Section 3.2, step 3, partial
    /// acknowledgements).
    fn on_partial_ack(&mut self, now: Instant, segment: &Segment) {
        let acked = segment.ack - self.unacknowledged;
        self.note_cumulative_delivery(now, acked, None);
        let segments = self.in_segments(acked);
        let back = if acked >= u64::from(self.config.segment_size) { 1.0 } else { 0.0 };
        if self.recovery.inflation > segments {
            self.recovery.inflation -= segments - back;
        } else {
            self.window.cwnd = (self.window.cwnd - (segments - self.recovery.inflation)).max(1.0);
            self.recovery.inflation = 1.0;
        }
        self.unacknowledged = segment.ack;
        self.next = self.next.max(segment.ack);
        self.timers.last_acknowledged = now;
        let every = self.config.recovery.partial_ack_timer == PartialAckTimer::SlowButSteady;
        if every || self.recovery.first_partial {
            self.recovery.first_partial = false;
            self.restart_retransmission_timer(now);
        }
        self.recovery.resend = true;
        self.limit_burst(self.config.recovery.bursts.recovery);
    }

    fn on_full_ack(&mut self, now: Instant, segment: &Segment, recovering: bool) {
        let (acked, rtt) = self.advance(now, segment);
        self.note_cumulative_delivery(now, acked, rtt);
        self.forget_duplicates();
        self.recovery.inflation = 0.0;
        if !recovering {
            self.leave_timeout();
            return self.open_window(now, acked);
        }
        self.recovery.phase = SenderPhase::Open;
        self.recovery.resend = false;
        let threshold = self.window.ssthresh;
        match self.config.recovery.exit {
            RecoveryExit::Flight => {
                self.window.cwnd = threshold.min(self.in_segments(self.flight()).max(1.0) + 1.0);
            }
            RecoveryExit::Threshold => self.window.cwnd = threshold,
            RecoveryExit::Remainder => self.open_window(now, acked),
        }
    }
}
