//! Packets sent by Linux are decoded and encoded again byte for byte.

use std::{collections::BTreeMap, fs::File, net::Ipv4Addr, path::Path};

use bytes::Bytes;
use pcap_file::{DataLink, pcap::PcapReader};
use whimbrel_wire::{
    DccpOption, Kind, Packet, Reset, ResetCode, ServiceCode,
    checksum::{self, PROTOCOL, PseudoHeader},
    option::{
        FeatureAction, FeatureNumber, FeatureOption, ack_vector,
        tfrc::{NO_LOSS_EVENT, TfrcOption},
    },
};

const ETHERNET_HEADER: usize = 14;

/// A captured DCCP packet.
struct Captured {
    pseudo_header: PseudoHeader,
    bytes: Bytes,
}

/// The DCCP packets of a capture, in order.
fn read(name: &str) -> Vec<Captured> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    let mut reader = PcapReader::new(File::open(path).unwrap()).unwrap();
    assert_eq!(reader.header().datalink, DataLink::ETHERNET);
    let mut packets = Vec::new();
    while let Some(record) = reader.next_packet() {
        let record = record.unwrap();
        assert_eq!(record.data.len(), record.orig_len as usize, "captured whole");
        packets.extend(dccp_of_frame(&record.data));
    }
    packets
}

/// The DCCP packet in an Ethernet frame, if there is one.
fn dccp_of_frame(frame: &[u8]) -> Option<Captured> {
    let (ethernet, ip) = frame.split_at(ETHERNET_HEADER);
    if ethernet[12..14] != [0x08, 0x00] || ip[9] != PROTOCOL {
        return None;
    }
    let header_len = usize::from(ip[0] & 0xf) * 4;
    assert_eq!(checksum::internet_checksum(&ip[..header_len]), 0, "a valid IPv4 header");
    let total_len = usize::from(u16::from_be_bytes([ip[2], ip[3]]));
    let address = |at: usize| Ipv4Addr::from(<[u8; 4]>::try_from(&ip[at..at + 4]).unwrap());
    Some(Captured {
        pseudo_header: PseudoHeader::v4(address(12), address(16)),
        bytes: Bytes::copy_from_slice(&ip[header_len..total_len]),
    })
}

/// Counts by type number.
type Counts = BTreeMap<u8, usize>;

fn count(numbers: impl Iterator<Item = u8>) -> Counts {
    let mut counts = Counts::new();
    numbers.for_each(|number| *counts.entry(number).or_default() += 1);
    counts
}

/// Checks all packets of a capture, their number by type, and the number of options by type except Padding;
/// returns the packets.
#[track_caller]
fn check<const T: usize, const O: usize>(
    name: &str,
    types: [(u8, usize); T],
    options: [(u8, usize); O],
) -> Vec<Packet> {
    let check_one = |(index, captured): (usize, Captured)| {
        let Captured { pseudo_header, bytes } = captured;
        assert!(checksum::verify(&bytes, &pseudo_header), "{name}: checksum of packet {index}");
        let packet = Packet::decode(&bytes).unwrap_or_else(|error| panic!("{name}: packet {index}: {error}"));
        assert_eq!(packet, Packet::decode_slice(&bytes).unwrap());
        let mut again = Vec::new();
        packet.encode_with_checksum(&pseudo_header, &mut again).unwrap();
        assert_eq!(again, bytes, "{name}: packet {index}");
        assert_eq!(packet.encoded_len(), bytes.len());
        for option in &packet.options {
            let known = !matches!(option, DccpOption::Unknown { .. } | DccpOption::Malformed(_));
            assert!(known, "{name}: packet {index}: {option:?}");
            assert!(option.counts_on(packet.packet_type()), "{name}: packet {index}: {option:?}");
        }
        packet
    };
    let packets: Vec<Packet> = read(name).into_iter().enumerate().map(check_one).collect();
    assert_eq!(count(packets.iter().map(|packet| packet.packet_type() as u8)), Counts::from(types));
    let kinds = packets.iter().flat_map(|packet| &packet.options).map(DccpOption::kind);
    assert_eq!(count(kinds.filter(|kind| *kind != 0)), Counts::from(options));
    packets
}

// The expected counts come from a separate decoder of a few lines.

