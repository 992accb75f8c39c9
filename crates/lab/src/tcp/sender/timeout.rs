//! The timers of a sender.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use whimbrel_control::window::CongestionCause;
use whimbrel_units::{Duration, Instant};

use super::rack::LossProbe;
use super::{Method, SenderPhase, TcpSender};
use crate::tcp::config::{SendingConfig, Variant};
use crate::tcp::ranges::ByteRange;

/// Deadlines, and the times from which others are counted.
#[derive(Clone, Debug)]
pub(super) struct Timers {
    /// The retransmission timer (RFC 6298, Section 5).
    pub(super) retransmission: Option<Instant>,
    /// No new data before this (ECN with a window of one segment).
    pub(super) hold_until: Option<Instant>,
    /// Time at which more segments may count as lost (RACK).
    pub(super) reordering: Option<Instant>,
    /// The segment whose round trip is timed: its end, and the time at which it was sent.
    timed: Option<(u64, Instant)>,
    /// SND.UNA at the last expiry of the retransmission timer.
    expired_for: Option<u64>,
    pub(super) last_sent: Instant,
    pub(super) last_acknowledged: Instant,
    jitter: Option<Jitter>,
}

/// A random delay before sending (ns-2's `overhead_`).
#[derive(Clone, Debug)]
struct Jitter {
    most: Duration,
    random: Pcg64Mcg,
    release_at: Option<Instant>,
    released: bool,
}

impl Timers {
    pub(super) fn new(sending: &SendingConfig) -> Self {
        let jitter = (sending.jitter > Duration::ZERO).then(|| Jitter {
            most: sending.jitter,
            random: Pcg64Mcg::seed_from_u64(sending.jitter_seed),
            release_at: None,
            released: false,
        });
        Self {
            retransmission: None,
            hold_until: None,
            reordering: None,
            timed: None,
            expired_for: None,
            last_sent: Instant::ZERO,
            last_acknowledged: Instant::ZERO,
            jitter,
        }
    }

    pub(super) fn next(&self) -> Option<Instant> {
        let release = self.jitter.as_ref().and_then(|jitter| jitter.release_at);
        [self.retransmission, self.hold_until, release].into_iter().flatten().min()
    }

    /// Starts timing a segment that is sent for the first time, unless one is being timed.
    pub(super) fn time(&mut self, end: u64, now: Instant) {
        self.timed.get_or_insert((end, now));
    }

    /// Karn's algorithm: a retransmitted segment gives no measurement.
    pub(super) fn stop_timing(&mut self) {
        self.timed = None;
    }

    /// A segment is sent again: stops timing if it is the one.
    pub(super) fn on_retransmission(&mut self, range: ByteRange) {
        if self.timed.is_some_and(|(end, _)| range.start < end && end <= range.end) {
            self.timed = None;
        }
    }

    /// Time at which the timed segment was sent, if `ack` covers it.
    pub(super) fn take_timed(&mut self, ack: u64) -> Option<Instant> {
        let (_, sent) = self.timed.filter(|(end, _)| ack >= *end)?;
        self.timed = None;
        Some(sent)
    }

    /// Returns `true` if a random delay forbids sending now; starts one if none is running.
    pub(super) fn delays_sending(&mut self, now: Instant) -> bool {
        let Some(jitter) = &mut self.jitter else {
            return false;
        };
        if !jitter.released && jitter.release_at.is_none() {
            let delay = jitter.most.mul_f64(jitter.random.random::<f64>());
            jitter.release_at = Some(now + delay.max(Duration::from_nanos(1)));
        }
        !jitter.released
    }

    /// Segments allowed from now on are delayed again.
    pub(super) fn hold_jitter(&mut self) {
        if let Some(jitter) = &mut self.jitter {
            jitter.released = false;
        }
    }

    fn release_jitter(&mut self, now: Instant) {
        if let Some(jitter) = &mut self.jitter
            && jitter.release_at.is_some_and(|at| at <= now)
        {
            jitter.release_at = None;
            jitter.released = true;
        }
    }
}

