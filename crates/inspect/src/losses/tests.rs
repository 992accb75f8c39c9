use whimbrel_wire::udp_encapsulation::{self, UdpPorts};

use super::*;

/// A pcap file of raw IPv4 packets.
#[derive(Default)]
struct File(Vec<u8>);

impl File {
    fn new() -> Self {
        let mut bytes = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0];
        bytes.extend([0; 8]);
        bytes.extend(65_535u32.to_le_bytes());
        // LINKTYPE_RAW.
        bytes.extend(101u32.to_le_bytes());
        Self(bytes)
    }

    fn udp(&mut self, ms: u64, port: u16, payload: &[u8]) {
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

    fn rtp(&mut self, ms: u64, port: u16, ssrc: u32, sequence: u16) {
        let mut payload = vec![0x80, 96];
        payload.extend(sequence.to_be_bytes());
        payload.extend([0; 4]);
        payload.extend(ssrc.to_be_bytes());
        payload.extend([7; 20]);
        self.udp(ms, port, &payload);
    }

    fn losses(&self, port: Option<u16>) -> Option<LossRecording> {
        losses(self.0.as_slice(), port).expect("a capture")
    }
}

fn milliseconds(spans: &[(Duration, Duration)]) -> Vec<(u64, u64)> {
    spans.iter().map(|(from, to)| (from.as_millis(), to.as_millis())).collect()
}

#[test]
fn missing_numbers_are_losses_for_their_share_of_the_time() {
    let mut file = File::new();
    // Over the wrap of 16 bits: 65533, 65534, then 65535 to 2 are missing, then 3, 4; 5 comes after 6.
    for (ms, sequence) in [(0, 65_533), (20, 65_534), (120, 3), (140, 4), (180, 6), (185, 5), (185, 6)] {
        file.rtp(ms, 5004, 9, sequence);
    }
    let found = file.losses(None).expect("a stream");
    assert_eq!(found.stream, "RTP 192.0.2.1:4000 > 192.0.2.2:5004 ssrc 00000009");
    assert_eq!((found.streams, found.passed, found.lost), (1, 6, 4));
    assert_eq!(found.length, Duration::from_millis(185));
    // Four packets between 20 and 120 ms, 20 ms apart: from half a spacing before the first to half after the
    // last.
    assert_eq!(milliseconds(&found.spans), [(30, 110)]);
}

#[test]
fn the_largest_stream_counts_unless_a_port_is_named() {
    let mut file = File::new();
    for nth in 0..10u16 {
        file.rtp(u64::from(nth) * 20, 5004, 1, nth);
        if nth % 2 == 0 {
            file.rtp(u64::from(nth) * 20, 5006, 2, nth);
        }
    }
    // RTCP and other protocols are no streams.
    for nth in 0..30 {
        file.udp(nth, 5005, &[0x80, 200, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0]);
        file.udp(nth, 53, &[0x12; 40]);
    }
    let largest = file.losses(None).expect("a stream");
    assert_eq!((largest.streams, largest.passed, largest.lost), (2, 10, 0));
    assert!(largest.spans.is_empty());
    let other = file.losses(Some(5006)).expect("a stream");
    assert_eq!((other.streams, other.passed, other.lost), (1, 5, 4));
    assert_eq!(milliseconds(&other.spans), [(10, 30), (50, 70), (90, 110), (130, 150)]);
    assert_eq!(file.losses(Some(53)), None);
}

#[test]
fn packets_captured_at_the_same_time_use_the_mean_spacing() {
    let mut file = File::new();
    for (ms, sequence) in [(0, 1), (40, 2), (40, 4), (80, 5)] {
        file.rtp(ms, 5004, 1, sequence);
    }
    let found = file.losses(None).expect("a stream");
    // 80 ms over five numbers.
    assert_eq!((found.lost, milliseconds(&found.spans)), (1, vec![(40, 56)]));
}

#[test]
fn a_file_without_packets_has_no_stream() {
    assert_eq!(File::new().losses(None), None);
    assert!(losses(&b"time_s\n1\n"[..], None).is_err());
}
