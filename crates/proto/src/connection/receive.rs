//! Reception of a packet: the steps of RFC 4340, Section 8.5, one function each.
//!
//! A step either passes the packet on or ends its processing. A packet that ends before Step 8 is ignored:
//! its options are not read, and it is never acknowledged.

use core::ops::ControlFlow::{self, Break, Continue};

use whimbrel_units::Instant;
use whimbrel_wire::{Kind, Packet, PacketType, Reset, ResetCode};

use super::close::Ending;
use super::invitation::Invitation;
use super::options::Findings;
use super::{Connection, ReceiveMeta, Role, State};
use crate::ConnectionError;

/// Result of a step: continue, or stop processing the packet.
type Step = ControlFlow<()>;

/// RFC 4340, Section 8.5, Step 1: only Data, Ack and DataAck may have short sequence numbers.
pub(crate) fn has_valid_numbers(packet: &Packet) -> bool {
    packet.extended
        || matches!(packet.packet_type(), PacketType::Data | PacketType::Ack | PacketType::DataAck)
}

impl Connection {
    /// Processes a packet in all steps.
    pub(super) fn receive(&mut self, now: Instant, meta: ReceiveMeta, packet: &mut Packet) {
        if self.handshake.validation.is_pending() {
            self.handshake.validation.on_received(packet.encoded_len());
        }
        if self.check(now, packet).is_break() {
            self.fx.statistics.packets_ignored += 1;
            return;
        }
        // From Step 8 on the packet counts as received, no matter which step ends its processing.
        let _ = self.process(now, meta, packet);
    }

    /// Steps 1 to 7: validates the packet.
    fn check(&mut self, now: Instant, packet: &mut Packet) -> Step {
        self.step1_check_header(packet)?;
        self.step2_check_ports_and_timewait(now, packet)?;
        self.step3_process_listen(now, packet)?;
        self.step4_prepare_request(now, packet)?;
        self.step5_prepare_sync(now, packet)?;
        self.step6_check_sequence(now, packet)?;
        self.step7_check_type(now, packet)
    }

    /// Steps 8 to 16: processes a valid packet.
    fn process(&mut self, now: Instant, meta: ReceiveMeta, packet: &mut Packet) -> Step {
        let findings = self.step8_process_options(now, meta, packet)?;
        self.step9_process_reset(now, packet)?;
        self.step10_process_request(now, packet)?;
        self.step11_process_respond(now, packet);
        self.step12_process_partopen(now, packet)?;
        self.step13_process_close_request(now, packet, findings);
        self.step14_process_close(packet, findings)?;
        self.step15_process_sync(now, packet);
        self.step16_process_data(now, meta, packet, findings);
        Continue(())
    }

    /// Step 1: checks that the codec cannot make. It has already dropped malformed packets.
    fn step1_check_header(&self, packet: &Packet) -> Step {
        // RFC 5596, Section 2.2.3: only a client in REQUEST processes Listen.
        let is_listen = packet.packet_type() == PacketType::Listen;
        let listen_ignored = is_listen && self.cx.state != State::Request;
        if !has_valid_numbers(packet) || listen_ignored { Break(()) } else { Continue(()) }
    }

    /// Step 2: a connection that has ended answers as if it did not exist.
    fn step2_check_ports_and_timewait(&mut self, now: Instant, packet: &Packet) -> Step {
        if packet.destination_port != self.cx.ports.source || packet.source_port != self.cx.ports.destination
        {
            return Break(());
        }
        if matches!(self.cx.state, State::TimeWait | State::Closed) {
            // The Reset that ended the connection may still be pending, and is more specific.
            if !self.fx.outbound.owes_reset() {
                self.fx.outbound.refuse(now, packet, Reset::new(ResetCode::NoConnection));
            }
            return Break(());
        }
        Continue(())
    }

    /// Step 3: a server's first packet must be a Request, which the endpoint ensures.
    fn step3_process_listen(&mut self, now: Instant, packet: &Packet) -> Step {
        match self.cx.state {
            State::Listen => {}
            State::Invited | State::Listen1 => {
                if !Invitation::is_accepted(now, &self.cx, &mut self.fx, packet) {
                    return Break(());
                }
            }
            _ => return Continue(()),
        }
        let Kind::Request { service_code } = packet.kind else {
            return Break(());
        };
        if service_code != self.cx.config.service_code {
            let reset = Reset::new(ResetCode::BadServiceCode);
            self.fx.outbound.refuse_finally(packet, reset);
            self.finish(Ending::Silent(ConnectionError::ResetLocally(reset)));
            return Break(());
        }
        self.enter_respond(now, packet.sequence);
        Continue(())
    }

