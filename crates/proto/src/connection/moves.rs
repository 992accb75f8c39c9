//! The endpoint's view of a connection: addresses, which a connection never sees, and places in the
//! endpoint's tables.

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::mobility::Move;
use whimbrel_wire::{Packet, PacketType, SeqNo};

use super::close::Ending;
use super::{Connection, ReceiveMeta, State};
use crate::ConnectionError;
use crate::PathChange;

impl Connection {
    /// The identifier of this connection, at a server that may follow its client.
    pub(crate) fn move_identifier(&self) -> Option<u64> {
        self.mobility.own_identifier(&self.cx)
    }

    /// `true` if the client sent that packet, from any address. It may be the one that completes the
    /// handshake.
    pub(crate) fn is_genuine(&mut self, packet: &Packet, moved: &Move) -> bool {
        self.mobility.is_genuine(&self.cx, packet, moved)
    }

    /// `true` if a packet is newer than all that arrived: older ones say nothing about the client's current
    /// address.
    pub(crate) fn is_news(&self, packet: &Packet) -> bool {
        packet.sequence.is_after(self.cx.sequence.numbers.gsr())
    }

    /// Processes an authentic packet. An older one may be a copy sent by an attacker: it is processed only if
    /// not seen before, and not answered. A new one may lie ahead of the window, after an outage.
    pub(crate) fn handle_genuine(&mut self, now: Instant, meta: ReceiveMeta, packet: Packet) {
        if self.is_news(&packet) {
            self.cx.sequence.numbers.on_valid(PacketType::Sync, packet.sequence.previous(), None);
        } else if packet.packet_type() == PacketType::Sync {
            return;
        }
        self.handle_packet(now, meta, packet);
    }

    /// `true` if a challenge may be sent.
    pub(crate) fn can_challenge(&self) -> bool {
        matches!(self.cx.state, State::Open | State::CloseReq | State::Closing)
    }

    /// Round-trip time within which an answer is expected.
    pub(crate) fn round_trip_time(&self) -> Duration {
        self.cx.rtt.or_default()
    }

    /// Initial sequence number of this end.
    pub(crate) fn initial_sequence(&self) -> SeqNo {
        self.cx.sequence.numbers.iss()
    }

    /// Treatment of the path state when the client has moved.
    pub(crate) fn change_on_move(&self) -> PathChange {
        self.cx.config.mobility.map_or(PathChange::Keep, |mobility| mobility.on_move)
    }

    /// Another connection has proved to be at the peer's address: this connection no longer has a peer.
    pub(crate) fn replace(&mut self) {
        if !self.closing.is_over() {
            self.finish(Ending::Silent(ConnectionError::Unreachable));
        }
    }

    /// The client is at the source address of that packet; schedules the confirmation.
    pub(crate) fn confirm_move(&mut self, sequence: SeqNo) {
        self.mobility.confirm(&self.cx, &mut self.fx, sequence);
    }

    /// Ends a half-open connection whose place the endpoint needs, without sending a packet.
    pub(crate) fn evict(&mut self) {
        if !self.closing.is_over() {
            self.finish(Ending::Silent(ConnectionError::Evicted));
        }
    }

    /// Reserves `bytes` on the Response, before a server processes its Request.
    pub(crate) fn reserve_on_response(&mut self, bytes: usize) {
        self.handshake.validation.reserve(bytes);
    }

    /// Marks a server that was established by an Init Cookie: its client repeats the cookie on every packet
    /// until it receives one from this end.
    pub(crate) fn release_from_cookies(&mut self) {
        if self.cx.state == State::Open {
            self.fx.outbound.request_ack();
        }
    }
}
