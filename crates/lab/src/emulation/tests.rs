use std::collections::VecDeque;
use std::net::{IpAddr, Ipv6Addr};

use whimbrel_units::{ByteCount, DataRate, Duration, Ecn, Instant};
use whimbrel_wire::checksum::internet_checksum;

use super::ip::{IpPacket, set_ecn};
use super::*;
use crate::record::Record;
use crate::runner::{Emulation, Refusal, emulated_plan};
use crate::{Document, Plan, run};

/// A UDP datagram over IPv4 with `data` bytes.
fn v4(source: [u8; 4], destination: [u8; 4], data: usize, tos: u8) -> Vec<u8> {
    let length = (28 + data) as u16;
    let mut bytes = vec![0x45, tos, 0, 0, 0, 7, 0, 0, 64, 17, 0, 0];
    bytes[2..4].copy_from_slice(&length.to_be_bytes());
    bytes.extend(source);
    bytes.extend(destination);
    let checksum = internet_checksum(&bytes);
    bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
    bytes.extend([0x12, 0x34, 0, 9]);
    bytes.extend(((8 + data) as u16).to_be_bytes());
    bytes.resize(28 + data, 0);
    bytes
}

/// A TCP segment with `data` bytes over IPv6, behind a hop-by-hop header.
fn v6(destination: Ipv6Addr, data: usize) -> Vec<u8> {
    let mut bytes = vec![0x60, 0, 0, 0];
    bytes.extend(((8 + 20 + data) as u16).to_be_bytes());
    bytes.extend([0, 64]);
    bytes.extend(Ipv6Addr::LOCALHOST.octets());
    bytes.extend(destination.octets());
    bytes.extend([6, 0, 1, 4, 0, 0, 0, 0]);
    bytes.extend([0, 80, 0, 99, 0, 0, 0, 0, 0, 0, 0, 0, 5 << 4, 0x10, 0, 0, 0, 0, 0, 0]);
    bytes.resize(40 + 8 + 20 + data, 0);
    bytes
}

#[test]
fn packets_of_both_families_are_read() {
    let packet = IpPacket::parse(&v4([10, 0, 0, 1], [10, 0, 0, 2], 100, 0xb9)).expect("a packet");
    assert_eq!(packet.source, IpAddr::from([10, 0, 0, 1]));
    assert_eq!(packet.destination, IpAddr::from([10, 0, 0, 2]));
    assert_eq!((packet.ecn, packet.data), (Ecn::Ect1, 100));
    let to = AddressPlan::new(3).v6(4);
    let packet = IpPacket::parse(&v6(to, 33)).expect("a packet");
    assert_eq!((packet.destination, packet.data), (IpAddr::from(to), 33));
    assert_eq!(packet.flow >> 30, 1);
}

#[test]
fn ports_distinguish_flows_and_fragments_have_none() {
    let one = v4([10, 0, 0, 1], [10, 0, 0, 2], 10, 0);
    let mut other = one.clone();
    other[21] ^= 1;
    let flow = |bytes: &[u8]| IpPacket::parse(bytes).expect("a packet").flow;
    assert_ne!(flow(&one), flow(&other));
    for bytes in [&one, &other].map(|bytes| {
        let mut fragment = bytes.clone();
        fragment[7] = 1;
        fragment
    }) {
        assert_ne!(flow(&bytes), flow(&one));
        let mut same = one.clone();
        same[7] = 1;
        assert_eq!(flow(&bytes), flow(&same));
    }
}

#[test]
fn bytes_that_are_no_packet_are_refused_at_every_length() {
    for packet in [v4([10, 0, 0, 1], [10, 0, 0, 2], 4, 0), v6(Ipv6Addr::LOCALHOST, 4)] {
        for length in 0..packet.len() {
            assert_eq!(IpPacket::parse(&packet[..length]), None, "{length} of {}", packet.len());
            set_ecn(&mut packet[..length].to_vec(), Ecn::Ce);
        }
    }
    assert_eq!(IpPacket::parse(&[0x50; 60]), None);
}

#[test]
fn a_mark_changes_the_field_and_keeps_dscp_and_checksum() {
    for tos in 0..=255 {
        for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
            let mut bytes = v4([192, 0, 2, 1], [10, 0, 0, 2], 3, tos);
            set_ecn(&mut bytes, ecn);
            assert_eq!((bytes[1] & 0xfc, Ecn::from_bits(bytes[1])), (tos & 0xfc, ecn));
            assert_eq!(internet_checksum(&bytes[..20]), 0, "{tos:#x} {ecn:?}");
        }
    }
    let mut bytes = v6(Ipv6Addr::LOCALHOST, 0);
    (bytes[0], bytes[1]) = (0x6b, 0xc5);
    set_ecn(&mut bytes, Ecn::Ce);
    assert_eq!((bytes[0], bytes[1]), (0x6b, 0xf5));
}