    /// Step 4: a client in REQUEST learns the server's sequence numbers from its Response or Reset.
    fn step4_prepare_request(&mut self, now: Instant, packet: &Packet) -> Step {
        if self.cx.state != State::Request {
            return Continue(());
        }
        let packet_type = packet.packet_type();
        if packet_type == PacketType::Listen {
            self.invitation.on_listen(&self.cx, &mut self.fx, packet);
            return Break(());
        }
        let answers = packet.ack().is_some_and(|ack| self.cx.sequence.numbers.is_ack_in_window(ack));
        match packet_type {
            PacketType::Response if answers => {
                self.start_receiving(packet.sequence);
                Continue(())
            }
            // Step 6 requires Resets to be later than GSR.
            PacketType::Reset if answers => {
                self.cx.sequence.start_receiving(packet.sequence.previous());
                Continue(())
            }
            // RFC 4340, Section 8.3.1. The Reset takes its numbers from the packet: if that belongs to an old
            // connection, the Reset ends the connection at the peer (Section 7.5.6).
            _ => {
                self.fx.outbound.refuse(now, packet, Reset::packet_error(packet_type));
                Break(())
            }
        }
    }

    /// Step 5: a valid Sync or SyncAck updates the sequence window.
    fn step5_prepare_sync(&mut self, now: Instant, packet: &Packet) -> Step {
        let (Kind::Sync { ack } | Kind::SyncAck { ack }) = packet.kind else {
            return Continue(());
        };
        let strict = self.cx.sequence.is_active(now, self.cx.rtt.or_default());
        if !self.cx.sequence.numbers.is_valid_sync(packet.sequence, ack, strict) {
            return Break(());
        }
        self.cx.sequence.numbers.on_valid(packet.packet_type(), packet.sequence, None);
        self.fx.outbound.syncs().on_valid();
        if let Some(wanted) = self.cx.sequence.numbers.window_for_overtaken(ack) {
            self.cx.features.request_window(wanted);
        }
        Continue(())
    }

    /// Step 6: the sequence and acknowledgement numbers must lie in their windows.
    fn step6_check_sequence(&mut self, now: Instant, packet: &mut Packet) -> Step {
        if !packet.extended {
            if !self.cx.features.in_force.short_received {
                return Break(());
            }
            self.cx.sequence.numbers.extend(packet);
        }
        if self.handshake.is_other_offer(&self.cx, packet) {
            self.fx.outbound.request_ack();
            return Break(());
        }
        let (packet_type, sequence, ack) = (packet.packet_type(), packet.sequence, packet.ack());
        if !self.cx.sequence.numbers.is_valid(packet_type, sequence, ack) {
            let named =
                if packet_type == PacketType::Reset { self.cx.sequence.numbers.gsr() } else { sequence };
            self.fx.outbound.syncs().request_sync(now, named);
            if let Kind::Reset { reset, ack } = packet.kind {
                self.closing.suspect(now, reset);
                if self.fx.outbound.syncs().is_pending() {
                    self.mobility.is_unverified(now, &self.cx, &mut self.fx, reset, ack);
                }
            }
            return Break(());
        }
        self.cx.sequence.numbers.on_valid(packet_type, sequence, ack);
        self.fx.outbound.syncs().on_valid();
        // Section 7: sequence numbers detect duplicates. A second copy of a packet with data or an
        // acknowledgement would be counted and delivered twice.
        let is_first = self.cx.sequence.duplicates.is_first(sequence);
        let counts_once = matches!(packet_type, PacketType::Data | PacketType::Ack | PacketType::DataAck);
        if counts_once && !is_first { Break(()) } else { Continue(()) }
    }

    /// Step 7: some types are not allowed at this end or in this state.
    fn step7_check_type(&mut self, now: Instant, packet: &Packet) -> Step {
        let is_late =
            self.cx.state.is_at_least_open() && !packet.sequence.is_before(self.cx.sequence.numbers.osr());
        let unexpected = match (self.cx.ports.role, packet.packet_type()) {
            (Role::Server, PacketType::CloseReq | PacketType::Response)
            | (Role::Client, PacketType::Request) => true,
            (Role::Server, PacketType::Request) | (Role::Client, PacketType::Response) => is_late,
            (Role::Server, PacketType::Data) => self.cx.state == State::Respond,
            _ => false,
        };
        if unexpected {
            self.fx.outbound.syncs().request_sync(now, packet.sequence);
            return Break(());
        }
        Continue(())
    }

