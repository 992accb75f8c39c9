//! The server: tells a genuine client from others, asks it where it is, and tells it when it has followed.

use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::mobility::{MobilityOption, Move};
use whimbrel_wire::{Ecn, Kind, Options, Packet, PacketType, Payload, SeqNo};

use super::super::{Connection, PathChange, ReceiveMeta, Role, State, Transmit};
use crate::ConnectionError;

impl Connection {
    /// At a server that may follow its client: what that calls this connection.
    pub(crate) fn move_identifier(&self) -> Option<u64> {
        self.mobility.as_ref().filter(|_| self.ports.role == Role::Server).map(|it| it.own.identifier)
    }
    /// Whether the client sent that packet, wherever it came from. It may be the one that completes the handshake.
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
    /// Whether a packet is newer than all that arrived: others say nothing about where the client is now.
    pub(crate) fn is_news(&self, packet: &Packet) -> bool {
        packet.sequence.is_after(self.sequence.numbers.gsr())
    }
    /// A genuine packet arrived. An old one may be a copy that somebody else sent: what counts only once is looked
    /// at, and no answer made. A new one may lie ahead of the window, after an outage.
    pub(crate) fn handle_genuine(&mut self, now: Instant, meta: ReceiveMeta, packet: Packet) {
        if self.is_news(&packet) {
            self.sequence.numbers.on_valid(PacketType::Sync, packet.sequence.previous(), None);
        } else if packet.packet_type() == PacketType::Sync {
            return;
        }
        self.handle_packet(now, meta, packet);
    }
    /// Whether it may ask where the client is.
    pub(crate) fn can_challenge(&self) -> bool {
        matches!(self.state, State::Open | State::CloseReq | State::Closing)
    }
    /// How long an answer takes.
    pub(crate) fn round_trip_time(&self) -> Duration {
        self.rtt.or_default()
    }
    /// The number that its packets began with.
    pub(crate) fn initial_sequence(&self) -> SeqNo {
        self.sequence.numbers.iss()
    }
    /// What becomes of its knowledge of the path when the client is elsewhere.
    pub(crate) fn change_on_move(&self) -> PathChange {
        self.config.mobility.map_or(PathChange::Keep, |mobility| mobility.on_move)
    }
    /// Somebody else has proved to be where the other end was: the connection has no other end any more.
    pub(crate) fn displace(&mut self) {
        if !self.closing.is_over() {
            self.end(ConnectionError::Unreachable);
        }
    }
    /// The question whether the client is where that Sync is sent.
    pub(crate) fn challenge(&mut self, now: Instant, challenge: u64) -> Transmit {
        let mut options = Options::new();
        options.push(MobilityOption::Challenge(challenge).into());
        let ack = self.sequence.numbers.gsr();
        self.statistics.syncs_sent += 1;
        self.emit(now, Kind::Sync { ack }, options, Payload::EMPTY, Ecn::NotEct)
    }
    /// The client is where that packet came from, and shall hear that this end knows.
    pub(crate) fn confirm_move(&mut self, sequence: SeqNo) {
        if let Some(mobility) = &mut self.mobility {
            mobility.moved = Some(mobility.moved.map_or(sequence, |moved| moved.max(sequence)));
            self.outbound.ack |= self.state.may_send_data();
        }
    }
    /// How many bytes the confirmation takes that waits for a packet.
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
