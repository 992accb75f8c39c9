//! The trial's view of its hosts' packets.

use whimbrel_proto::multipath::{Path, SubflowStage};
use whimbrel_wire::option::multipath::MultipathOption;
use whimbrel_wire::{Packet, PacketType, Payload};

use super::World;
use crate::multipath::plan::{Death, JoinPhase};
use crate::plan::Side;

impl World {
    /// A path dies at the packet of the plan.
    pub(super) fn perhaps_die(&mut self, from: Side, line: usize, packet: &Packet) {
        let Some(death) = self.death.filter(|death| death.line == line && starts(*death, from, packet))
        else {
            return;
        };
        let until = self.course.now + death.lasts;
        for side in Side::BOTH.into_iter().filter(|side| !death.is_one_way || *side == from) {
            self.course.paths[line][side as usize].cut_until = until;
        }
        self.course.tally.count(&format!("a path died at its {}", death.phase.name()));
        self.death = None;
    }

    /// The law *joined*.
    pub(super) fn check_joined(&self, from: Side, path: Path, packet: &Packet) {
        if !has_data(packet) {
            return;
        }
        let host = &self.hosts[from as usize];
        let Some(connection) = host.handle.and_then(|handle| host.endpoint.connection(handle)) else {
            return;
        };
        let id = connection.find(path, &answer_to(packet));
        let stage =
            id.and_then(|id| connection.snapshot().subflows.iter().find(|it| it.id == id).map(|it| it.stage));
        assert!(stage != Some(SubflowStage::Joining), "data on {path:?} before it has joined");
    }
}

/// A packet with the ports of an answer, by which a subflow is found.
fn answer_to(packet: &Packet) -> Packet {
    Packet { source_port: packet.destination_port, destination_port: packet.source_port, ..packet.clone() }
}

/// The number of the datagram in a packet.
pub(super) fn number_in(packet: &Packet) -> Option<u64> {
    let Payload::Bytes(bytes) = &packet.payload else { return None };
    bytes.first_chunk().filter(|_| has_data(packet)).map(|number| u64::from_be_bytes(*number))
}

fn has_data(packet: &Packet) -> bool {
    matches!(packet.packet_type(), PacketType::Data | PacketType::DataAck) && !packet.payload.is_empty()
}

/// `true` if a path dies at that packet.
fn starts(death: Death, from: Side, packet: &Packet) -> bool {
    let has_code = packet
        .options
        .iter()
        .any(|option| matches!(MultipathOption::parse(option), Some(MultipathOption::Hmac(_))));
    match (death.phase, packet.packet_type()) {
        (JoinPhase::Request, PacketType::Request) | (JoinPhase::Response, PacketType::Response) => true,
        (JoinPhase::Code, PacketType::Ack) => from == Side::Client && has_code,
        (JoinPhase::Completion, PacketType::Ack) => from == Side::Server,
        (JoinPhase::Data, _) => has_data(packet),
        _ => false,
    }
}
