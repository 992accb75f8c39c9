//! Selection and transmission of segments.

use whimbrel_units::Instant;

use super::selective::NextSegment;
use super::{Method, SenderPhase, TcpSender, at_the_end};
use crate::tcp::config::{IdleRestart, LimitedTransmit};
use crate::tcp::ranges::ByteRange;
use crate::tcp::segment::{Flags, Segment};

/// A segment that may go out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Choice {
    /// Data that was never sent, from SND.MAX on.
    New(ByteRange),
    /// Data from SND.NXT on that was sent before a timeout.
    Again(ByteRange),
    /// A hole selected by recovery.
    Retransmission(ByteRange),
    /// The end of the window, to provoke an acknowledgement (RFC 6675, NextSeg rule 4).
    Rescue(ByteRange),
}

impl Choice {
    const fn range(self) -> ByteRange {
        let (Self::New(range) | Self::Again(range) | Self::Retransmission(range) | Self::Rescue(range)) =
            self;
        range
    }
}

impl TcpSender {
    /// The next segment to send at `now`.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        if !self.opening.is_done() {
            return self.poll_syn(now);
        }
        if self.recovery.resend && self.recovery.method != Method::Rack {
            self.recovery.resend = false;
            let first = self.first_unacknowledged();
            if first.length() > 0 {
                return Some(self.transmit(now, Choice::Retransmission(first)));
            }
        }
        if self.unacknowledged == self.high {
            self.restart_after_idle(now);
        }
        let choice = self.choose(now)?;
        if self.timers.delays_sending(now) {
            return None;
        }
        self.recovery.burst_left -= 1;
        Some(self.transmit(now, choice))
    }

    fn choose(&mut self, now: Instant) -> Option<Choice> {
        self.window_used = true;
        if self.recovery.burst_left == 0 || self.timers.hold_until.is_some() {
            return None;
        }
        match (self.recovery.method, self.recovery.phase) {
            (Method::Rack, phase) => self.choose_with_rack(now, phase),
            (Method::AtTheEnd, _) => {
                let hole = self.at_the_end.missing(self.high).map(|hole| self.cut(hole.start, hole.end));
                let choice = hole.map(Choice::Retransmission).or_else(|| self.new_data().map(Choice::New));
                self.window_used = choice.is_some();
                // The receive window counts from the newest data: what is missing is not awaited.
                let room = self.congestion_window().min(self.receive_window());
                choice.filter(|it| self.at_the_end.in_network() + self.payload(it.range()) <= room)
            }
            (Method::Selective, SenderPhase::Open) => {
                // Until recovery begins, `pipe` is FlightSize less what has arrived, with limited transmit.
                let early = self.config.recovery.limited_transmit != LimitedTransmit::Off;
                let in_network = if early { self.scoreboard.pipe(self.high) } else { self.flight() };
                self.choose_new(in_network)
            }
            (Method::Selective, SenderPhase::FastRecovery) => self.choose_in_recovery(),
            (Method::Selective, SenderPhase::Timeout) => self.choose_after_timeout(),
            (Method::Counter, SenderPhase::FastRecovery) => self.choose_by_counter(),
            _ if self.next < self.high => self.choose_again(),
            _ => self.choose_new(self.flight()),
        }
    }

    /// New data, if there is some and both windows allow it.
    fn choose_new(&mut self, in_network: u64) -> Option<Choice> {
        let receive_window = self.receive_window();
        let new = self.new_data().filter(|range| self.flight() + self.payload(*range) <= receive_window);
        let Some(range) = new else {
            self.window_used = false;
            return None;
        };
        (in_network + self.payload(range) <= self.congestion_window()).then_some(Choice::New(range))
    }

    /// Go-back-N after a timeout or in Tahoe: everything is sent again from SND.UNA on, as the window grows.
    fn choose_again(&mut self) -> Option<Choice> {
        let range = self.cut(self.next, self.high);
        let room = self.congestion_window().min(self.receive_window());
        (self.flight() + self.payload(range) <= room).then_some(Choice::Again(range))
    }

    /// RFC 6675, Section 5, step (C).
    fn choose_in_recovery(&mut self) -> Option<Choice> {
        let segment = u64::from(self.config.segment_size);
        if self.scoreboard.pipe(self.high) + segment > self.congestion_window() {
            return None;
        }
        let new =
            self.new_data().filter(|range| self.flight() + self.payload(*range) <= self.receive_window());
        Some(match self.next_segment_in_recovery(new.is_some())? {
            NextSegment::Retransmission(hole) => Choice::Retransmission(self.bounded(hole)),
            NextSegment::New => Choice::New(new?),
            NextSegment::Rescue(end) => Choice::Rescue(end),
        })
    }

    /// After a timeout, with SACK: fill the holes from below (RFC 6675, Section 5.1), then continue in a
    /// window that starts at SND.UNA (RFC 5681, Section 2): `pipe` is for recoveries that an acknowledgement
    /// began.
    fn choose_after_timeout(&mut self) -> Option<Choice> {
        // Losses among data sent since then, shown by selective acknowledgements, are left to a recovery of
        // their own.
        let outstanding_then = self.scoreboard.next_lost().filter(|hole| hole.start < self.recovery.point);
        let Some(hole) = outstanding_then.map(|hole| self.bounded(hole)) else {
            return self.choose_new(self.flight());
        };
        let room = self.scoreboard.pipe(self.high) + self.payload(hole) <= self.congestion_window();
        room.then_some(Choice::Retransmission(hole))
    }

    /// RACK: a probe that is due, then lost segments, then new data.
    fn choose_with_rack(&mut self, now: Instant, phase: SenderPhase) -> Option<Choice> {
        if core::mem::take(&mut self.probe.is_due) {
            let receive_window = self.receive_window();
            let new = self.new_data().filter(|range| self.flight() + self.payload(*range) <= receive_window);
            self.probe.is_retransmission = new.is_none();
            let choice =
                new.map(Choice::New).or_else(|| self.transmissions.last().map(Choice::Retransmission));
            if choice.is_some() {
                self.probe.is_measured = false;
                self.probe.end = match choice {
                    Some(Choice::New(range) | Choice::Retransmission(range)) => Some(range.end),
                    _ => None,
                };
                return choice;
            }
        }
        let is_first = core::mem::take(&mut self.recovery.resend);
        let pipe = self.transmissions.pipe();
        let allowed = |payload: u64| match (&self.rate_reduction, phase) {
            (Some(reduction), SenderPhase::FastRecovery) => payload <= reduction.allowance(),
            _ => pipe + payload <= self.congestion_window(),
        };
        if let Some(lost) = self.transmissions.next_lost() {
            if !is_first && !allowed(self.payload(lost)) {
                return None;
            }
            if self.paced.holds_back(now) {
                self.recovery.resend = is_first;
                return None;
            }
            return Some(Choice::Retransmission(lost));
        }
        let receive_window = self.receive_window();
        let new = self.new_data().filter(|range| self.flight() + self.payload(*range) <= receive_window);
        let Some(range) = new else {
            self.window_used = false;
            if self.paced.is_on() && self.new_data().is_none() {
                self.paced.limit(&self.transmissions);
            }
            return None;
        };
        (allowed(self.payload(range)) && !self.paced.holds_back(now)).then_some(Choice::New(range))
    }

    /// ns-2: as long as the counter is below the window, the next hole, else new data.
    fn choose_by_counter(&mut self) -> Option<Choice> {
        if self.recovery.counter >= self.window.cwnd as i64 {
            return None;
        }
        let room = self.receive_window();
        let range = self.scoreboard.next_below_received();
        let choice = match range {
            Some(hole) => Choice::Retransmission(hole),
            None => Choice::New(self.new_data()?),
        };
        let range = choice.range();
        if range.start - self.unacknowledged + self.payload(range) > room {
            return None;
        }
        self.recovery.counter += 1;
        Some(choice)
    }

    fn transmit(&mut self, now: Instant, choice: Choice) -> Segment {
        let mut flags = Flags::ACK;
        let range = match choice {
            Choice::New(range) => {
                self.high = range.end;
                self.next = range.end;
                self.timers.time(range.end, now);
                if self.congestion_echo.announce {
                    self.congestion_echo.announce = false;
                    flags |= Flags::CWR;
                }
                // RFC 3168, Section 6.1.5: never on a retransmission.
                flags |= self.ect;
                range
            }
            Choice::Again(range) => {
                self.next = range.end;
                self.note_retransmission(range);
                range
            }
            Choice::Retransmission(range) => {
                if !matches!(self.recovery.method, Method::Rack | Method::AtTheEnd) {
                    self.scoreboard.on_retransmitted(range);
                }
                if self.recovery.phase == SenderPhase::FastRecovery && self.recovery.rescued_to.is_none() {
                    // RFC 6675, Section 5, step 4.3: no rescue before an acknowledgement passes this.
                    self.recovery.rescued_to = Some(range.end);
                }
                self.note_retransmission(range);
                range
            }
            Choice::Rescue(range) => {
                self.recovery.rescued_to = Some(self.recovery.point);
                self.note_retransmission(range);
                range
            }
        };
        match self.recovery.method {
            Method::Rack => self.record_transmission(now, range, matches!(choice, Choice::New(_))),
            Method::AtTheEnd => {
                self.at_the_end.on_sent(range);
                self.timers.retransmission = Some(now + at_the_end::pause(&self.rtt));
            }
            _ => {}
        }
        self.counts.segments += 1;
        self.timers.last_sent = now;
        if self.timers.retransmission.is_none() {
            self.timers.retransmission = Some(now + self.rtt.rto());
        }
        let length = self.payload(range);
        if range.length() > length {
            flags |= Flags::FIN;
        }
        Segment {
            seq: range.start,
            length: length as u32,
            window: self.config.receiver.window,
            flags,
            timestamps: self.timestamps(now),
            ..Segment::default()
        }
    }

    fn record_transmission(&mut self, now: Instant, range: ByteRange, is_new: bool) {
        self.paced.on_sent(now, range.length(), &self.transmissions, self.rtt.smoothed());
        if is_new {
            self.transmissions.push(range, now);
        } else {
            self.transmissions.on_retransmitted(range.start, now);
            self.spurious.on_retransmission(now);
        }
        if let Some(reduction) = &mut self.rate_reduction {
            reduction.on_sent(range.length());
        }
        if self.timers.retransmission.is_none() {
            self.timers.retransmission = Some(now + self.rtt.rto());
        }
        if is_new && self.probe.end.is_none() {
            self.schedule_probe(now);
        }
    }

    fn note_retransmission(&mut self, range: ByteRange) {
        self.counts.retransmits += 1;
        self.timers.on_retransmission(range);
    }

    /// A segment of data that was never sent, or a FIN.
    fn new_data(&self) -> Option<ByteRange> {
        let range = self.cut(self.high, self.stream.end_with_fin());
        if range.length() == 0 {
            return None;
        }
        let partial = range.length() < u64::from(self.config.segment_size);
        let outstanding = self.high > self.unacknowledged;
        if self.config.sending.nagle && partial && outstanding && !self.stream.is_closed() {
            return None;
        }
        Some(range)
    }

    fn first_unacknowledged(&self) -> ByteRange {
        match self.recovery.method {
            Method::Duplicates => self.cut(self.unacknowledged, self.high),
            Method::Rack => self.transmissions.next_lost().unwrap_or_default(),
            // Has no use for it.
            Method::AtTheEnd => ByteRange::default(),
            Method::Selective | Method::Counter => self.bounded(self.scoreboard.first_missing(self.high)),
        }
    }

    /// A segment from `start`, not beyond `end`. A FIN goes with the last byte.
    fn cut(&self, start: u64, end: u64) -> ByteRange {
        let segment_end = start + u64::from(self.config.segment_size);
        let end = if segment_end >= self.stream.end() { end } else { segment_end.min(end) };
        ByteRange::new(start, end.max(start))
    }

    /// A hole, which may reach beyond the data sent.
    fn bounded(&self, hole: ByteRange) -> ByteRange {
        ByteRange::new(hole.start, hole.end.min(self.high))
    }

    /// Bytes of data in a range that may include a FIN.
    fn payload(&self, range: ByteRange) -> u64 {
        range.below(self.stream.end())
    }

    /// `cwnd`, inflated, and with what limited transmit adds, in bytes.
    fn congestion_window(&self) -> u64 {
        let mut segments = self.window.cwnd + self.recovery.inflation;
        if self.recovery.early_duplicates > 0 {
            segments += f64::from(self.limited_transmit());
        }
        (segments * f64::from(self.config.segment_size)) as u64
    }

    /// The window that the receiver accepts and the configuration allows, in bytes.
    fn receive_window(&self) -> u64 {
        match self.config.window.limit {
            Some(segments) => self.offered.min((segments * f64::from(self.config.segment_size)) as u64),
            None => self.offered,
        }
    }

    fn restart_after_idle(&mut self, now: Instant) {
        let (since, most) = match self.config.window.idle {
            IdleRestart::Keep => return,
            IdleRestart::InitialWindow => {
                (self.timers.last_sent, self.config.window.initial.segments(self.config.segment_size))
            }
            IdleRestart::OneSegment => (self.timers.last_acknowledged, 1.0),
        };
        if self.high > 0 && now - since > self.rtt.rto() {
            self.window.cwnd = self.window.cwnd.min(most);
        }
    }
}
