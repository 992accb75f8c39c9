use std::collections::BTreeMap;

use pcap_file::DataLink;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use whimbrel_units::{DataRate, Duration, Instant};

use super::CapturePoint;
use crate::{
    Agent, Command, DownPolicy, Ecn, FlowId, Impairment, LinkConfig, LinkId, NodeId, Packet, PacketId,
    SimulationConfig, Simulator,
};

/// Sends numbered packets of 1000 bytes at these microseconds.
struct Source {
    to: NodeId,
    times: Vec<u64>,
    sent: usize,
}

impl Agent for Source {
    type Payload = u8;

    fn handle_packet(&mut self, _: Instant, _: Packet<u8>) {}
    fn handle_timeout(&mut self, _: Instant) {}
    fn poll_transmit(&mut self, now: Instant) -> Option<Packet<u8>> {
        self.poll_timeout().filter(|&at| at <= now)?;
        self.sent += 1;
        let (flow, payload) = (FlowId(0), self.sent as u8);
        Some(Packet {
            id: PacketId(0),
            flow,
            source: self.to,
            destination: self.to,
            size: 1_000,
            ecn: Ecn::Ect1,
            payload,
        })
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.times.get(self.sent).map(|&at| micros(at))
    }
}

fn micros(n: u64) -> Instant {
    Instant::from_nanos(n * 1_000)
}

/// One link of 1 byte per microsecond and 5 ms, a source and a sink.
fn network(times: &[u64], impairment: Impairment) -> (Simulator<Source>, LinkId) {
    let mut simulator = Simulator::new(SimulationConfig::default());
    let (a, b) = (simulator.add_node("a"), simulator.add_node("b"));
    let config = LinkConfig::new(DataRate::from_bytes_per_second(1e6), Duration::from_millis(5));
    let link = simulator.add_link(a, b, config.with_packet_limit(2).with_impairment(impairment));
    simulator.add_agent(a, FlowId(0), Source { to: b, times: times.to_vec(), sent: 0 });
    simulator.add_agent(b, FlowId(0), Source { to: a, times: Vec::new(), sent: 0 });
    (simulator, link)
}

/// The beginning of an IPv4 header, and which packet it is.
fn bytes(packet: &Packet<u8>, out: &mut Vec<u8>) {
    out.extend([0x45, packet.ecn.bits(), 3, 232, packet.payload]);
}

/// (interface, nanoseconds, number, original length, comment)
type Seen = (String, u64, u8, u32, Option<String>);

fn read(capture: &[u8]) -> Vec<Seen> {
    let mut reader = PcapNgReader::new(capture).unwrap();
    let mut names = BTreeMap::new();
    let mut seen = Vec::new();
    while let Some(block) = reader.next_block() {
        match block.unwrap() {
            Block::InterfaceDescription(interface) => {
                assert_eq!(interface.linktype, DataLink::RAW);
                assert!(interface.options.contains(&InterfaceDescriptionOption::IfTsResol(9)));
                let name = interface.options.iter().find_map(|option| match option {
                    InterfaceDescriptionOption::IfName(name) => Some(name.to_string()),
                    _ => None,
                });
                names.insert(names.len() as u32, name.unwrap());
            }
            Block::EnhancedPacket(packet) => {
                assert_eq!(packet.data[..4], [0x45, 1, 3, 232]);
                let comment = packet.options.iter().find_map(|option| match option {
                    EnhancedPacketOption::Comment(comment) => Some(comment.to_string()),
                    _ => None,
                });
                let nanos = packet.timestamp.as_nanos() as u64;
                seen.push((
                    names[&packet.interface_id].clone(),
                    nanos,
                    packet.data[4],
                    packet.original_len,
                    comment,
                ));
            }
            other => panic!("unexpected block {other:?}"),
        }
    }
    seen
}

fn seen(interface: &str, micros: u64, number: u8, comment: Option<&str>) -> Seen {
    (interface.to_owned(), micros * 1_000, number, 1_000, comment.map(str::to_owned))
}

#[test]
fn both_ends_of_a_link_see_what_passes_them() {
    let (mut simulator, link) = network(&[0, 0, 0, 9_000], Impairment::mask(vec![1]));
    simulator.set_capture_format(bytes);
    simulator.capture_link(link, CapturePoint::Egress);
    simulator.capture_link(link, CapturePoint::Ingress);
    simulator.schedule(micros(8_000), Command::LinkDown { link, policy: DownPolicy::DropAll });
    simulator.run_until(Instant::from_secs(1));
    // The second packet leaves and is destroyed, the third finds the queue full, the fourth the link down.
    let expected = [
        seen("a>b in", 0, 1, None),
        seen("a>b in", 0, 2, None),
        seen("a>b in", 0, 3, Some("dropped: queue overflow")),
        seen("a>b", 6_000, 1, None),
        seen("a>b in", 9_000, 4, Some("dropped: link down")),
    ];
    assert_eq!(read(&simulator.take_capture()), expected);
}

#[test]
fn a_capture_can_be_taken_in_pieces() {
    let times: Vec<u64> = (0..10).map(|k| 2_000 * k).collect();
    let captured = |pieces: &[u64]| {
        let (mut simulator, link) = network(&times, Impairment::None);
        simulator.set_capture_format(bytes);
        simulator.capture_link(link, CapturePoint::Egress);
        let mut file = Vec::new();
        for &piece in pieces {
            simulator.run_until(micros(piece));
            file.extend(simulator.take_capture());
        }
        file
    };
    let whole = captured(&[100_000]);
    assert_eq!(read(&whole).len(), 10);
    assert_eq!(captured(&[1, 7_000, 12_345, 100_000]), whole);
}

#[test]
fn time_stamps_keep_their_nanoseconds() {
    let (mut simulator, link) = network(&[5_000_000_000], Impairment::None);
    simulator.set_capture_format(bytes);
    simulator.capture_link(link, CapturePoint::Egress);
    simulator.schedule(Instant::ZERO, Command::SetDelay { link, delay: Duration::from_nanos(1_234_567) });
    simulator.run_until(Instant::from_secs(5_001));
    let packets = read(&simulator.take_capture());
    assert_eq!(packets[0].1, 5_000_000_000_000 + 1_000_000 + 1_234_567);
}

#[test]
fn a_simulator_without_a_capture_has_nothing_to_take() {
    let (mut simulator, _) = network(&[0], Impairment::None);
    simulator.run_until(Instant::from_secs(1));
    assert!(simulator.take_capture().is_empty());
}

/// Watching must not change what is watched.
#[test]
fn a_capture_leaves_packets_as_they_are() {
    let (mut simulator, link) = network(&[0, 10], Impairment::None);
    simulator.set_capture_format(|_: &Packet<u8>, out: &mut Vec<u8>| out.push(0x45));
    simulator.capture_link(link, CapturePoint::Ingress);
    simulator.set_capture_format(bytes);
    simulator.capture_link(link, CapturePoint::Ingress);
    simulator.run_until(Instant::from_secs(1));
    assert_eq!(read(&simulator.take_capture()).len(), 2);
    assert_eq!(simulator.link_stats(link).delivered.packets, 2);
    assert_eq!(simulator.packets_in_network(), 0);
}
