//! The server's part: authenticates a moved client, and confirms the move.

use whimbrel_wire::option::mobility::{MobilityOption, Move};
use whimbrel_wire::{Packet, PacketType, SeqNo};

use super::super::context::{Context, Effects};
use super::super::{Role, State};
use super::Mobility;

impl Mobility {
    /// The identifier of this connection, at a server that may follow its client.
    pub(in super::super) fn own_identifier(&self, cx: &Context) -> Option<u64> {
        self.0.as_ref().filter(|_| cx.ports.role == Role::Server).map(|agreement| agreement.own.identifier)
    }

    /// `true` if the client sent that packet, from any address. It may be the one that completes the
    /// handshake.
    pub(in super::super) fn is_genuine(&mut self, cx: &Context, packet: &Packet, moved: &Move) -> bool {
        if cx.state == State::Respond && self.own_identifier(cx) == Some(moved.identifier) {
            self.agree(cx);
        }
        let is_open = matches!(cx.state, State::Respond | State::Open | State::CloseReq | State::Closing);
        let ports = (packet.source_port, packet.destination_port);
        let key = self.0.as_ref().and_then(|agreement| agreement.key.as_ref());
        is_open
            && ports == (cx.ports.destination, cx.ports.source)
            && key.is_some_and(|key| key.is_genuine(packet, moved))
    }

    /// The client is at the source address of that packet; schedules the confirmation.
    pub(in super::super) fn confirm(&mut self, cx: &Context, fx: &mut Effects, sequence: SeqNo) {
        if let Some(agreement) = &mut self.0 {
            agreement.moved = Some(agreement.moved.map_or(sequence, |moved| moved.max(sequence)));
            if cx.state.may_send_data() {
                fx.outbound.request_ack();
            }
        }
    }

    /// Number of bytes of the pending confirmation.
    pub(super) fn moved_len(&self) -> usize {
        const MOVED_LEN: usize = 8;
        if self.0.as_ref().is_some_and(|agreement| agreement.moved.is_some()) { MOVED_LEN } else { 0 }
    }

    /// Adds the pending confirmation to a packet that is about to leave.
    pub(super) fn write_moved(&mut self, packet: &mut Packet) {
        if let Some(agreement) = &mut self.0
            && !matches!(packet.packet_type(), PacketType::Response | PacketType::Listen | PacketType::Reset)
            && let Some(sequence) = agreement.moved.take()
        {
            packet.options.push(MobilityOption::Moved(sequence).into());
        }
    }
}
