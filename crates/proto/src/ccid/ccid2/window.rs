//! The congestion window: a law in packets, and its decay while the application is the limit.

use whimbrel_control::window::{
    Acknowledgement, CongestionCause, CongestionSignal, Delivery, InitialWindow, LawPrototype, Window,
    WindowLaw,
};
use whimbrel_units::{Duration, Instant};

/// `cwnd` and `ssthresh`, and the law that changes them.
#[derive(Debug)]
pub(super) struct CongestionWindow {
    window: Window,
    law: Box<dyn WindowLaw>,
    initial: f64,
    /// Time at which the last datagram was sent.
    last_sent: Instant,
    /// Time since which the window has not been full, and the most of it that was used.
    unfilled_since: Instant,
    used: u32,
}

impl CongestionWindow {
    pub(super) fn new(now: Instant, packet_size: usize, law: &LawPrototype) -> Self {
        let packet_size = u32::try_from(packet_size).unwrap_or(u32::MAX / 4).max(1);
        // RFC 4341, Section 5: by the rules of RFC 3390.
        let initial = InitialWindow::Rfc3390.segments(packet_size);
        Self {
            window: Window::new(initial),
            law: law.build(),
            initial,
            last_sent: now,
            unfilled_since: now,
            used: 0,
        }
    }

    /// `cwnd` in whole packets, at least one.
    pub(super) fn packets(&self) -> u32 {
        self.window.cwnd as u32
    }

    /// `ssthresh` in whole packets, if there was congestion before.
    pub(super) fn threshold(&self) -> Option<u32> {
        self.window.ssthresh.is_finite().then_some(self.window.ssthresh as u32)
    }

    pub(super) fn set_ack_ratio(&mut self, ack_ratio: u64) {
        self.law.on_ack_ratio(ack_ratio as f64);
    }

    /// Reports the packets that an acknowledgement showed to have left the network, the marked ones among
    /// them, and the round-trip time sample that it gave, for laws that estimate the path.
    pub(super) fn on_delivery(&mut self, now: Instant, delivered: u32, marked: u32, rtt: Option<Duration>) {
        self.law.on_delivery(&Delivery { now, delivered: delivered.into(), marked: marked.into(), rtt });
    }

    /// `true` if the law responds to the number of marks.
    pub(super) fn is_scalable(&self) -> bool {
        self.law.is_scalable()
    }

    /// Grows the window: `acked` data packets were newly acknowledged without a mark, from a full window.
    pub(super) fn grow(&mut self, now: Instant, acked: u32, pipe: u32, smoothed_rtt: Option<Duration>) {
        let ack = Acknowledgement { now, acked: acked.into(), in_flight: pipe.into(), smoothed_rtt };
        self.law.on_ack(&mut self.window, &ack);
    }

    /// The window, to be [restored](Self::restore) if its reduction was needless.
    pub(super) fn saved(&self) -> Window {
        self.window
    }

    /// Returns to the window before a reduction, if it is larger (RFC 4015, Section 3.2).
    pub(super) fn restore(&mut self, before: Window) {
        self.window.cwnd = self.window.cwnd.max(before.cwnd);
        self.window.ssthresh = self.window.ssthresh.max(before.ssthresh);
    }

    /// Processes a congestion event.
    pub(super) fn halve(&mut self, now: Instant, cause: CongestionCause) {
        let signal = self.signal(now, cause);
        self.law.on_congestion(&mut self.window, &signal);
    }

    /// Processes the expiration of the transmit timer.
    pub(super) fn collapse(&mut self, now: Instant) {
        let signal = self.signal(now, CongestionCause::Loss);
        // Every timeout concerns a new packet, as there are no retransmissions.
        self.law.on_timeout(&mut self.window, &signal, false);
    }

    fn signal(&self, now: Instant, cause: CongestionCause) -> CongestionSignal {
        CongestionSignal { now, in_flight: self.packets().into(), cause }
    }

    /// Resumes on a path that carried `packets` per round-trip time before: half of that may be tried at
    /// once, and the whole ends slow start.
    pub(super) fn resume(&mut self, packets: u32) {
        self.window.cwnd = self.window.cwnd.max(f64::from(packets) / 2.0);
        self.window.ssthresh = f64::from(packets.max(2));
    }

    /// Decrements the window: a packet was dropped in the receive buffer (RFC 4341, Section 5.2).
    pub(super) fn shrink_by_one(&mut self) {
        self.window.cwnd = (self.window.cwnd - 1.0).max(1.0);
    }

    /// Ends slow start: the receiver is slow (RFC 4341, Section 5.2).
    pub(super) fn leave_slow_start(&mut self) {
        self.window.ssthresh = self.window.ssthresh.min(self.window.cwnd.max(2.0));
    }

    /// Accounts for a datagram sent when `pipe` of them were in the network; `more` if others wait. A window
    /// that was not used is no longer validated for the path, so it decays (RFC 4341, Section 5.1; RFC 2861,
    /// Section 3.1).
    pub(super) fn on_sent(&mut self, now: Instant, pipe: u32, more: bool, timeout: Duration) {
        let idle = now - self.last_sent;
        self.last_sent = now;
        if idle >= timeout {
            self.decay_idle(idle, timeout);
            self.restart_validation(now);
        }
        if pipe + 1 >= self.packets() {
            self.restart_validation(now);
        } else if !more {
            self.used = self.used.max(pipe + 1);
            if now - self.unfilled_since >= timeout {
                self.decay_unfilled();
                self.restart_validation(now);
            }
        }
    }

    fn restart_validation(&mut self, now: Instant) {
        self.unfilled_since = now;
        self.used = 0;
    }

    /// Halves the window for each timeout that passed, but not below the initial one.
    fn decay_idle(&mut self, idle: Duration, timeout: Duration) {
        self.keep_threshold();
        let halvings = (idle.as_nanos() / timeout.as_nanos().max(1)).min(63);
        let floor = self.window.cwnd.min(self.initial);
        self.window.cwnd = (self.window.cwnd / (1u64 << halvings) as f64).max(floor);
    }

    /// Reduces the window halfway to the part that was used.
    fn decay_unfilled(&mut self) {
        let used = f64::from(self.used).max(self.initial);
        if used < self.window.cwnd {
            self.keep_threshold();
            self.window.cwnd = (self.window.cwnd + used) / 2.0;
        }
    }

    /// Raises the threshold: most of the window was in use before, so it may be regained quickly (RFC 2861,
    /// Section 3.1).
    fn keep_threshold(&mut self) {
        self.window.ssthresh = self.window.ssthresh.max(self.window.cwnd * 0.75);
    }
}
