//! Recovery as in ns-2's `Agent/TCP/Sack1`: selective acknowledgements select the segments to send again, a
//! counter limits their number (Fall and Floyd, "Simulation-based comparisons of Tahoe, Reno and SACK TCP",
//! 1996).
//!
//! In contrast to RFC 6675, every acknowledgement takes one segment out of the network, and a partial one
//! two; a hole is sent again as soon as anything above it has arrived; and nothing is kept beyond the end of
//! a recovery.

use whimbrel_units::Instant;

use super::{SenderPhase, TcpSender};
use crate::tcp::segment::Segment;

impl TcpSender {
    pub(super) fn on_ack_with_counter(&mut self, now: Instant, segment: &Segment) {
        if self.recovery.phase == SenderPhase::FastRecovery {
            return self.count_in_recovery(now, segment);
        }
        if segment.ack > self.unacknowledged {
            let (acked, rtt) = self.advance(now, segment);
            self.note_cumulative_delivery(now, acked, rtt);
            self.scoreboard.advance(segment.ack);
            self.scoreboard.clear();
            self.forget_duplicates();
            // Any new acknowledgement ends the time in which duplicates are ignored.
            self.recovery.phase = SenderPhase::Open;
            self.open_window(now, acked);
        } else if segment.ack == self.unacknowledged && self.recovery.phase == SenderPhase::Open {
            if self.scoreboard.update(&segment.sack, self.high) {
                self.count_duplicate(now);
            } else if self.recovery.duplicates > 0 {
                self.limit_burst(0);
            }
        }
    }

    fn count_duplicate(&mut self, now: Instant) {
        self.recovery.duplicates += 1;
        self.note_duplicate_delivery(now);
        let threshold = self.config.recovery.duplicate_threshold;
        if self.recovery.duplicates < threshold {
            return self.note_early_duplicate();
        }
        if self.recovery.duplicates == threshold && self.may_fast_retransmit() {
            self.recovery.flight_before = self.flight();
            self.enter_fast_recovery(now);
            let outstanding = self.high - self.unacknowledged;
            self.recovery.counter = self.in_segments(outstanding) as i64 - i64::from(threshold);
        }
        self.limit_burst(0);
    }

    fn count_in_recovery(&mut self, now: Instant, segment: &Segment) {
        self.recovery.counter -= 1;
        if segment.ack >= self.recovery.point {
            let (acked, rtt) = self.advance(now, segment);
            self.note_cumulative_delivery(now, acked, rtt);
            self.scoreboard.advance(segment.ack);
            self.scoreboard.clear();
            self.forget_duplicates();
            self.recovery.phase = SenderPhase::Open;
            self.recovery.resend = false;
            self.recovery.not_before = None;
        } else if segment.ack > self.unacknowledged {
            self.note_cumulative_delivery(now, segment.ack - self.unacknowledged, None);
            self.unacknowledged = segment.ack;
            self.next = self.next.max(segment.ack);
            self.timers.last_acknowledged = now;
            self.scoreboard.advance(segment.ack);
            self.scoreboard.update(&segment.sack, self.high);
            self.recovery.counter -= 1;
            self.restart_retransmission_timer(now);
        } else if segment.ack == self.unacknowledged && self.scoreboard.update(&segment.sack, self.high) {
            self.note_duplicate_delivery(now);
        }
        self.limit_burst(self.config.recovery.bursts.recovery);
    }
}
