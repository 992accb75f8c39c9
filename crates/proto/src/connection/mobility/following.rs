//! The server's part: authenticates a moved client, challenges its address, and confirms the move.

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::mobility::{MobilityOption, Move};
use whimbrel_wire::{Ecn, Kind, Options, Packet, PacketType, Payload, SeqNo};

use super::super::{Connection, PathChange, ReceiveMeta, Role, State, Transmit};
use crate::ConnectionError;

impl Connection {
    /// The identifier of this connection, at a server that may follow its client.
    pub(crate) fn move_identifier(&self) -> Option<u64> {
        self.mobility.as_ref().filter(|_| self.ports.role == Role::Server).map(|it| it.own.identifier)
    }
    /// `true` if the client sent that packet, from whatever address. It may be the one that completes the handshake.
    pub(crate) fn is_genuine(&mut self, packet: &Packet, moved: &Move) -> bool {
        if self.state == State::Respond && self.move_identifier() == Some(moved.identifier) {
            self.agree_on_mobility();
        }
        let is_open = matches!(self.state, State::Respond | State::Open | State::CloseReq | State::Closing);
        let ports = (packet.source_port, packet.destination_port);
        let key = self.mobility.as_ref().and_then(|mobility| mobility.key.as_ref());
        is_open
            && ports == (self.ports.destination, self.ports.source)
            && key.is_some_and(|key| key.is_genuine(packet, moved))
    }
    /// `true` if a packet is newer than all that arrived: older ones say nothing about the client's current address.
    pub(crate) fn is_news(&self, packet: &Packet) -> bool {
        packet.sequence.is_after(self.sequence.numbers.gsr())
    }
    /// Processes an authentic packet. An older one may be a copy sent by an attacker: it is processed only if not seen
    /// before, and not answered. A new one may lie ahead of the window, after an outage.
    pub(crate) fn handle_genuine(&mut self, now: Instant, meta: ReceiveMeta, packet: Packet) {
        if self.is_news(&packet) {
            self.sequence.numbers.on_valid(PacketType::Sync, packet.sequence.previous(), None);
        } else if packet.packet_type() == PacketType::Sync {
            return;
        }
        self.handle_packet(now, meta, packet);
    }
    /// `true` if a challenge may be sent.
    pub(crate) fn can_challenge(&self) -> bool {
        matches!(self.state, State::Open | State::CloseReq | State::Closing)
    }
    /// Round-trip time within which an answer is expected.
    pub(crate) fn round_trip_time(&self) -> Duration {
        self.rtt.or_default()
    }
    /// Initial sequence number of this end.
    pub(crate) fn initial_sequence(&self) -> SeqNo {
        self.sequence.numbers.iss()
    }
    /// Treatment of the path state when the client has moved.
    pub(crate) fn change_on_move(&self) -> PathChange {
        self.config.mobility.map_or(PathChange::Keep, |mobility| mobility.on_move)
    }
    /// Another connection has proved to be at the peer's address: this connection no longer has a peer.
    pub(crate) fn replace(&mut self) {
        if !self.closing.is_over() {
            self.end(ConnectionError::Unreachable);
        }
    }
    /// Creates a Sync with a challenge, to be sent to the client's presumed address.
    pub(crate) fn challenge(&mut self, now: Instant, challenge: u64) -> Transmit {
        let mut options = Options::new();
        options.push(MobilityOption::Challenge(challenge).into());
        let ack = self.sequence.numbers.gsr();
        self.statistics.syncs_sent += 1;
        self.emit(now, Kind::Sync { ack }, options, Payload::EMPTY, Ecn::NotEct)
    }
    /// The client is at the source address of that packet; schedules the confirmation.
    pub(crate) fn confirm_move(&mut self, sequence: SeqNo) {
        if let Some(mobility) = &mut self.mobility {
            mobility.moved = Some(mobility.moved.map_or(sequence, |moved| moved.max(sequence)));
            self.outbound.ack |= self.state.may_send_data();
        }
    }
    /// Number of bytes of the pending confirmation.
    pub(super) fn moved_len(&self) -> usize {
        const MOVED_LEN: usize = 8;
        if self.mobility.as_ref().is_some_and(|mobility| mobility.moved.is_some()) { MOVED_LEN } else { 0 }
    }
    pub(super) fn tell_moved_on(&mut self, packet: &mut Packet) {
        if let Some(mobility) = &mut self.mobility
            && !matches!(packet.packet_type(), PacketType::Response | PacketType::Listen | PacketType::Reset)
            && let Some(sequence) = mobility.moved.take()
        {
            packet.options.push(MobilityOption::Moved(sequence).into());
        }
    }
}
