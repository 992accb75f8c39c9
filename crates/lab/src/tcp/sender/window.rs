//! The congestion window and the retransmission timer, as all recovery methods use them.

use whimbrel_control::window::{CongestionCause, CongestionSignal};
use whimbrel_units::Instant;

use super::{SenderPhase, TcpSender};
use crate::tcp::clock;
use crate::tcp::config::{EcnMode, LimitedTransmit, ReductionBasis};
use crate::tcp::segment::Timestamps;

impl TcpSender {
    /// FlightSize (RFC 5681, Section 2), in bytes.
    pub(super) fn flight(&self) -> u64 {
        self.next - self.unacknowledged
    }

    pub(super) fn in_segments(&self, bytes: u64) -> f64 {
        bytes as f64 / f64::from(self.config.segment_size)
    }

    /// The congestion signal for the window law; `flight` is FlightSize without limited transmit.
    pub(super) fn signal(&self, now: Instant, flight: u64, cause: CongestionCause) -> CongestionSignal {
        let in_flight = match self.config.window.basis {
            ReductionBasis::FlightSize => self.in_segments(flight),
            ReductionBasis::Window => self.window_in_force(),
            ReductionBasis::WholeWindow => self.window_in_force().floor(),
        };
        CongestionSignal { now, in_flight, cause }
    }

    fn window_in_force(&self) -> f64 {
        (self.window.cwnd + self.recovery.inflation).min(self.config.window.limit.unwrap_or(f64::INFINITY))
    }

    /// The law reduces the window.
    pub(super) fn reduce(&mut self, signal: &CongestionSignal) {
        self.law.on_congestion(&mut self.window, signal);
        self.round_down();
    }

    /// The law reduces the window after a timeout.
    pub(super) fn reduce_after_timeout(&mut self, signal: &CongestionSignal, repeated: bool) {
        self.law.on_timeout(&mut self.window, signal, repeated);
        self.round_down();
    }

    /// The law may set the window after a recovery.
    pub(super) fn end_recovery(&mut self) {
        self.law.on_recovery_end(&mut self.window);
        self.round_down();
    }

    /// A window in whole segments is rounded down after a reduction. Scalable laws keep the fraction, as
    /// their reductions can be less than a segment.
    fn round_down(&mut self) {
        if self.config.window.basis == ReductionBasis::WholeWindow && !self.law.is_scalable() {
            self.window.cwnd = self.window.cwnd.floor();
            self.window.ssthresh = self.window.ssthresh.floor();
        }
    }

    /// A duplicate that is too early for a fast retransmit.
    pub(super) fn note_early_duplicate(&mut self) {
        self.recovery.early_duplicates = self.recovery.duplicates;
        self.limit_burst(self.config.recovery.bursts.early_duplicate);
    }

    pub(super) fn forget_duplicates(&mut self) {
        self.recovery.duplicates = 0;
        self.recovery.early_duplicates = 0;
    }

    pub(super) fn limit_burst(&mut self, segments: u32) {
        self.recovery.burst_left = self.recovery.burst_left.min(segments);
    }

    /// A loss was noticed by acknowledgements: cut the window and send the first segment again.
    pub(super) fn enter_fast_recovery(&mut self, now: Instant) {
        self.counts.fast_retransmits += 1;
        self.cut_for_loss(now);
        self.recovery.point = self.high;
        if self.config.recovery.once_per_window {
            self.recovery.not_before = Some(self.high);
        }
        self.recovery.phase = SenderPhase::FastRecovery;
        self.recovery.early_duplicates = 0;
        self.recovery.first_partial = true;
        self.recovery.resend = true;
        self.timers.stop_timing();
        if self.config.recovery.restart_timer {
            self.restart_retransmission_timer(now);
        }
    }

    pub(super) fn cut_for_loss(&mut self, now: Instant) {
        // RFC 3168, Section 6.1.2: a mark and a loss in one window of data are one sign of congestion.
        if !self.congestion_echo.covers(self.unacknowledged) {
            let signal = self.signal(now, self.recovery.flight_before, CongestionCause::Loss);
            self.reduce(&signal);
            self.announce_reduction();
        }
    }

    /// `true` if duplicate acknowledgements may cause a fast retransmit now (RFC 6582, Section 3.2, step 2).
    pub(super) fn may_fast_retransmit(&self) -> bool {
        self.recovery.not_before.is_none_or(|point| self.unacknowledged > point)
    }

    /// Segments beyond the window that the duplicates so far release (RFC 3042).
    pub(super) fn limited_transmit(&self) -> u32 {
        match self.config.recovery.limited_transmit {
            LimitedTransmit::Off => 0,
            LimitedTransmit::On if self.next < self.high => 0,
            LimitedTransmit::On | LimitedTransmit::Any => self.recovery.early_duplicates,
        }
    }

    /// The next new data signals the reduction of the window to the receiver (RFC 3168, Section 6.1.2).
    pub(super) fn announce_reduction(&mut self) {
        self.congestion_echo.announce = self.config.ecn == EcnMode::Classic;
    }

    /// Runs for as long as anything is outstanding (RFC 6298, Sections 5.2 and 5.3).
    pub(super) fn restart_retransmission_timer(&mut self, now: Instant) {
        self.timers.retransmission = (self.high > self.unacknowledged).then(|| now + self.rtt.rto());
    }

    /// The timestamps of a segment that is sent now.
    pub(super) fn timestamps(&self, now: Instant) -> Option<Timestamps> {
        self.config.timestamps.then(|| Timestamps { value: clock(now), echo: self.echo_timestamp })
    }
}
