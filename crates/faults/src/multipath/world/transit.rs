//! The paths: the fate of each packet.

use core::net::Ipv4Addr;

use whimbrel_proto::multipath::{Path, SubflowStage};
use whimbrel_units::Duration;
use whimbrel_wire::checksum::PseudoHeader;
use whimbrel_wire::option::multipath::MultipathOption;
use whimbrel_wire::{Packet, PacketType, Payload};

use super::{World, line_of, reversed};
use crate::capture::Direction;
use crate::damage;
use crate::multipath::plan::{Death, JoinPhase};

impl World {
    /// A host sends a packet: the treatment by its path.
    pub(super) fn offer(&mut self, from: usize, path: Path, packet: Packet) {
        let line = line_of(path, from);
        self.course.on_sent(&[packet.sequence.value() ^ ((line as u64) << 50)]);
        self.law_joined(from, path, &packet);
        let remark = self.treat(from, line, path, &packet);
        self.note(from, path, &packet, Direction::Out, remark);
    }
    /// Passes a packet to its path. Returns its fate, unless it arrives as it is.
    fn treat(&mut self, from: usize, line: usize, path: Path, packet: &Packet) -> Option<&'static str> {
        if let Some(death) = self.death.filter(|death| death.line == line && starts(*death, from, packet)) {
            let until = self.course.now + death.lasts;
            let directions = if death.is_one_way { from..=from } else { 0..=1 };
            directions.for_each(|direction| self.dead[line][direction] = until);
            self.course.tally.count(&format!("a path died at its {}", death.phase.name()));
            self.death = None;
        }
        if self.course.now < self.dead[line][from] && !self.is_healed {
            self.course.tally.count("path: dead");
            return Some("the path is dead");
        }
        let plan = self.plan.lines[line.min(self.plan.lines.len() - 1)].clone();
        if self.is_healed {
            if has_data(packet)
                && let Payload::Bytes(bytes) = &packet.payload
                && let Some(number) = bytes.first_chunk()
            {
                self.hosts[from].left.insert(u64::from_be_bytes(*number));
            }
            self.fly(from, path, packet.clone(), plan.delay);
            return None;
        }
        if self.dice.chance(plan.lose) {
            self.course.tally.count("path: lost");
            return Some("lost");
        }
        let mut remark = None;
        for _ in 0..=u32::from(self.dice.chance(plan.repeat)) {
            let delay = plan.delay + self.dice.time(Duration::ZERO, plan.jitter);
            let addresses =
                PseudoHeader::v4(Ipv4Addr::new(10, 0, line as u8, 1), Ipv4Addr::new(192, 0, 2, 1));
            let packet = if self.dice.chance(plan.flip) {
                self.course.tally.count("path: damaged");
                remark = Some("damaged");
                // A checksum of 16 bits misses some damage, which is then a forgery.
                let received = damage::flip(packet, &addresses, &mut self.dice);
                received.filter(|received| received == packet || self.plan.has_attacker())
            } else if self.dice.chance(plan.forge) {
                self.course.tally.count("path: forged");
                remark = Some("forged");
                damage::forge(packet, &addresses, 0.1, &mut self.dice)
            } else {
                Some(packet.clone())
            };
            if let Some(packet) = packet {
                self.fly(from, path, packet, delay);
            }
        }
        remark
    }
    fn fly(&mut self, from: usize, path: Path, packet: Packet, delay: Duration) {
        self.flying.launch(self.course.now + delay, (1 - from, reversed(path), packet));
    }

    /// The law *joined*.
    fn law_joined(&self, from: usize, path: Path, packet: &Packet) {
        if !has_data(packet) {
            return;
        }
        let host = &self.hosts[from];
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

fn has_data(packet: &Packet) -> bool {
    matches!(packet.packet_type(), PacketType::Data | PacketType::DataAck) && !packet.payload.is_empty()
}

/// `true` if a path dies at that packet.
fn starts(death: Death, from: usize, packet: &Packet) -> bool {
    let has_code = packet
        .options
        .iter()
        .any(|option| matches!(MultipathOption::parse(option), Some(MultipathOption::Hmac(_))));
    match (death.phase, packet.packet_type()) {
        (JoinPhase::Request, PacketType::Request) | (JoinPhase::Response, PacketType::Response) => true,
        (JoinPhase::Code, PacketType::Ack) => from == 0 && has_code,
        (JoinPhase::Completion, PacketType::Ack) => from == 1,
        (JoinPhase::Data, _) => has_data(packet),
        _ => false,
    }
}