#[test]
fn addresses_name_nodes_and_nothing_else() {
    let plan = AddressPlan::new(0);
    assert_eq!(plan.v4(0).to_string(), "10.0.0.1");
    assert_eq!(plan.v4(299).to_string(), "10.0.1.44");
    for node in [0, 1, 254, 255, 256, AddressPlan::MOST - 1] {
        assert_eq!(plan.node(plan.v4(node).into()), Some(node));
        assert_eq!(plan.node(plan.v6(node).into()), Some(node));
    }
    for outside in ["10.0.0.0", "10.0.255.255", "10.1.0.1", "9.255.255.255", "224.0.0.1", "ff02::1", "::1"] {
        assert_eq!(plan.node(outside.parse().expect("an address")), None, "{outside}");
    }
}

const LOSSY: &str = r#"
    [simulation]
    duration = "20 s"
    warm_up = "2 s"
    [[node]]
    name = "a"
    [[node]]
    name = "r"
    [[node]]
    name = "b"
    [[link]]
    name = "radio"
    between = ["a", "r"]
    rate = "880 kbit/s"
    delay = "10 ms"
    queue = "5 packets"
    discipline = { kind = "red", min_threshold = 2, max_threshold = 4 }
    loss = { model = "gilbert-elliott", good_to_bad = "2 %", bad_to_good = "40 %" }
    [[link]]
    between = ["r", "b"]
    rate = "800 kbit/s"
    delay = "5 ms"
    netem = { delay = "5 ms", jitter = "2 ms" }
    queue = "4 packets"
    [[flow]]
    name = "voice"
    from = "a"
    to = "b"
    transport = "udp"
    packet_size = "500 B"
    traffic = { kind = "cbr", rate = "920 kbit/s" }
    [record]
    losses = true
    interval = "1 s"
"#;

fn plan(text: &str) -> Plan {
    Document::from_toml(text).and_then(|document| document.plan()).expect("a plan")
}

/// Sends a datagram of `size` bytes every `interval` from the first end to the second.
fn emulate(scenario: &Plan, interval: Duration, size: usize) -> (Record, VecDeque<Arrival>, usize) {
    let ends = [0, scenario.nodes.len() - 1];
    let plan = emulated_plan(scenario, &ends, &[]);
    let addresses = AddressPlan::new(0);
    let mut emulation = Emulation::new(&plan, &ends, addresses, 7);
    let bytes = v4(addresses.v4(ends[0]).octets(), addresses.v4(ends[1]).octets(), size - 28, 2);
    let (mut arrived, mut spent) = (VecDeque::new(), Vec::new());
    let mut at = Instant::ZERO;
    while at < scenario.end {
        emulation.advance(at, |_| {});
        let mut packet = Box::new(EmulatedPacket::default());
        packet.fill(&bytes);
        emulation.send(0, packet).expect("it is for the other end");
        at += interval;
    }
    emulation.advance(scenario.end, |_| {});
    emulation.receive(&mut arrived, &mut spent);
    (emulation.finish(scenario), arrived, spent.len())
}

#[test]
fn packets_sent_at_the_same_times_fare_as_in_the_simulation() {
    let plan = plan(LOSSY);
    let simulated = run(&plan, 7);
    let interval = ByteCount::new(500) / DataRate::from_bits_per_second(920e3);
    let (emulated, arrived, spent) = emulate(&plan, interval, 500);
    let (ours, theirs) = (emulated.table("flows").unwrap(), simulated.table("flows").unwrap());
    for column in [
        "sent_packets",
        "received_packets",
        "lost_queue",
        "lost_wireless",
        "delay_mean_s",
        "delay_p95_s",
        "goodput_bps",
        "throughput_bps",
        "jitter_s",
        "carried_over_packets",
        "under_way_packets",
        "delivered_bytes",
    ] {
        assert_eq!(ours.number(column, 0), theirs.number(column, 0), "{column}");
    }
    assert!(theirs.number("lost_queue", 0) > Some(20.0) && theirs.number("lost_wireless", 0) > Some(20.0));
    assert_eq!(emulated.table("links"), simulated.table("links"));
    let (ours, theirs) = (emulated.table("losses").unwrap(), simulated.table("losses").unwrap());
    for column in ["time_s", "cause", "link"] {
        assert_eq!(ours.column(column), theirs.column(column), "{column}");
    }
    let rows = |record: &Record| record.table("intervals").unwrap().rows();
    assert_eq!(rows(&emulated), rows(&simulated), "the opposite direction carried nothing");
    // Each sent packet has arrived, was lost, or is under way.
    let pending = emulated.table("flows").unwrap().number("under_way_packets", 0).unwrap() as usize;
    let sent = (plan.end - Instant::ZERO).as_nanos().div_ceil(interval.as_nanos()) as usize;
    assert_eq!(arrived.len() + spent + pending, sent);
}

