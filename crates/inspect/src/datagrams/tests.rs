use proptest::prelude::*;

use super::*;

const RAW: u16 = 101;

/// An IPv4 packet with UDP from 10.0.0.1:5004 to 10.0.0.2:`port`.
fn udp_packet(port: u16, announced: u16, payload: usize) -> Vec<u8> {
    let length = 28 + payload;
    let mut bytes =
        vec![0x45, 0, (length >> 8) as u8, length as u8, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    bytes.extend(5004_u16.to_be_bytes());
    bytes.extend(port.to_be_bytes());
    bytes.extend(announced.to_be_bytes());
    bytes.extend([0, 0]);
    bytes.extend(vec![0xff; payload]);
    bytes
}

fn record(milliseconds: u64, data: &[u8]) -> Record<'_> {
    Record {
        number: 1,
        offset: 0,
        at: Instant::from_millis(milliseconds),
        interface: 0,
        interface_name: None,
        link_type: RAW,
        data,
        original_length: data.len() as u32,
    }
}

fn collected(frames: &[(u64, Vec<u8>)]) -> Vec<FlowDatagrams> {
    let mut datagrams = Datagrams::default();
    for (at, frame) in frames {
        datagrams.on_record(&record(*at, frame));
    }
    datagrams.into_flows()
}

fn datagram(milliseconds: u64, size: u32) -> Datagram {
    Datagram { offset: Duration::from_millis(milliseconds), size }
}

#[test]
fn the_largest_flow_comes_first_and_times_count_from_its_first_datagram() {
    let flows = collected(&[
        (5, udp_packet(1000, 108, 100)),
        (7, udp_packet(2000, 308, 300)),
        (27, udp_packet(2000, 208, 200)),
        // Out of order in the capture.
        (17, udp_packet(2000, 18, 10)),
    ]);
    assert_eq!(flows[0].0.to_string(), "10.0.0.1:5004>10.0.0.2:2000");
    assert_eq!(flows[0].1, [datagram(0, 300), datagram(10, 10), datagram(20, 200)]);
    assert_eq!(flows[1].1, [datagram(0, 100)]);
}

#[test]
fn sizes_follow_the_udp_length_as_far_as_the_packet_has_room() {
    let mut fragment = udp_packet(1000, 3008, 100);
    fragment[6] = 0x20;
    let mut later = fragment.clone();
    later[7] = 10;
    let sizes = |frame: Vec<u8>| collected(&[(0, frame)]).first().map(|(_, seen)| seen[0].size);
    assert_eq!(sizes(udp_packet(1000, 58, 100)), Some(50), "padded by Ethernet");
    assert_eq!(sizes(udp_packet(1000, 0, 100)), Some(100), "left to the network card");
    assert_eq!(sizes(udp_packet(1000, 60_000, 100)), Some(100), "more than there is");
    assert_eq!(sizes(fragment), Some(3000), "the whole datagram");
    assert_eq!(sizes(later), None, "no UDP header");
    for announced in [1, 7, 8] {
        assert_eq!(sizes(udp_packet(1000, announced, 100)), None, "{announced}");
    }
}

#[test]
fn flows_beyond_the_maximum_are_counted_not_kept() {
    let mut datagrams = Datagrams::default();
    for port in 1..=MAX_FLOWS as u16 + 3 {
        datagrams.on_record(&record(0, &udp_packet(port, 18, 10)));
    }
    assert_eq!(datagrams.ignored(), 3);
    assert_eq!(datagrams.into_flows().len(), MAX_FLOWS);
}

proptest! {
    #[test]
    fn any_frame_is_processed_without_a_panic(
        mut frame in proptest::collection::vec(any::<u8>(), 0..80),
        link_type in prop_oneof![Just(RAW), any::<u16>()],
        looks_like_udp in any::<bool>(),
    ) {
        if looks_like_udp && frame.len() > 10 {
            (frame[0], frame[9]) = (0x45, 17);
        }
        let mut datagrams = Datagrams::new(&[4000]);
        datagrams.on_record(&Record { link_type, ..record(0, &frame) });
        prop_assert!(datagrams.into_flows().iter().all(|(_, seen)| seen.iter().all(|each| each.size > 0)));
    }
}
