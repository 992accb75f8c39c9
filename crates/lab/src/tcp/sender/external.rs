//! A window that is set from outside: by the allocations of routers instead of a window law.

use whimbrel_control::window::{Acknowledgement, CongestionCause, CongestionSignal, Window, WindowLaw};
use whimbrel_units::{Duration, Instant};

use super::TcpSender;

/// A law that leaves the window as it is.
#[derive(Clone, Copy, Debug)]
pub struct ExternalWindow;

impl WindowLaw for ExternalWindow {
    fn name(&self) -> &'static str {
        "external"
    }

    fn on_ack(&mut self, _: &mut Window, _: &Acknowledgement) {}
    fn on_congestion(&mut self, _: &mut Window, _: &CongestionSignal) {}
    fn on_timeout(&mut self, _: &mut Window, _: &CongestionSignal, _: bool) {}
}

/// The events of a sender so far, as a control outside it needs them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SenderProgress {
    /// Losses detected by acknowledgements.
    pub fast_retransmits: u64,
    /// Expirations of the retransmission timer.
    pub timeouts: u64,
    /// Bytes cumulatively acknowledged.
    pub acknowledged: u64,
    /// SRTT, once measured.
    pub smoothed_rtt: Option<Duration>,
}

impl TcpSender {
    /// Sets the congestion window in segments.
    pub fn set_window(&mut self, segments: f64) {
        self.window.cwnd = segments;
    }

    /// The events so far.
    pub fn progress(&self) -> SenderProgress {
        SenderProgress {
            fast_retransmits: self.counts.fast_retransmits,
            timeouts: self.counts.timeouts,
            acknowledged: self.unacknowledged,
            smoothed_rtt: self.rtt.smoothed(),
        }
    }

    /// `true` if the window was the limit on sending, not the application or the receiver.
    pub fn is_window_limited(&self) -> bool {
        self.window_used
    }

    /// The signal of a loss for a law outside.
    pub fn loss_signal(&self, now: Instant) -> CongestionSignal {
        self.signal(now, self.flight(), CongestionCause::Loss)
    }

    /// The acknowledgement of `bytes` for a law outside.
    pub fn acknowledgement(&self, now: Instant, bytes: u64) -> Acknowledgement {
        Acknowledgement {
            now,
            acked: self.in_segments(bytes),
            in_flight: self.in_segments(self.flight()),
            smoothed_rtt: self.rtt.smoothed(),
        }
    }
}
