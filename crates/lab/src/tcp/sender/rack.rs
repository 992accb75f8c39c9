//! Recovery by the times of transmissions: RACK and tail loss probes (RFC 8985), with Proportional Rate
//! Reduction (RFC 9937).
//!
//! A segment is lost when one that was sent later has arrived and a reordering window has passed; a
//! retransmission may be lost again. The reordering window is a quarter of the least round-trip time, until
//! duplicate SACKs show it to be too short ([`spurious`](super::spurious)).

use whimbrel_units::{Duration, Instant};

use super::rate_reduction::{RateReduction, RecoveryAck};
use super::spurious::Evidence;
use super::{SenderPhase, TcpSender};
use crate::tcp::clock;
use crate::tcp::segment::Segment;
use crate::tcp::transmissions::Patience;

/// The state of tail loss probes (RFC 8985, Section 7).
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct LossProbe {
    /// Time of the next probe.
    pub(super) deadline: Option<Instant>,
    /// A probe is to be sent now.
    pub(super) is_due: bool,
    /// `TLP.end_seq`: the end of the probe in flight.
    pub(super) end: Option<u64>,
    /// `TLP.is_retrans`.
    pub(super) is_retransmission: bool,
    /// A round-trip time has been measured since the last probe.
    pub(super) is_measured: bool,
}

impl TcpSender {
    /// `TLP.max_ack_delay`: Linux allows for as much as its least retransmission timeout.
    const MAX_ACK_DELAY: Duration = Duration::from_millis(200);

    pub(super) fn on_ack_with_rack(&mut self, now: Instant, segment: &Segment) {
        let before = self.unacknowledged;
        let news = self.transmissions.on_ack(now, segment.ack, &segment.sack, self.high);
        if news.extent > 0 && self.config.recovery.undo {
            self.spurious.note_extent(news.extent.div_ceil(self.config.segment_size.into()));
        }
        let acked = segment.ack.saturating_sub(before);
        let rtt = news.timed.map(|sent| now - sent);
        if let Some(sent) = news.timed {
            self.rtt.on_round_trip(sent, now);
            self.probe.is_measured = true;
        } else if acked > 0
            && let Some(timestamps) = segment.timestamps
        {
            // Only retransmissions are acknowledged: the timestamp shows which (RFC 7323, Section 4).
            self.rtt.on_sample(Duration::from_micros(clock(now).wrapping_sub(timestamps.echo).into()));
        }
        if acked > 0 {
            self.unacknowledged = segment.ack;
            self.next = self.high;
            self.timers.last_acknowledged = now;
            self.restart_retransmission_timer(now);
        }
        self.note_delivery(now, news.delivered, rtt);
        let is_duplicate = acked == 0 && segment.ack == before && segment.sack.is_empty();
        let evidence = self.find_spurious(segment, before);
        let is_duplicate =
            is_duplicate || segment.duplicate().is_some_and(|range| Some(range.end) == self.probe.end);
        self.process_probe_ack(now, segment.ack, is_duplicate);
        if self.recovery.phase == SenderPhase::FastRecovery && self.unacknowledged >= self.recovery.point {
            self.recovery.phase = SenderPhase::Open;
            if let Some(reduction) = self.rate_reduction.take() {
                self.window.cwnd = reduction.target;
            }
            self.end_recovery();
            self.spurious.on_recovery_end();
        }
        self.leave_timeout();
        if self.recovery.phase == SenderPhase::Open {
            self.paced.end_recovery();
        }
        // If reordering is usual, data opens the window when it arrives, in order or not (Linux).
        let is_reordered = self.spurious.degree() > u64::from(self.config.recovery.duplicate_threshold);
        let opens = acked > 0 || is_reordered && news.delivered > 0;
        if opens && self.recovery.phase != SenderPhase::FastRecovery {
            // The acknowledgement that ends a recovery covers a window of data, most of which was
            // acknowledged selectively before. The window does not grow for that.
            self.open_window(now, news.delivered);
        }
        let sacked_before = self.transmissions.sacked().saturating_sub(news.delivered.saturating_sub(acked));
        let has_lost = evidence == Evidence::None && self.detect_losses(now, sacked_before);
        if let Some(mut reduction) = self.rate_reduction.take() {
            reduction.on_ack(&RecoveryAck {
                delivered: news.delivered,
                pipe: self.transmissions.pipe(),
                ssthresh: (reduction.target * f64::from(self.config.segment_size)) as u64,
                segment: self.config.segment_size.into(),
                is_safe: acked > 0 && !has_lost,
            });
            self.rate_reduction = Some(reduction);
        }
        if acked > 0 {
            self.schedule_probe(now);
        }
        if self.paced.is_on() {
            // With timestamps, a retransmission measures the round-trip time as well.
            let echo = segment.timestamps.filter(|_| acked > 0).map(|timestamps| timestamps.echo);
            let of_echo = |echo| Duration::from_micros(clock(now).wrapping_sub(echo).into());
            let rtt = rtt.or(echo.map(of_echo));
            self.paced.on_ack(now, rtt, &mut self.transmissions, &mut self.window);
        }
    }

