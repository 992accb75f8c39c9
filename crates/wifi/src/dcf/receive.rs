//! Receptions: responses to own frames, frames to be answered, reservations.

use whimbrel_units::{Duration, Instant};

use super::event::{Event, ReceptionError, Step};
use super::{Dcf, Exchange};
use crate::frame::{Frame, FrameKind};
use crate::phy::{ACK_BYTES, CTS_BYTES};
use crate::random::Random;

impl<R: Random> Dcf<R> {
    /// A frame, for any station, was received without errors.
    pub fn handle_frame(&mut self, now: Instant, frame: &Frame) {
        if self.on_air.is_some() {
            // The receiver is off while the station transmits.
            return;
        }
        if frame.mode.is_some() {
            // The legacy header says how long the transmission lasts, and its content looks damaged.
            self.handle_error(now, ReceptionError::Corrupted);
            return;
        }
        if !self.config.is_ns2() && !self.config.phy.supported.contains(frame.rate) {
            // An 802.11b station notices the energy of an OFDM frame, but neither its header nor its end as a
            // frame.
            self.handle_error(now, ReceptionError::Undecodable);
            return;
        }
        self.access.handle_frame(now);
        self.note_traffic(now, frame.kind);
        self.trace(now, Step::Received { frame: *frame });
        let is_for_me = frame.receiver == self.address;
        if self.is_awaiting() && self.handle_awaited(now, frame, is_for_me) {
            self.refresh_timer();
            return;
        }
        if is_for_me {
            match frame.kind {
                FrameKind::Rts => self.answer_rts(now, frame),
                FrameKind::Data | FrameKind::Management | FrameKind::Probe => {
                    self.receive_payload(now, frame);
                }
                // A response that is not awaited, and frames that ask for block acknowledgements.
                FrameKind::Cts
                | FrameKind::Ack
                | FrameKind::Aggregate
                | FrameKind::BlockAckRequest
                | FrameKind::BlockAck
                | FrameKind::CfEnd => {}
            }
            self.refresh_timer();
            return;
        }
        self.reserve(now, frame);
        if frame.receiver.is_group() && frame.kind.has_payload() {
            self.deliver(now, frame);
        }
    }

    /// A frame was received with errors.
    pub fn handle_error(&mut self, now: Instant, error: ReceptionError) {
        if self.on_air.is_some() {
            return;
        }
        self.trace(now, Step::ReceivedInError(error));
        if self.config.is_ns2() {
            let until = now + self.access.eifs();
            if self.access.set_nav(now, until) {
                self.trace(now, Step::NavSet { until });
            }
            return;
        }
        if error == ReceptionError::Corrupted {
            self.access.handle_error(now);
            if self.is_awaiting() {
                // PHY-RXEND without a valid response (9.3.2.8).
                self.response_missing(now);
                self.refresh_timer();
            }
        }
    }

    /// ns-2: a frame on the air for `air_time` began during the reception of a much stronger one, which
    /// continues. No effect under the standard's rules.
    pub fn handle_captured(&mut self, now: Instant, air_time: Duration) {
        if self.config.is_ns2() && self.on_air.is_none() {
            let until = now + self.access.eifs() + air_time;
            if self.access.set_nav(now, until) {
                self.trace(now, Step::NavSet { until });
            }
        }
    }

    const fn is_awaiting(&self) -> bool {
        self.timeout_at.is_some() || self.awaits_reception
    }

    /// Processes a frame that arrives while a response is awaited. Returns `true` if it is the response.
    fn handle_awaited(&mut self, now: Instant, frame: &Frame, is_for_me: bool) -> bool {
        match (self.exchange, frame.kind) {
            (Exchange::AwaitingCts, FrameKind::Cts) if is_for_me => self.handle_cts(now),
            (Exchange::AwaitingAck, FrameKind::Ack) if is_for_me => self.complete(now),
            _ => {
                if !self.config.is_ns2() {
                    // Any other valid frame means that the attempt failed (9.3.2.8).
                    self.response_missing(now);
                    self.refresh_timer();
                }
                return false;
            }
        }
        true
    }

    fn answer_rts(&mut self, now: Instant, rts: &Frame) {
        let nav = self.access.nav_end() - now;
        let is_engaged = self.response.is_some()
            || matches!(self.exchange, Exchange::DataDue(_))
            || (self.config.is_ns2() && (self.is_awaiting() || self.data_until.is_some()));
        if is_engaged || (!self.config.is_ns2() && !nav.is_zero()) {
            self.trace(now, Step::CtsWithheld { nav });
            return;
        }
        let rate = self.config.response_rate(rts.rate);
        let air_time = self.config.phy.duration(rate, CTS_BYTES);
        let sifs = self.config.phy.sifs;
        let nav = rts.nav.saturating_sub(sifs + air_time);
        let to = (rts.transmitter, FrameKind::Cts);
        let cts = self.control_frame(to, rate, (CTS_BYTES, air_time), nav);
        self.response = Some((now + sifs, cts));
    }

    fn receive_payload(&mut self, now: Instant, frame: &Frame) {
        let mut due = now + self.config.phy.sifs;
        if self.config.is_ns2() {
            if self.config.uses_rts(frame.size) && self.data_until.is_none() {
                // ns-2 discards data that its own CTS did not invite.
                return;
            }
            if self.response.is_some() {
                return;
            }
            if self.data_until.take().is_some() {
                self.access.reserve(now, now);
            }
            // ns-2 keeps the acknowledgement until its own wait for a response has ended.
            if let Some(timeout) = self.timeout_at {
                due = timeout + self.config.phy.sifs;
            }
        }
        if self.response.is_none() && !matches!(self.exchange, Exchange::DataDue(_)) {
            let rate = self.config.response_rate(frame.rate);
            let air_time = self.config.phy.duration(rate, ACK_BYTES);
            let to = (frame.transmitter, FrameKind::Ack);
            let ack = self.control_frame(to, rate, (ACK_BYTES, air_time), Duration::ZERO);
            self.response = Some((due, ack));
        }
        // The standard compares only frames with the retry bit, ns-2 all.
        let is_repeated = self.duplicates.record(frame);
        if is_repeated && (frame.is_retry || self.config.is_ns2()) {
            self.counters.duplicates += 1;
            self.trace(now, Step::Duplicate { frame: *frame });
            return;
        }
        if frame.kind != FrameKind::Probe {
            self.deliver(now, frame);
        }
    }

    pub(super) fn send_response(&mut self, now: Instant, frame: Frame) {
        if self.on_air.is_some() {
            return;
        }
        if frame.kind == FrameKind::Cts && self.config.is_ns2() && !self.access.is_idle(now) {
            self.trace(now, Step::CtsWithheld { nav: self.access.nav_end() - now });
            return;
        }
        self.transmit(now, frame);
    }

    fn reserve(&mut self, now: Instant, frame: &Frame) {
        if frame.nav.is_zero() || !self.access.set_nav(now, now + frame.nav) {
            return;
        }
        self.trace(now, Step::NavSet { until: now + frame.nav });
        if frame.kind == FrameKind::Rts && !self.config.is_ns2() {
            self.nav_reset_at = Some(now + self.config.nav_timeout(frame.rate));
            self.refresh_timer();
        }
    }

    fn deliver(&mut self, now: Instant, frame: &Frame) {
        self.counters.delivered += 1;
        self.report(now, Event::Delivered { frame: *frame });
    }
}
