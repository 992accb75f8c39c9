//! Packets of multipath connections as contents of a simulated network.

use whimbrel_wire::Packet;
use whimbrel_wire::option::multipath::MultipathOption;

use crate::transport::{Content, IpHeaders};

/// A packet, and the number of its path. In a box, so that packets of other transports are not larger for it.
#[derive(Clone, Debug)]
pub struct MultipathContent(Box<Inside>);

#[derive(Clone, Debug)]
struct Inside {
    packet: Packet,
    path: usize,
}

impl MultipathContent {
    /// A packet on that path.
    pub fn new(packet: Packet, path: usize) -> Self {
        Self(Box::new(Inside { packet, path }))
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
        self.0.packet.data_length()
    }

    fn path(&self) -> Option<usize> {
        Some(self.0.path)
    }

    fn numbers(&self) -> (u64, u64) {
        let (sequence, tag) = self.0.packet.numbers();
        (self.sequence().unwrap_or(sequence), tag)
    }

    fn capture_bytes(&self, headers: &IpHeaders, out: &mut Vec<u8>) -> u8 {
        self.0.packet.capture_bytes(headers, out)
    }
}
