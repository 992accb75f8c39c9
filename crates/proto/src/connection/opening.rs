//! Transitions of the handshake (RFC 4340, Section 8.1).

use whimbrel_units::Instant;
use whimbrel_wire::SeqNo;

use super::handshake::Handshake;
use super::liveness::Liveness;
use super::resequencer::Resequencer;
use super::{Connection, State};
use crate::Event;

impl Connection {
    /// Starts reception at the peer's first valid packet, a Request or a Response, with that number.
    pub(super) fn start_receiving(&mut self, isr: SeqNo) {
        self.cx.sequence.start_receiving(isr);
        self.resequencer = Resequencer::new(&self.cx.config, isr);
    }

    /// Processes a server's first Request: LISTEN ends.
    pub(super) fn enter_respond(&mut self, now: Instant, isr: SeqNo) {
        self.cx.state = State::Respond;
        self.start_receiving(isr);
        Handshake::start_respond(now, &self.cx, &mut self.fx);
    }

    /// Processes the client's first Response, which answers the Request of that number.
    pub(super) fn enter_partopen(&mut self, now: Instant, request: SeqNo) {
        self.cx.state = State::PartOpen;
        self.mobility.agree(&self.cx);
        let has_left = self.handshake.enter_partopen(now, &self.cx, &mut self.fx, request);
        self.announce(now);
        if has_left {
            self.mobility.announce(now, &self.cx, &mut self.fx, true);
        }
    }

    /// The handshake is complete at both ends.
    pub(super) fn enter_open(&mut self, now: Instant, osr: SeqNo) {
        let was_respond = self.cx.state == State::Respond;
        self.cx.state = State::Open;
        self.mobility.agree(&self.cx);
        self.handshake.complete(&mut self.fx, was_respond);
        self.cx.sequence.numbers.set_osr(osr);
        let resized = self.mtu.start(now, &self.cx, &mut self.fx);
        self.resize(now, resized);
        if was_respond {
            self.announce(now);
            if self.subflow.is_enabled() {
                // The fourth packet of the handshake (RFC 9897, Section 3.3).
                self.fx.outbound.request_ack();
            }
        }
    }

    /// Reports the connection to the application.
    fn announce(&mut self, now: Instant) {
        self.fx.events.push_back(Event::Connected {
            sender_ccid: self.congestion.sender_ccid(),
            receiver_ccid: self.congestion.receiver_ccid(),
        });
        if let Some(event) = self.handshake.take_received() {
            self.reception.deliver(&mut self.fx, event);
        }
        Liveness::start(now, &self.cx, &mut self.fx);
    }
}
