//! Recovery by selective acknowledgements (RFC 6675, Section 5).

use whimbrel_units::Instant;

use super::{SenderPhase, TcpSender};
use crate::tcp::ranges::ByteRange;
use crate::tcp::segment::Segment;

impl TcpSender {
    pub(super) fn on_ack_with_scoreboard(&mut self, now: Instant, segment: &Segment) {
        let known = self.unacknowledged + self.scoreboard.received();
        let (mut acked, mut rtt) = (0, None);
        if segment.ack > self.unacknowledged {
            (acked, rtt) = self.advance(now, segment);
            self.scoreboard.advance(segment.ack);
            self.forget_duplicates();
        }
        let news = !segment.sack.is_empty() && self.scoreboard.update(&segment.sack, self.high);
        // A timeout may have cleared the scoreboard of data that is acknowledged now.
        let delivered = (self.unacknowledged + self.scoreboard.received()).saturating_sub(known);
        self.note_delivery(now, delivered, rtt);
        match self.recovery.phase {
            SenderPhase::FastRecovery if self.unacknowledged >= self.recovery.point => {
                // Step (A). The state of later segments is kept.
                self.recovery.phase = SenderPhase::Open;
                self.recovery.resend = false;
                self.scoreboard.forget_retransmissions();
            }
            SenderPhase::FastRecovery => return,
            SenderPhase::Open | SenderPhase::Timeout => {
                self.leave_timeout();
                if acked > 0 {
                    self.open_window(now, acked);
                }
            }
        }
        if news {
            self.on_selective_duplicate(now);
        }
    }

    /// Outside recovery, an acknowledgement reported new data beyond a gap.
    fn on_selective_duplicate(&mut self, now: Instant) {
        if self.recovery.duplicates == 0 {
            self.recovery.flight_before = self.flight();
        }
        self.recovery.duplicates += 1;
        let enough = self.recovery.duplicates >= self.config.recovery.duplicate_threshold
            || self.scoreboard.is_lost(self.unacknowledged);
        // RFC 6675, Section 5.1: not before all that was outstanding at a timeout is acknowledged.
        if enough && self.recovery.phase == SenderPhase::Open {
            self.recovery.rescued_to = None;
            self.enter_fast_recovery(now);
        }
    }

    /// NextSeg: the next segment to send during recovery; `may_send_new` if there is new data and the
    /// receiver accepts it.
    pub(super) fn next_segment_in_recovery(&self, may_send_new: bool) -> Option<NextSegment> {
        if let Some(lost) = self.scoreboard.next_lost() {
            return Some(NextSegment::Retransmission(lost));
        }
        if may_send_new {
            return Some(NextSegment::New);
        }
        if let Some(hole) = self.scoreboard.next_below_received() {
            return Some(NextSegment::Retransmission(hole));
        }
        if self.config.recovery.rescue
            && self.recovery.rescued_to.is_none_or(|point| self.unacknowledged > point)
        {
            return self.scoreboard.last_missing(self.high).map(NextSegment::Rescue);
        }
        None
    }
}

/// The answer of NextSeg.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NextSegment {
    /// Rules 1 and 3.
    Retransmission(ByteRange),
    /// Rule 2.
    New,
    /// Rule 4.
    Rescue(ByteRange),
}