#[test]
fn marks_are_written_into_packets() {
    let text = LOSSY.replace("max_threshold = 4 }", "max_threshold = 4, ecn = true }");
    let (record, arrived, _) = emulate(&plan(&text), Duration::from_millis(4), 500);
    let marked =
        arrived.iter().filter(|arrival| IpPacket::parse(arrival.packet.ip()).unwrap().ecn == Ecn::Ce);
    let marked_in_record = record.table("flows").unwrap().number("marked_packets", 0).unwrap();
    let marked = marked.count() as f64;
    assert!(marked_in_record > 50.0 && marked >= marked_in_record, "{marked} {marked_in_record}");
    assert!(arrived.iter().all(|arrival| internet_checksum(&arrival.packet.ip()[..20]) == 0));
}

#[test]
fn packets_for_no_end_are_refused_and_returned() {
    let scenario = plan(LOSSY);
    let plan = emulated_plan(&scenario, &[0, 2], &[]);
    let addresses = AddressPlan::new(1);
    let mut emulation = Emulation::new(&plan, &[0, 2], addresses, 1);
    let mut refused = |destination: [u8; 4]| {
        let mut packet = Box::new(EmulatedPacket::default());
        packet.fill(&v4([10, 1, 0, 1], destination, 5, 0));
        emulation.send(0, packet).map_err(|(refusal, packet)| (refusal, packet.ip().len()))
    };
    assert_eq!(refused([10, 1, 0, 2]), Err((Refusal::NoEnd, 33)), "the router");
    assert_eq!(refused([10, 1, 0, 1]), Err((Refusal::NoEnd, 33)), "itself");
    assert_eq!(refused([10, 1, 0, 4]), Err((Refusal::NoNode, 33)));
    assert_eq!(refused([10, 0, 0, 3]), Err((Refusal::NoNode, 33)));
    assert_eq!(refused([10, 1, 0, 3]), Ok(()));
}

#[test]
fn an_emulation_shorter_than_the_warm_up_counts_from_its_start() {
    let scenario = plan(LOSSY);
    let plan = emulated_plan(&scenario, &[0, 2], &[]);
    let mut emulation = Emulation::new(&plan, &[0, 2], AddressPlan::new(0), 1);
    emulation.advance(Instant::from_millis(1_500), |_| {});
    let record = emulation.finish(&scenario);
    let flows = record.table("flows").unwrap();
    assert_eq!((flows.rows(), flows.number("measured_s", 0)), (1, Some(1.5)));
    assert_eq!(flows.text("flow", 0), Some("voice"));
    let notes = record.table("notes").unwrap();
    assert_eq!(notes.text("subject", notes.rows() - 1), Some("simulation.warm_up"));
}

#[test]
fn simulated_flows_compete_with_emulated_ones() {
    let text = LOSSY
        .replace("queue = \"5 packets\"", "queue = \"5 packets\"\nreverse = { loss = { model = \"none\" } }")
        + r#"
        [[flow]]
        name = "download"
        from = "a"
        to = "b"
        transport = "dccp"
        background = true
        [[event]]
        time = "10 s"
        flow = "download"
        do = "freeze"
    "#;
    let text = text.replace("transport = \"dccp\"", "transport = \"dccp\"\ndccp = { freeze = {} }\nccid = 3");
    let scenario = plan(&text.replace("920 kbit/s", "400 kbit/s"));
    let simulated = run(&scenario, 7);
    let plan = emulated_plan(&scenario, &[0, 2], &[1]);
    assert_eq!(plan.flow_events.iter().map(|event| event.flow).collect::<Vec<_>>(), [2]);
    let mut emulation = Emulation::new(&plan, &[0, 2], AddressPlan::new(0), 7);
    let bytes = v4([10, 0, 0, 1], [10, 0, 0, 3], 472, 0);
    let interval = ByteCount::new(500) / DataRate::from_bits_per_second(400e3);
    let mut at = Instant::ZERO;
    while at < scenario.end {
        emulation.advance(at, |_| {});
        let mut packet = Box::new(EmulatedPacket::default());
        packet.fill(&bytes);
        emulation.send(0, packet).expect("it is for the other end");
        at += interval;
    }
    emulation.advance(scenario.end, |_| {});
    let emulated = emulation.finish(&scenario);
    let (ours, theirs) = (emulated.table("flows").unwrap(), simulated.table("flows").unwrap());
    let row = |name: &str| (0..ours.rows()).find(|&row| ours.text("flow", row) == Some(name)).expect("a row");
    assert_eq!(
        (ours.text("scheme", row("voice")), ours.text("scheme", row("download"))),
        (Some("emulated"), Some("ccid3"))
    );
    for (position, name) in ["voice", "download"].into_iter().enumerate() {
        for column in ["goodput_bps", "delay_mean_s", "sent_packets"] {
            let (a, b) = (ours.number(column, row(name)).unwrap(), theirs.number(column, position).unwrap());
            assert!((a / b - 1.0).abs() < 0.1, "{name} {column}: {a} {b}");
        }
    }
    assert!(theirs.number("goodput_bps", 1) > Some(50e3), "{theirs:?}");
}