    /// Step 9: a Reset ends the connection; its receiver enters TIMEWAIT.
    fn step9_process_reset(&mut self, now: Instant, packet: &Packet) -> Step {
        let Kind::Reset { reset, ack } = packet.kind else {
            return Continue(());
        };
        if self.mobility.is_unverified(now, &self.cx, &mut self.fx, reset, ack) {
            return Break(());
        }
        let ending = self.closing.on_reset(now, &self.cx, &mut self.fx, reset, &packet.payload);
        self.finish(ending);
        Break(())
    }

    /// Step 10: a packet that reaches this step in REQUEST is the server's Response.
    fn step10_process_request(&mut self, now: Instant, packet: &Packet) -> Step {
        if self.cx.state == State::Request {
            let refused = self.handshake.keep_cookies(packet).err();
            self.reset_for(refused)?;
            self.enter_partopen(now, packet.ack().unwrap_or(self.cx.sequence.numbers.gss()));
        }
        Continue(())
    }

    /// Step 11: every Request in RESPOND elicits a Response; anything else completes the handshake.
    fn step11_process_respond(&mut self, now: Instant, packet: &Packet) {
        if self.cx.state == State::Respond {
            match packet.packet_type() {
                PacketType::Request => self.fx.outbound.owe_response(),
                // RFC 9897, Section 3.3: the client's key or code comes with the acknowledgement of the
                // Response, which is repeated until this end leaves RESPOND. A SyncAck that overtakes it
                // carries neither.
                PacketType::Sync | PacketType::SyncAck if self.subflow.is_enabled() => {}
                _ => self.enter_open(now, packet.sequence),
            }
        } else {
            self.handshake.answer_partopen(&mut self.fx, packet);
        }
    }

    /// Step 12: a Response in PARTOPEN means that the acknowledgement was lost; a packet from a
    /// server in OPEN completes the handshake.
    fn step12_process_partopen(&mut self, now: Instant, packet: &Packet) -> Step {
        if self.cx.state == State::PartOpen {
            match packet.packet_type() {
                PacketType::Response => {
                    self.fx.outbound.request_ack();
                    // Section 8.1.4: the cookies must be the acknowledged Response's.
                    if packet.sequence == self.cx.sequence.numbers.gsr() {
                        let refused = self.handshake.keep_cookies(packet).err();
                        self.reset_for(refused)?;
                    }
                }
                PacketType::Sync => {}
                // Section 3.3 again: the server may answer a Sync before it has the key or the code.
                PacketType::SyncAck if self.subflow.is_enabled() => {}
                _ => self.enter_open(now, packet.sequence),
            }
        }
        Continue(())
    }

    /// Step 13: a client processes the server's CloseReq.
    fn step13_process_close_request(&mut self, now: Instant, packet: &Packet, findings: Findings) {
        if packet.packet_type() == PacketType::CloseReq && !self.waits_for_data(packet, findings) {
            self.process_close_request(now);
        }
    }

    /// `true` if a Close or CloseReq overtook data of an in-order connection. It is then processed after
    /// them; otherwise the end of the connection would lose data in flight.
    fn waits_for_data(&self, packet: &Packet, findings: Findings) -> bool {
        let not_missed = findings.ndp_count.unwrap_or(0);
        self.resequencer.as_ref().is_some_and(|resequencer| resequencer.holds(packet.sequence, not_missed))
    }

    /// Step 14: answers a Close with a Reset, which ends the connection.
    fn step14_process_close(&mut self, packet: &Packet, findings: Findings) -> Step {
        if packet.packet_type() == PacketType::Close && !self.waits_for_data(packet, findings) {
            self.process_close();
            return Break(());
        }
        Continue(())
    }

    /// Step 15: a Sync is answered with a SyncAck that names it.
    fn step15_process_sync(&mut self, now: Instant, packet: &Packet) {
        if packet.packet_type() == PacketType::Sync {
            self.fx.outbound.syncs().request_sync_ack(packet.sequence);
        }
        if let Kind::SyncAck { ack } = packet.kind {
            let resized = self.mtu.on_sync_ack(now, &mut self.fx, ack);
            self.resize(now, resized);
        }
    }
}
