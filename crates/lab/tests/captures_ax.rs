//! Capture files of 802.11ax, of dozing clients and of vehicles.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::process::Command;

use pcap_file::pcapng::{Block, PcapNgReader};
use whimbrel_lab::{Document, Run};
use whimbrel_wifi::MacAddress;
use whimbrel_wifi::frame::bytes::{Flags, Header, has_valid_check_sequence};
use whimbrel_wifi::frame::radiotap::Radiotap;

/// A download to a phone that saves power, which has a call after 3 s.
const HOME: &str = r#"
[simulation]
duration = "4 s"
[[wifi]]
name = "air"
standard = "802.11ax"
[[node]]
name = "router"
wifi = "air"
position = [0, 0]
access_point = { ssid = "home" }
[[node]]
name = "phone"
wifi = "air"
position = [5, 0]
client = { ssid = "home", power_save = {} }
[[flow]]
name = "download"
from = "router"
to = "phone"
transport = "udp"
payload = "1200 B"
traffic = { kind = "cbr", rate = "20 kbit/s" }
start = "1 s"
[[flow]]
name = "call"
from = "phone"
to = "router"
transport = "udp"
payload = "160 B"
dscp = "EF"
traffic = { kind = "cbr", rate = "64 kbit/s" }
start = "3 s"
"#;

/// Cars that send messages to all.
const CARS: &str = r#"
[simulation]
duration = "1 s"
[[wifi]]
name = "air"
standard = "802.11p"
[[node]]
name = "car{i}"
count = 2
wifi = "air"
layout = { kind = "grid", spacing = "20 m" }
[[flow]]
name = "messages"
from = "car0"
to = "car1"
transport = "udp"
broadcast = true
dscp = "CS6"
payload = "300 B"
traffic = { kind = "cbr", rate = "24 kbit/s" }
"#;

fn capture(text: &str) -> Vec<u8> {
    let plan = Document::from_toml(text).unwrap().plan().unwrap();
    let mut run = Run::new(&plan, 1);
    run.capture(|_| true);
    run.execute(|_| ControlFlow::Continue(()));
    run.take_capture()
}

/// Counts by transmitter, the direction and power management flags, and the DSCP; of null frames, without it.
type Directions = BTreeMap<(String, u8, Option<u8>), u64>;

fn directions(file: &[u8]) -> Directions {
    let mut counts = Directions::new();
    let mut reader = PcapNgReader::new(file).unwrap();
    while let Some(block) = reader.next_block() {
        let Block::EnhancedPacket(block) = block.unwrap() else { continue };
        let (_, frame) = Radiotap::parse(&block.data).unwrap();
        assert!(has_valid_check_sequence(frame));
        let (header, body) = Header::parse(&frame[..frame.len() - 4]).unwrap();
        let Header::Data(header) = header else { continue };
        let dscp = body.get(9).map(|service| service >> 2);
        let flags = header.flags.0 & 0x13;
        *counts.entry((header.transmitter.to_string(), flags, dscp)).or_default() += 1;
    }
    counts
}

/// The same by tshark; `None` without it.
fn by_tshark(file: &[u8]) -> Option<Directions> {
    let path = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(path.path(), file).unwrap();
    let mut command = Command::new("tshark");
    command.arg("-r").arg(path.path()).args(["-Y", "wlan.fc.type == 2", "-T", "fields"]);
    for field in ["wlan.ta", "wlan.fc.ds", "wlan.fc.pwrmgt", "ip.dsfield.dscp", "_ws.malformed"] {
        command.args(["-e", field]);
    }
    let output = command.output().ok()?;
    let mut counts = Directions::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [transmitter, direction, is_dozing, dscp, malformed] = fields[..] else { panic!("{line}") };
        assert_eq!(malformed, "");
        let direction = u8::from_str_radix(direction.trim_start_matches("0x"), 16).unwrap();
        let is_dozing = matches!(is_dozing, "1" | "True");
        let key = (transmitter.to_owned(), direction | u8::from(is_dozing) << 4, dscp.parse().ok());
        *counts.entry(key).or_default() += 1;
    }
    Some(counts)
}

/// Data frames have the direction and the flow's DSCP, and null frames show when the client dozes.
#[test]
fn captured_frames_have_their_direction_and_their_dscp() {
    let file = capture(HOME);
    let counts = directions(&file);
    let [router, phone] = [0, 1].map(|number| MacAddress::station(number).to_string());
    let of = |transmitter: &str, flags: u8, dscp| {
        counts.get(&(transmitter.to_owned(), flags, dscp)).copied().unwrap_or(0)
    };
    let (to_ds, from_ds, doze) = (Flags::TO_DS.0, Flags::FROM_DS.0, Flags::POWER_MANAGEMENT.0);
    // Packets of 1228 bytes, 2 s to the call and 1 s with it, and of 188 bytes.
    assert!((5..=7).contains(&of(&router, from_ds, Some(0))), "{counts:?}");
    assert!((40..=44).contains(&of(&phone, to_ds, Some(46))), "{counts:?}");
    // The client dozes after each packet, until the call begins, and asks for the next one.
    let (sleeps, wakes) = (of(&phone, to_ds | doze, None), of(&phone, to_ds, None));
    assert!((4..=6).contains(&sleeps) && (3..=5).contains(&wakes), "{counts:?}");
    assert_eq!(counts.len(), 4, "{counts:?}");
    if let Some(others) = by_tshark(&file) {
        assert_eq!(others, counts);
    }
}

#[test]
fn cars_have_no_distribution_system() {
    let file = capture(CARS);
    let counts = directions(&file);
    let key = (MacAddress::station(0).to_string(), 0, Some(48));
    assert_eq!(counts.keys().collect::<Vec<_>>(), [&key]);
    assert!((9..=11).contains(&counts[&key]), "{counts:?}");
    if let Some(others) = by_tshark(&file) {
        assert_eq!(others, counts);
    }
}