impl TcpSender {
    /// The deadline of [`poll_timeout`](Self::poll_timeout) was reached. Coming early does nothing.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.timers.release_jitter(now);
        self.paced.handle_timeout(now);
        if self.timers.hold_until.is_some_and(|deadline| deadline <= now) {
            self.timers.hold_until = None;
        }
        if self.timers.reordering.is_some_and(|deadline| deadline <= now) {
            self.timers.reordering = None;
            self.detect_losses(now, self.transmissions.sacked());
            self.paced.on_losses(now, &mut self.transmissions);
            self.allow_first_retransmission();
        }
        // Before the retransmission timer, which the probe restarts.
        if self.probe.deadline.is_some_and(|deadline| deadline <= now) {
            self.on_probe_timeout(now);
        }
        if self.timers.retransmission.is_some_and(|deadline| deadline <= now) {
            self.recovery.burst_left = self.config.sending.max_burst;
            if self.opening.is_done() {
                self.on_retransmission_timeout(now);
            } else {
                self.rtt.back_off();
                self.timers.retransmission = None;
            }
        }
    }

    /// RFC 5681, Section 3.1 and RFC 6298, Sections 5.4 to 5.6.
    fn on_retransmission_timeout(&mut self, now: Instant) {
        if self.recovery.method == Method::AtTheEnd {
            self.counts.timeouts += 1;
            self.timers.retransmission = None;
            let end = self.stream.end_with_fin();
            return self.at_the_end.on_silence(self.stream.is_closed() && self.high == end);
        }
        self.counts.timeouts += 1;
        let repeated =
            self.config.window.hold_threshold && self.timers.expired_for == Some(self.unacknowledged);
        self.timers.expired_for = Some(self.unacknowledged);
        let in_network = self.in_network();
        self.recovery.inflation = 0.0;
        if self.recovery.method == Method::Rack {
            self.prepare_undo_of_timeout(repeated);
        }
        let signal = self.signal(now, in_network, CongestionCause::Loss);
        self.reduce_after_timeout(&signal, repeated);
        self.announce_reduction();
        self.timers.hold_until = None;
        self.recovery.phase = SenderPhase::Timeout;
        let counted = self.recovery.duplicates;
        self.forget_duplicates();
        if self.config.variant == Variant::Tahoe {
            // Tahoe has no recovery that could end, and continues counting up to the next new
            // acknowledgement, as ns-2 does.
            self.recovery.duplicates = counted;
        }
        self.recovery.resend = false;
        self.recovery.point = self.high;
        self.recovery.not_before = Some(self.high);
        match self.recovery.method {
            Method::Duplicates => self.next = self.unacknowledged,
            Method::Selective => {
                self.scoreboard.on_timeout(self.high, self.config.recovery.keep_sack_on_timeout)
            }
            Method::Rack => {
                self.transmissions.on_timeout(now);
                self.paced.on_timeout(now, &mut self.transmissions, &mut self.window);
                self.probe = LossProbe { is_measured: true, ..LossProbe::default() };
                self.timers.reordering = None;
                self.rate_reduction = None;
            }
            // Has returned.
            Method::AtTheEnd => {}
            Method::Counter => {
                self.next = self.unacknowledged;
                self.scoreboard.clear();
            }
        }
        self.timers.stop_timing();
        self.rtt.back_off();
        self.timers.retransmission = Some(now + self.rtt.rto());
    }

    /// The data that a timeout counts as lost, in bytes. FlightSize would be wrong in a recovery that failed:
    /// a retransmission that is lost leaves SND.UNA where it is while new data goes out and arrives, for as
    /// long as the timer runs.
    fn in_network(&self) -> u64 {
        match (self.recovery.phase, self.recovery.method) {
            (SenderPhase::Open, _) => self.flight(),
            (_, Method::Selective) => self.scoreboard.pipe(self.high),
            (_, Method::Rack) => self.transmissions.pipe(),
            (_, Method::AtTheEnd) => self.at_the_end.in_network(),
            (_, Method::Duplicates | Method::Counter) => {
                let arrived = self.recovery.inflation * f64::from(self.config.segment_size);
                self.flight().saturating_sub(arrived as u64)
            }
        }
    }
}
