//! Processing of acknowledgements that all recovery methods share.

use whimbrel_control::window::{Acknowledgement, CongestionCause, Delivery};
use whimbrel_units::{Duration, Instant};

use super::{SenderPhase, TcpSender};
use crate::tcp::clock;
use crate::tcp::config::EcnMode;
use crate::tcp::segment::{EcnCounters, Flags, Segment};

/// The response to ECN feedback (RFC 3168, Section 6.1.2; RFC 9768).
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct CongestionEcho {
    /// The last reaction covers all data sent up to here.
    reacted_to: Option<u64>,
    /// The next new data carries CWR.
    pub(super) announce: bool,
    /// The acknowledgement at hand carries ECN-Echo: it does not open the window.
    present: bool,
    /// Data that it newly reports as marked, in segments (AccECN).
    marked: f64,
    counted: CountedMarks,
}

/// The sender's side of AccECN (RFC 9768).
#[derive(Clone, Copy, Debug)]
struct CountedMarks {
    /// The last ACE counter.
    ace: u8,
    /// The last ECEB.
    bytes: u32,
    /// Marked data, in segments, that acknowledgements have newly reported and that are not passed to the
    /// window law yet.
    fresh: f64,
}

impl Default for CountedMarks {
    fn default() -> Self {
        // RFC 9768, Section 3.2.1.
        Self { ace: 5, bytes: 0, fresh: 0.0 }
    }
}

impl CountedMarks {
    /// Reads the counters of an acknowledgement, and returns the data newly reported as marked, in segments
    /// of `segment_size` bytes.
    fn read(&mut self, segment: &Segment, segment_size: u32) -> f64 {
        let step = u32::from(segment.flags.ace().wrapping_sub(self.ace) & 7);
        self.ace = segment.flags.ace();
        // Without the option, as where SACK blocks leave no room, ACE counts packets; the next option
        // corrects their sizes.
        let reported = segment.ecn.map_or(self.bytes + step * segment_size, |counters| counters.ce);
        let bytes = reported.wrapping_sub(self.bytes) % EcnCounters::MODULUS;
        self.bytes = reported % EcnCounters::MODULUS;
        // A correction downwards.
        let bytes = if bytes < EcnCounters::MODULUS / 2 { bytes } else { 0 };
        let marked = f64::from(bytes) / f64::from(segment_size);
        self.fresh += marked;
        marked
    }
}

impl CongestionEcho {
    /// `true` if a loss at `byte` belongs to a window of data for which the window was already cut.
    pub(super) fn covers(&self, byte: u64) -> bool {
        self.reacted_to.is_some_and(|point| byte < point)
    }

    /// `true` if an echo with that acknowledgement number concerns such a window. The acknowledgement of its
    /// last byte still has the echo: CWR is on the segment after it.
    fn is_answered(&self, ack: u64) -> bool {
        self.reacted_to.is_some_and(|point| ack <= point)
    }
}

impl TcpSender {
    pub(super) fn on_congestion_echo(&mut self, now: Instant, segment: &Segment) {
        let echo = match self.config.ecn {
            EcnMode::Off => return,
            EcnMode::Classic => segment.flags.contains(Flags::ECE),
            EcnMode::Accurate => {
                let marked = self.congestion_echo.counted.read(segment, self.config.segment_size);
                self.congestion_echo.marked = marked;
                marked > 0.0
            }
        };
        if self.law.is_scalable() {
            self.counts.congestion_marks += u64::from(echo);
            return;
        }
        self.congestion_echo.present = echo;
        // Once for each window of data, and not for one whose losses are being repaired.
        if !echo
            || self.congestion_echo.is_answered(segment.ack)
            || self.recovery.phase == SenderPhase::FastRecovery
        {
            return;
        }
        self.congestion_echo.reacted_to = Some(self.high);
        self.announce_reduction();
        self.counts.congestion_marks += 1;
        if self.window.cwnd <= 1.0 {
            // No window is smaller: send the next segment only after a timeout (RFC 3168, Section 6.1.2).
            self.timers.hold_until = Some(now + self.rtt.rto());
            return;
        }
        let signal = self.signal(now, self.flight(), CongestionCause::Mark);
        self.reduce(&signal);
    }

    /// The cumulative acknowledgement moves up to `segment.ack`. Returns how much it newly acknowledges, in
    /// bytes, and the round-trip time it measured.
    pub(super) fn advance(&mut self, now: Instant, segment: &Segment) -> (u64, Option<Duration>) {
        let acked = segment.ack - self.unacknowledged;
        self.unacknowledged = segment.ack;
        self.next = self.next.max(segment.ack);
        self.timers.last_acknowledged = now;
        let rtt = self.measure(now, segment);
        // RFC 6298, Sections 5.2 and 5.3, after the measurement so that it counts.
        self.restart_retransmission_timer(now);
        (acked, rtt)
    }

    pub(super) fn note_delivery(&mut self, now: Instant, bytes: u64, rtt: Option<Duration>) {
        let marked = self.congestion_echo.counted.fresh;
        self.law.on_delivery(&Delivery { now, delivered: self.in_segments(bytes), marked, rtt });
        // Losses that are being repaired are the stronger signal.
        if marked == 0.0 {
            return;
        }
        self.congestion_echo.counted.fresh = 0.0;
        if self.law.is_scalable() && self.recovery.phase != SenderPhase::FastRecovery {
            let signal = self.signal(now, self.flight(), CongestionCause::Mark);
            self.reduce(&signal);
        }
    }

    /// Without a scoreboard: a duplicate indicates the arrival of one segment ...
    pub(super) fn note_duplicate_delivery(&mut self, now: Instant) {
        let segment = u64::from(self.config.segment_size);
        self.recovery.counted_before += segment;
        self.note_delivery(now, segment, None);
    }

    /// ... which a later cumulative acknowledgement covers again, together with the one that filled the gap.
    pub(super) fn note_cumulative_delivery(&mut self, now: Instant, acked: u64, rtt: Option<Duration>) {
        let segment = u64::from(self.config.segment_size).min(acked);
        let again = self.recovery.counted_before.min(acked - segment);
        self.recovery.counted_before -= again;
        if self.unacknowledged == self.high {
            self.recovery.counted_before = 0;
        }
        self.note_delivery(now, acked - again, rtt);
    }

    pub(super) fn measure(&mut self, now: Instant, segment: &Segment) -> Option<Duration> {
        if let Some(timestamps) = segment.timestamps {
            let micros = clock(now).wrapping_sub(timestamps.echo);
            self.rtt.on_sample(Duration::from_micros(u64::from(micros)));
            return self.rtt.latest();
        }
        let sent = self.timers.take_timed(segment.ack)?;
        self.rtt.on_round_trip(sent, now);
        self.rtt.latest()
    }

    /// Lets `acked` bytes open the window.
    pub(super) fn open_window(&mut self, now: Instant, acked: u64) {
        if self.congestion_echo.present || !(self.window_used || self.config.window.grow_unused) {
            return;
        }
        // Zero without counted marks; other laws have returned.
        let marked = self.congestion_echo.marked;
        let ack = Acknowledgement {
            now,
            acked: (self.in_segments(acked) - marked).max(0.0),
            in_flight: self.in_segments(self.flight()),
            smoothed_rtt: self.rtt.smoothed(),
        };
        self.law.on_ack(&mut self.window, &ack);
    }

    /// The end of the repair that a timeout began.
    pub(super) fn leave_timeout(&mut self) {
        if self.recovery.phase == SenderPhase::Timeout && self.unacknowledged >= self.recovery.point {
            self.recovery.phase = SenderPhase::Open;
        }
    }
}
