//! Step 16: application data of a received packet, delivered at once or in order.

use whimbrel_units::Instant;
use whimbrel_wire::option::data_dropped::DropCode;
use whimbrel_wire::{Packet, PacketType};

use super::options::{Findings, received_packet};
use super::reception::{datagram_event, hand_over};
use super::resequencer::{Placement, QueuedPacket, Waiting};
use super::{Connection, ReceiveMeta, State};
use crate::Event;
use crate::ccid::ReceivedPacket;

impl Connection {
    /// Step 16: delivers the packet's data, at once or in order. `findings`: the result of the packet's Data
    /// Checksum option.
    #[inline]
    pub(super) fn step16_process_data(
        &mut self,
        now: Instant,
        meta: ReceiveMeta,
        packet: &mut Packet,
        findings: Findings,
    ) {
        if self.resequencer.is_some() {
            self.resequence(now, meta, packet, findings);
        } else {
            self.process_data(meta, packet, findings.is_corrupt);
        }
    }

    /// Delivers the packet's data now.
    #[inline]
    fn process_data(&mut self, meta: ReceiveMeta, packet: &mut Packet, is_corrupt: bool) {
        if let Some(event) = self.take_event(meta, packet, is_corrupt) {
            self.reception.deliver(&mut self.fx, event);
        }
    }

    /// The event for a packet's data, unless they cannot be delivered.
    #[inline]
    fn take_event(&mut self, meta: ReceiveMeta, packet: &mut Packet, is_corrupt: bool) -> Option<Event> {
        match packet.packet_type() {
            PacketType::Request | PacketType::Response => {
                self.take_handshake_data(meta, packet, is_corrupt);
                None
            }
            // RFC 4340, Section 5.4: empty Data is a datagram, too.
            PacketType::Data | PacketType::DataAck => self.accept(meta, packet, is_corrupt),
            // Section 9.3: other packets' data is not delivered, but reported if corrupt.
            _ => {
                if is_corrupt {
                    self.dropped.discard(&mut self.fx, packet.sequence, DropCode::Corrupt);
                }
                None
            }
        }
    }

    /// The event for acceptable data. Others are dropped, and the peer receives the reason.
    #[inline]
    fn accept(&mut self, meta: ReceiveMeta, packet: &mut Packet, is_corrupt: bool) -> Option<Event> {
        let (sequence, size) = (packet.sequence, packet.payload.len());
        if let Some(code) = self.reception.objection(&self.cx, size, packet.checksum_coverage, is_corrupt) {
            self.dropped.discard(&mut self.fx, sequence, code);
            return None;
        }
        if is_corrupt {
            self.dropped.record(sequence, DropCode::DeliveredCorrupt);
        }
        Some(datagram_event(meta, packet, is_corrupt))
    }

    /// Accepts the application data of a Request or Response, once per connection. Further data is reported
    /// as dropped because of a protocol constraint (RFC 4340, Section 8.1.3).
    fn take_handshake_data(&mut self, meta: ReceiveMeta, packet: &mut Packet, is_corrupt: bool) {
        if packet.payload.is_empty() {
            return;
        }
        let Some(may_take) = self.handshake.claim_data(&self.cx, packet.sequence) else { return };
        if !may_take {
            self.dropped.discard(&mut self.fx, packet.sequence, DropCode::ProtocolConstraints);
            return;
        }
        let Some(event) = self.accept(meta, packet, is_corrupt) else { return };
        if self.cx.state == State::Respond {
            self.handshake.keep_received(event);
        } else {
            self.reception.deliver(&mut self.fx, event);
        }
    }

    /// Queues the packet, or processes it at once if none is missing before it.
    fn resequence(&mut self, now: Instant, meta: ReceiveMeta, packet: &mut Packet, findings: Findings) {
        let Some(resequencer) = &mut self.resequencer else { return };
        let discarded = resequencer.discards(packet.sequence);
        let shown = ReceivedPacket { discarded, ..received_packet(meta, packet, findings) };
        if resequencer.queue_for_detection(now, packet, &shown) {
            self.congestion.on_received_in_order(now, now, &shown);
        }
        let not_missed = findings.ndp_count.unwrap_or(0);
        match resequencer.place(packet, not_missed) {
            Placement::Now { discarded, is_shown } => {
                if is_shown {
                    let shown = ReceivedPacket { discarded, ..received_packet(meta, packet, findings) };
                    self.congestion.on_received_in_order(now, now, &shown);
                }
                if !discarded {
                    self.process_data(meta, packet, findings.is_corrupt);
                }
            }
            Placement::Waits(place) => {
                let (options, size) = (core::mem::take(&mut packet.options), packet.payload.len());
                let queued = QueuedPacket::new(&received_packet(meta, packet, findings), options);
                let event = self.take_event(meta, packet, findings.is_corrupt);
                if let Some(event) = &event {
                    self.reception.on_queued(event);
                }
                if let Some(resequencer) = &mut self.resequencer {
                    resequencer.queue(now, place, not_missed, size, Waiting { packet: queued, event });
                }
            }
        }
        self.release(now);
    }

    /// Releases the packets that have waited long enough, or need not wait any longer.
    pub(super) fn release(&mut self, now: Instant) {
        let Some(resequencer) = &mut self.resequencer else { return };
        while let Some((arrived, queued)) = resequencer.next_detected(now) {
            self.congestion.on_received_in_order(now, arrived, &queued.packet());
        }
        while let Some((arrived, waiting)) =
            self.resequencer.as_mut().and_then(|resequencer| resequencer.next_delivered(now))
        {
            self.deliver_in_turn(now, arrived, waiting);
        }
    }

    /// Processes a packet that leaves the reorder buffer.
    fn deliver_in_turn(&mut self, now: Instant, arrived: Instant, waiting: Waiting) {
        if self.resequencer.as_ref().is_some_and(|resequencer| resequencer.detects_by_delivery()) {
            self.congestion.on_received_in_order(now, arrived, &waiting.packet.packet());
        }
        if let Some(event) = waiting.event {
            hand_over(&mut self.fx, event);
        }
        match waiting.packet.packet().packet_type {
            PacketType::Close if !self.closing.is_over() => self.process_close(),
            PacketType::CloseReq => self.process_close_request(now),
            _ => {}
        }
    }

    /// Processes the server's CloseReq in order.
    pub(super) fn process_close_request(&mut self, now: Instant) {
        if matches!(self.cx.state, State::PartOpen | State::Open) {
            self.cx.state = self.closing.on_close_request(now, &self.cx, &mut self.fx);
        }
    }

    /// Processes the peer's Close in order.
    pub(super) fn process_close(&mut self) {
        let ending = self.closing.on_close(&self.cx, &mut self.fx);
        self.finish(ending);
    }
}