    /// Marks what is lost and begins a recovery if there is none. `sacked_before`: bytes selectively
    /// acknowledged before this acknowledgement.
    pub(super) fn detect_losses(&mut self, now: Instant, sacked_before: u64) -> bool {
        let patience = Patience {
            smoothed_rtt: self.rtt.smoothed(),
            is_recovering: self.recovery.phase != SenderPhase::Open,
            multiplier: self.spurious.multiplier(),
            enough: self.spurious.degree() * u64::from(self.config.segment_size),
        };
        let (found, next) = self.transmissions.detect(now, &patience);
        self.timers.reordering = next;
        if found && self.recovery.phase == SenderPhase::Open {
            self.counts.fast_retransmits += 1;
            self.recovery.flight_before = self.flight_in_window();
            self.begin_undo();
            self.cut_for_loss(now);
            self.recovery.point = self.high;
            self.recovery.phase = SenderPhase::FastRecovery;
            self.recovery.resend = true;
            self.probe.deadline = None;
            self.paced.begin_recovery();
            if self.config.recovery.rate_reduction {
                let flight = self.flight().saturating_sub(sacked_before);
                self.rate_reduction = Some(RateReduction::new(flight, self.window.cwnd));
            }
        }
        found
    }

    /// A recovery that a timer began sends one segment before the next acknowledgement.
    pub(super) fn allow_first_retransmission(&mut self) {
        if let Some(mut reduction) = self.rate_reduction.take() {
            let pipe = self.transmissions.pipe();
            let segment = u64::from(self.config.segment_size);
            reduction.on_ack(&RecoveryAck { delivered: 0, pipe, ssthresh: pipe, segment, is_safe: false });
            self.rate_reduction = Some(reduction);
        }
    }

    /// FlightSize without what selective acknowledgements have released beyond the window (RFC 5681, Section
    /// 3.2, step 2).
    fn flight_in_window(&self) -> u64 {
        self.flight().min(self.window.bytes(self.config.segment_size))
    }

    /// Starts or restarts the timer of a probe (Section 7.2).
    pub(super) fn schedule_probe(&mut self, now: Instant) {
        let may_probe = self.config.recovery.loss_probe
            && self.recovery.phase == SenderPhase::Open
            && self.high > self.unacknowledged
            && self.transmissions.sacked() == 0
            && self.probe.end.is_none();
        if !may_probe {
            self.probe.deadline = None;
            return;
        }
        let single = self.flight() <= u64::from(self.config.segment_size);
        let wait = match self.rtt.smoothed() {
            Some(rtt) => rtt * 2 + if single { Self::MAX_ACK_DELAY } else { Duration::ZERO },
            None => Duration::from_secs(1),
        };
        let deadline = now + wait;
        self.probe.deadline =
            Some(self.timers.retransmission.map_or(deadline, |expiry| expiry.min(deadline)));
    }

    /// The timer of the probe has expired (Section 7.3).
    pub(super) fn on_probe_timeout(&mut self, now: Instant) {
        self.probe.deadline = None;
        if self.probe.end.is_none() && self.probe.is_measured {
            self.probe.is_due = true;
        }
        self.restart_retransmission_timer(now);
    }

    /// `TLP_process_ack` (Section 7.4.2). `is_duplicate`: the acknowledgement shows that the original of the
    /// probe has arrived.
    fn process_probe_ack(&mut self, now: Instant, ack: u64, is_duplicate: bool) {
        let Some(end) = self.probe.end.filter(|end| ack >= *end) else { return };
        if !self.probe.is_retransmission || is_duplicate {
            self.probe.end = None;
        } else if ack > end {
            self.probe.end = None;
            // The probe has repaired a loss.
            self.recovery.flight_before = self.flight_in_window();
            self.cut_for_loss(now);
            self.paced.on_repaired_loss();
        }
    }
}