#[test]
fn ccid2_without_loss() {
    let packets = check(
        "ccid2-loss0.pcap",
        [(0, 1), (1, 1), (3, 103), (4, 198), (6, 1), (7, 1)],
        [(1, 8), (32, 202), (33, 5), (34, 3), (35, 100), (38, 299), (41, 2), (42, 2)],
    );
    let data: usize = packets.iter().map(|packet| packet.payload.len()).sum();
    assert_eq!(data, 198_000);
}

#[test]
fn ccid2_with_loss() {
    let packets = check(
        "ccid2-loss3.pcap",
        [(0, 1), (1, 1), (3, 475), (4, 477), (6, 1), (7, 1)],
        [(1, 8), (32, 174), (33, 5), (34, 3), (35, 182), (38, 950), (41, 2), (42, 2)],
    );
    let runs = packets
        .iter()
        .flat_map(|packet| packet.ack().into_iter().flat_map(|ack| ack_vector::runs(ack, &packet.options)));
    assert!(runs.filter(|run| !run.state.is_received()).count() > 0);
}

#[test]
fn ccid2_closed_by_the_server() {
    let packets = check(
        "ccid2-closereq.pcap",
        [(0, 1), (1, 1), (3, 38), (4, 40), (5, 1), (6, 1), (7, 1)],
        [(1, 8), (32, 35), (33, 5), (34, 3), (35, 41), (38, 77), (41, 2), (42, 2)],
    );
    let Kind::Request { service_code } = packets[0].kind else { panic!("{:?}", packets[0]) };
    assert_eq!(service_code, ServiceCode(42));
    let Kind::Reset { reset, .. } = packets[packets.len() - 1].kind else { panic!("no Reset at the end") };
    assert_eq!(reset, Reset::new(ResetCode::Closed));
}

#[test]
fn ccid3_with_loss() {
    let packets = check(
        "ccid3-loss3.pcap",
        [(0, 1), (1, 1), (2, 482), (3, 40), (4, 2), (6, 1), (7, 1)],
        [(1, 10), (32, 13), (33, 10), (34, 7), (35, 22), (37, 40), (41, 2), (42, 2), (192, 39), (194, 39)],
    );
    let options = || packets.iter().flat_map(|packet| &packet.options);
    // All of them can be decoded, and the loss event rate changes from "no loss" to a finite interval.
    assert_eq!(options().filter_map(TfrcOption::parse).count(), 78);
    let rates: Vec<u32> = options()
        .filter_map(|option| match TfrcOption::parse(option) {
            Some(TfrcOption::LossEventRate(inverse)) => Some(inverse),
            _ => None,
        })
        .collect();
    assert_eq!(rates[0], NO_LOSS_EVENT);
    assert!((1..1000).contains(&rates[rates.len() - 1]));
}

#[test]
fn ccid3_both_ways() {
    check(
        "ccid3-both-ways.pcap",
        [(0, 1), (1, 1), (2, 118), (3, 17), (4, 2), (6, 1), (7, 1)],
        [(1, 10), (32, 13), (33, 10), (34, 7), (35, 22), (37, 17), (41, 2), (42, 2), (192, 16), (194, 16)],
    );
}

#[test]
fn a_linux_request_negotiates_its_features() {
    use FeatureAction::{ChangeL, ChangeR};
    let request = Packet::decode(&read("ccid2-loss0.pcap")[0].bytes).unwrap();
    let feature = |action, feature: FeatureNumber, value| {
        DccpOption::Feature(FeatureOption::preferences(action, feature, &[value]))
    };
    let expected = [
        DccpOption::Padding,
        DccpOption::Padding,
        DccpOption::Timestamp(104_966),
        feature(ChangeL, FeatureNumber::Ccid, 2),
        feature(ChangeR, FeatureNumber::Ccid, 2),
        DccpOption::Mandatory,
        feature(ChangeL, FeatureNumber::AllowShortSequenceNumbers, 0),
        DccpOption::Mandatory,
        feature(ChangeL, FeatureNumber::EcnIncapable, 1),
        DccpOption::Mandatory,
        feature(ChangeR, FeatureNumber::SendAckVector, 1),
        DccpOption::Mandatory,
        feature(ChangeL, FeatureNumber::SendAckVector, 1),
    ];
    assert_eq!(request.options[..], expected);
}
