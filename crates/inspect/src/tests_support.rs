//! Helpers of tests.

use whimbrel_wire::udp_encapsulation::{self, UdpPorts};

/// A pcap file of raw IPv4 packets.
#[derive(Default)]
pub(crate) struct File(Vec<u8>);

impl File {
    pub(crate) fn new() -> Self {
        let mut bytes = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0];
        bytes.extend([0; 8]);
        bytes.extend(65_535u32.to_le_bytes());
        // LINKTYPE_RAW.
        bytes.extend(101u32.to_le_bytes());
        Self(bytes)
    }

    pub(crate) fn udp(&mut self, ms: u64, port: u16, payload: &[u8]) {
        let length = (28 + payload.len()) as u16;
        let mut packet = vec![0x45, 0];
        packet.extend(length.to_be_bytes());
        packet.extend([0, 0, 0, 0, 64, udp_encapsulation::PROTOCOL, 0, 0]);
        packet.extend([192, 0, 2, 1, 192, 0, 2, 2]);
        let ports = UdpPorts { source: 4000, destination: port };
        packet.extend(ports.source.to_be_bytes());
        packet.extend(ports.destination.to_be_bytes());
        packet.extend((length - 20).to_be_bytes());
        packet.extend([0, 0]);
        packet.extend(payload);
        let (seconds, micros) = (100 + ms / 1000, ms % 1000 * 1000);
        for word in [seconds as u32, micros as u32, packet.len() as u32, packet.len() as u32] {
            self.0.extend(word.to_le_bytes());
        }
        self.0.extend(packet);
    }

    pub(crate) fn rtp(&mut self, ms: u64, port: u16, ssrc: u32, sequence: u16) {
        let mut payload = vec![0x80, 96];
        payload.extend(sequence.to_be_bytes());
        payload.extend([0; 4]);
        payload.extend(ssrc.to_be_bytes());
        payload.extend([7; 20]);
        self.udp(ms, port, &payload);
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}
