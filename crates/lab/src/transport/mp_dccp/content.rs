//! Packets of multipath connections as contents of a simulated network.

use whimbrel_wire::Packet;
use whimbrel_wire::option::multipath::MultipathOption;

use crate::transport::secured::Hidden;
use crate::transport::{Content, IpHeaders};

/// A packet, and the number of its path. In a box, so that packets of other transports are not larger for it.
#[derive(Clone, Debug)]
pub struct MultipathContent(Box<Inside>);

#[derive(Clone, Debug)]
struct Inside {
    packet: Packet,
    path: usize,
    /// What the record of an encrypted connection hides.
    hidden: Option<Hidden>,
}

impl MultipathContent {
    /// A packet on that path. `hidden`: what its record hides, in an encrypted connection.
    pub(super) fn new(packet: Packet, path: usize, hidden: Option<Hidden>) -> Self {
        Self(Box::new(Inside { packet, path, hidden }))
    }
    /// The packet.
    pub fn packet(&self) -> &Packet {
        &self.0.packet
    }
    /// The number of the path.
    pub fn number_of_path(&self) -> usize {
        self.0.path
    }
    /// The packet's number in the multipath connection.
    pub(super) fn sequence(&self) -> Option<u64> {
        self.0.packet.options.iter().find_map(|option| match MultipathOption::parse(option) {
            Some(MultipathOption::Sequence(sequence)) => Some(sequence.value()),
            _ => None,
        })
    }
}

impl Content for MultipathContent {
    fn data_length(&self) -> u32 {
        self.0.hidden.map_or_else(|| self.0.packet.data_length(), |hidden| hidden.length)
    }

    fn path(&self) -> Option<usize> {
        Some(self.0.path)
    }

    fn numbers(&self) -> (u64, u64) {
        let (sequence, tag) = self.0.packet.numbers();
        (self.sequence().unwrap_or(sequence), self.0.hidden.map_or(tag, |hidden| hidden.tag))
    }

    fn capture_bytes(&self, headers: &IpHeaders, out: &mut Vec<u8>) -> u8 {
        self.0.packet.capture_bytes(headers, out)
    }
}
