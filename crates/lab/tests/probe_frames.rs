//! Probe frames of rt-Winf on the air: their times, their cost, and the estimate from them.

use std::ops::ControlFlow;

use pcap_file::pcapng::{Block, PcapNgReader};
use whimbrel_lab::{Record, Run};
use whimbrel_netsim::medium::{AirFrame, WifiMedium};
use whimbrel_wifi::FrameKind;
use whimbrel_wifi::frame::bytes::{Header, has_valid_check_sequence};
use whimbrel_wifi::frame::radiotap::Radiotap;

use crate::simulation;
use simulation::{document, rows_with, simulate};

/// `n1` sends a datagram of 500 bytes to `n0` each 200 ms.
const CELL: &str = r#"
[variables]
interval = "20 kbit/s"
[simulation]
duration = "5 s"
[[wifi]]
name = "air"
standard = "802.11b"
rate = "11 Mbit/s"
controller = { law = "xcp-winf" }
probes = { size = "1000 B" }
[[node]]
name = "n{i}"
count = 2
wifi = "air"
layout = { kind = "grid", columns = 2, spacing = "20 m" }
[[flow]]
name = "f"
from = "n1"
to = "n0"
transport = "udp"
packet_size = "500 B"
traffic = { kind = "cbr", rate = "$interval" }
"#;

/// A run with its first 1000 frames, its capture and its record.
fn observed(changes: &[(&str, &str)]) -> (Vec<AirFrame>, Vec<u8>, Record) {
    let plan = document(CELL, changes).plan().unwrap_or_else(|error| panic!("{error}"));
    let mut run = Run::new(&plan, 1);
    let medium = run.stations()[0][0].medium();
    run.simulator_mut().with_medium(medium, |wifi: &mut WifiMedium, _| wifi.monitor(1_000));
    run.capture(|name| name == "air");
    run.execute(|_| ControlFlow::Continue(()));
    let frames = run.simulator().medium::<WifiMedium>(medium).expect("a medium").frames().to_vec();
    let capture = run.take_capture();
    (frames, capture, run.into_record())
}

fn of(record: &Record, table: &str, column: &str) -> f64 {
    let table = record.table(table).expect("a table");
    let row = rows_with(table, &[("station", "n1")]).next().expect("a station");
    table.number(column, row).expect("a number")
}

#[test]
fn each_packet_after_a_quiet_time_follows_a_probe_that_is_acknowledged() {
    let (frames, capture, record) = observed(&[]);
    let kinds: Vec<FrameKind> = frames.iter().map(|frame| frame.kind).collect();
    let exchange = [FrameKind::Probe, FrameKind::Ack, FrameKind::Data, FrameKind::Ack];
    assert!(kinds.len() >= 4 * 24, "{} frames", kinds.len());
    assert!(kinds.chunks_exact(4).all(|frames| frames == exchange), "{kinds:?}");
    // Payload, header and check sequence; LLC and SNAP belong to packets.
    assert_eq!((frames[0].size, frames[2].size), (1_028, 536));

    let probes = kinds.iter().filter(|kind| **kind == FrameKind::Probe).count();
    let without = simulate(&CELL.replace("probes = { size = \"1000 B\" }\n", ""), &[]);
    let time = 5.0 * (of(&record, "stations", "air_time") - of(&without, "stations", "air_time"));
    let expected = probes as f64 * (192e-6 + 1_028.0 * 8.0 / 11e6);
    assert!((time - expected).abs() < 1e-5, "{time} s of {probes} probes, expected {expected}");

    let mut captured = 0;
    let mut reader = PcapNgReader::new(capture.as_slice()).unwrap();
    while let Some(block) = reader.next_block() {
        let Block::EnhancedPacket(block) = block.unwrap() else { continue };
        let (_, frame) = Radiotap::parse(&block.data).unwrap();
        assert!(has_valid_check_sequence(frame));
        let (header, body) = Header::parse(&frame[..frame.len() - 4]).unwrap();
        if let Header::Data(header) = header
            && header.subtype == 0b1001
        {
            // Since 802.11e the subtype is one of QoS data: the first two zeros are the QoS Control field.
            assert!(body.len() == 998 && body.iter().all(|byte| *byte == 0), "{} bytes", body.len());
            captured += 1;
        }
    }
    assert_eq!(captured, probes);
}

#[test]
fn under_traffic_the_first_packet_alone_follows_a_probe() {
    let (frames, _, _) = observed(&[("variables.interval", "100 kbit/s")]);
    let probes = frames.iter().filter(|frame| frame.kind == FrameKind::Probe);
    assert_eq!(probes.map(|frame| frame.sender.0).collect::<Vec<_>>(), [1]);
    assert_eq!(frames[0].kind, FrameKind::Probe);
}

/// Equation 1 with the times on the air: SIFS and the acknowledgement at 2 Mbit/s after the frame.
fn exchange(size: f64) -> f64 {
    size * 8.0 / (192e-6 + (size + 28.0) * 8.0 / 11e6 + 10e-6 + 192e-6 + 14.0 * 8.0 / 2e6)
}

#[test]
fn a_probe_estimates_the_capacity_before_the_data_and_the_data_after_it() {
    // A single packet at the beginning.
    let once = [("variables.interval", "0.4 kbit/s")];
    let (frames, _, record) = observed(&once);
    assert_eq!(frames.len(), 4);
    // The packet with LLC and SNAP: its exchange is the latest.
    let capacity = of(&record, "capacity", "winf_sender_capacity_bps");
    assert!((capacity / exchange(508.0) - 1.0).abs() < 0.003, "{capacity} {}", exchange(508.0));
    // A probe whose data is as long as itself estimates as these do.
    let text = CELL.replace("1000 B", "508 B");
    let record = simulate(&text, &once);
    let same = of(&record, "capacity", "winf_sender_capacity_bps");
    assert!((same / capacity - 1.0).abs() < 1e-9, "{same}");
}
