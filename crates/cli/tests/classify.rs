//! `whimbrel classify`, the built program on captures: written packet by packet, and by the simulator.

use std::collections::BTreeMap;
use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Output;

use bytes::Bytes;
use serde_json::Value;
use tempfile::TempDir;
use whimbrel_wire::checksum::PseudoHeader;
use whimbrel_wire::udp_encapsulation::{self, UdpPorts};
use whimbrel_wire::{ChecksumCoverage, DccpOption, Kind, Options, Packet, Payload, SeqNo, ServiceCode};

use crate::processes;
use processes::{finish, stderr, stdout, whimbrel};

const CLIENT: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const SERVER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 2);
/// The Request's number: the data goes over the wrap.
const FIRST: u64 = SeqNo::MODULUS - 3;
/// The sender's clock at the first packet: it wraps 50 ms later.
const CLOCK: u32 = u32::MAX - 4999;

/// (number, sent in ms, trip time in ms): a packet every 10 ms, the queue empty until 0.3 s, then filling up.
/// Packet 21 is missing among short trip times, packets 41 and 42 among long ones.
fn arrivals() -> Vec<(u64, u64, u64)> {
    let trip = |number: u64| if number <= 30 { 20 + number % 3 } else { 20 + 4 * (number - 30) };
    let arrives = |number: &u64| ![21, 41, 42].contains(number);
    (1..60).filter(arrives).map(|number| (number, 10 * number, trip(number))).collect()
}

fn packet(number: u64, kind: Kind, options: Options, port: u16) -> Packet {
    let length = if kind == Kind::Data { 500 } else { 0 };
    Packet {
        source_port: port,
        destination_port: 5004,
        ccval: 0,
        checksum_coverage: ChecksumCoverage::ALL,
        extended: true,
        sequence: SeqNo::new(FIRST + number),
        kind,
        options,
        payload: Payload::from(Bytes::from(vec![7; length])),
    }
}

/// An IPv4 packet around it: as protocol 33, or in UDP.
fn ip(packet: &Packet, in_udp: bool) -> Vec<u8> {
    let (mut payload, pseudo_header) = (Vec::new(), PseudoHeader::v4(CLIENT, SERVER));
    if in_udp {
        let ports = UdpPorts { source: 6511, destination: 6511 };
        udp_encapsulation::encapsulate(packet, ports, &pseudo_header, &mut payload).unwrap();
    } else {
        packet.encode_with_checksum(&pseudo_header, &mut payload).unwrap();
    }
    let mut bytes = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, if in_udp { 17 } else { 33 }, 0, 0];
    bytes[2..4].copy_from_slice(&(20 + payload.len() as u16).to_be_bytes());
    bytes.extend(CLIENT.octets());
    bytes.extend(SERVER.octets());
    bytes.extend(payload);
    bytes
}

/// A pcap file with nanoseconds and raw IP: a connection of `arrivals` from each of these ports, with or
/// without send times.
fn capture(directory: &TempDir, connections: &[(u16, bool)], in_udp: bool) -> String {
    let mut file = 0xa1b2_3c4du32.to_le_bytes().to_vec();
    file.extend([2, 0, 4, 0]);
    file.extend([0; 8]);
    file.extend(65_535u32.to_le_bytes());
    file.extend(101u32.to_le_bytes());
    let mut record = |ms: u64, bytes: &[u8]| {
        file.extend(1_700_000_000u32.to_le_bytes());
        file.extend((ms as u32 * 1_000_000).to_le_bytes());
        file.extend([bytes.len() as u32; 2].map(u32::to_le_bytes).concat());
        file.extend(bytes);
    };
    for &(port, _) in connections {
        let request = packet(0, Kind::Request { service_code: ServiceCode(42) }, Options::new(), port);
        record(20, &ip(&request, in_udp));
    }
    for (number, sent, trip) in arrivals() {
        for &(port, timed) in connections {
            let timestamp = DccpOption::Timestamp(CLOCK.wrapping_add(100 * sent as u32));
            let options: Options = timed.then_some(timestamp).into_iter().collect();
            record(sent + trip, &ip(&packet(number, Kind::Data, options, port), in_udp));
        }
    }
    let path = directory.path().join(format!("{}-{in_udp}.pcap", connections.len()));
    fs::write(&path, file).unwrap();
    path.to_str().unwrap().to_owned()
}

fn classify(arguments: &[&str]) -> Output {
    finish(whimbrel(&[&["classify"], arguments].concat()).spawn().expect("it starts"))
}

#[track_caller]
fn json(arguments: &[&str]) -> Value {
    let output = classify(&[arguments, &["--json"]].concat());
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    serde_json::from_str(&stdout(&output)).expect("JSON")
}

#[track_caller]
fn complaint(arguments: &[&str]) -> String {
    let output = classify(arguments);
    assert!(!output.status.success() && output.stdout.is_empty(), "{output:?}");
    stderr(&output).trim_end().to_owned()
}

/// (first, count, cause, evidence) of each loss; numbers count from `zero`, modulo 2^48.
fn losses(value: &Value, zero: u64) -> Vec<(u64, u64, String, Value)> {
    let row = |loss: &Value| {
        let first = SeqNo::new(loss["first"].as_u64().unwrap().wrapping_sub(zero)).value();
        let cause = loss["cause"].as_str().unwrap().to_owned();
        (first, loss["count"].as_u64().unwrap(), cause, loss["evidence"].clone())
    };
    value["losses"].as_array().expect("losses").iter().map(row).collect()
}

#[test]
fn a_capture_and_a_list_of_the_same_arrivals_get_the_same_verdicts() {
    let directory = TempDir::new().unwrap();
    let captures = [false, true].map(|in_udp| capture(&directory, &[(40_000, true)], in_udp));
    let list = directory.path().join("arrivals.csv");
    let mut lines = "sequence,sent,received,size\n".to_owned();
    // Without the Request, which carries no data and no send time.
    for (number, sent, trip) in arrivals() {
        let (left, arrived) = (sent as f64 / 1e3 - 7.0, (sent + trip) as f64 / 1e3);
        lines += &format!("{number},{left:.3},{arrived:.3},500\n");
    }
    fs::write(&list, lines).unwrap();
    for scheme in ["biaz", "mbiaz", "spike", "zigzag", "zbs", "zbs2", "zbs3", "inherent", "standing"] {
        let expected = losses(&json(&[list.to_str().unwrap(), "--scheme", scheme]), 0);
        assert_eq!(expected.iter().map(|loss| (loss.0, loss.1)).collect::<Vec<_>>(), [(21, 1), (41, 2)]);
        for file in &captures {
            let output = json(&[file, "--scheme", scheme]);
            let [direction] = &output["directions"].as_array().unwrap()[..] else { panic!("{output}") };
            assert_eq!(losses(direction, FIRST), expected, "{scheme} {file}");
            assert_eq!((&direction["sender"], &direction["arrived"]), (&"client".into(), &57.into()));
        }
    }
}

/// Spike: the trip time of packet 22 is 21 ms of 20 to 22, and in no spike after 20; the trip time of packet
/// 43 is the longest.
#[test]
fn the_verdicts_are_printed_as_text() {
    let directory = TempDir::new().unwrap();
    let file = capture(&directory, &[(40_000, true)], false);
    let text = stdout(&classify(&[&file, "--scheme", "spike"]));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[0],
        "connection 1: client 192.0.2.1:40000 > 198.51.100.2:5004, 57 packets, 56 with data"
    );
    // Packet 21 has the number FIRST + 21, which is 18 beyond the wrap. It is missed at 241 ms; the
    // capture begins at 20 ms.
    assert_eq!(lines[2].split_whitespace().collect::<Vec<_>>()[..3], ["18", "1", "0.221000"]);
    assert!(
        lines[3].contains("congestion  52.000 of 52.000 ms above the least trip time, in a spike"),
        "{text}"
    );
    assert_eq!(lines.len(), 5, "{text}");
}

#[test]
fn all_connections_or_a_selection_are_classified() {
    let directory = TempDir::new().unwrap();
    let file = capture(&directory, &[(40_000, true), (40_001, false)], false);
    // Without send times, only some schemes work.
    let output = json(&[&file, "--scheme", "mbiaz"]);
    assert_eq!(output["directions"].as_array().map(Vec::len), Some(2));
    let packets = &output["packets"];
    assert_eq!(packets["wireless"].as_u64().unwrap() + packets["congestion"].as_u64().unwrap(), 6);
    let output = json(&[&file, "--scheme", "zbs3"]);
    assert!(
        output["directions"][0]["error"].is_null() && output["directions"][1]["losses"].is_null(),
        "{output}"
    );
    let missing = "connection 2: client 192.0.2.1:40001 > 198.51.100.2:5004: --scheme zbs3 uses trip times: it needs the \
                   send times of data packets (DCCP's Timestamp option, or RTP timestamps of a known clock), and 0 of 56 \
                   have one; biaz and mbiaz do without";
    assert_eq!(output["directions"][1]["error"], missing);
    assert!(complaint(&[&file, "--connection", "2"]).ends_with(missing));
    let chosen = json(&[&file, "--connection", "1", "--sender", "client"]);
    assert_eq!(chosen["directions"][0]["connection"], 1);
    assert_eq!(chosen["directions"].as_array().map(Vec::len), Some(1));
}

#[test]
fn input_that_cannot_be_classified_is_named() {
    let directory = TempDir::new().unwrap();
    let file = capture(&directory, &[(40_000, true)], false);
    assert!(
        complaint(&[&file, "--sender", "server"]).ends_with("the selection by --connection and --sender")
    );
    assert!(complaint(&[&file, "--connection", "7"]).ends_with("the selection by --connection and --sender"));
    let list = directory.path().join("arrivals.csv");
    fs::write(&list, "sequence,sent,received\n").unwrap();
    let list = list.to_str().unwrap();
    assert!(complaint(&[list, "--connection", "1"]).contains("--connection: "), "a list has no connections");
    let cut = directory.path().join("cut.pcap");
    let bytes = fs::read(&file).unwrap();
    fs::write(&cut, &bytes[..bytes.len() - 1]).unwrap();
    let output = classify(&[cut.to_str().unwrap()]);
    assert!(!output.status.success() && stderr(&output).contains("the file ends inside"), "{output:?}");
    assert!(stdout(&output).contains("3 packets lost in 2 runs"), "the losses before that are classified");
}

/// 16 bits, as in RTP: the numbers wrap between packets 3 and 4, and packet 8 is missing.
#[test]
fn numbers_that_wrap_are_unwrapped_and_printed_as_they_are() {
    let directory = TempDir::new().unwrap();
    for bits in [16u32, 48] {
        let list = directory.path().join(format!("{bits}.csv"));
        let number = |place: u64| ((1 << bits) - 4 + place) % (1 << bits);
        let lines = (0..20u64).filter(|place| *place != 8);
        let lines: String =
            lines.map(|place| format!("{},{}\n", number(place), 0.01 * place as f64)).collect();
        fs::write(&list, format!("sequence,received\n{lines}")).unwrap();
        let list = list.to_str().unwrap();
        let width = bits.to_string();
        for how in [&[][..], &["--sequence-bits", &width]] {
            let output = json(&[&[list, "--scheme", "mbiaz"], how].concat());
            let losses = output["losses"].as_array().unwrap();
            assert_eq!(losses.len(), 1, "{output}");
            assert_eq!((&losses[0]["first"], &losses[0]["cause"]), (&number(8).into(), &"wireless".into()));
        }
        // Taken as they are, all after the wrap is older than what was lost.
        let output = json(&[list, "--scheme", "mbiaz", "--sequence-bits", "64"]);
        assert_eq!(output["losses"], Value::Array(Vec::new()));
    }
}

#[test]
fn a_full_disk_is_an_error_and_no_panic() {
    let directory = TempDir::new().unwrap();
    let file = capture(&directory, &[(40_000, true)], false);
    for how in [&[][..], &["--json"]] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = whimbrel(&[&["classify", &file], how].concat()).stdout(full).output().unwrap();
        let errors = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(errors.starts_with("whimbrel: writing to standard output: No space left"), "{errors}");
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Behind the simulator's radio, all losses except its queue's are the radio's.
#[test]
fn the_losses_of_a_simulated_radio_are_found() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("wb.pcapng");
    let file = file.to_str().unwrap();
    let scenario = root().join("examples/scenarios/wb.toml");
    let run = ["run", "--quiet", "--json", scenario.to_str().unwrap(), "--seed", "2", "--pcap", file];
    assert!(finish(whimbrel(&run).spawn().expect("it starts")).status.success());
    let behind_the_radio = ["--interface", "r1>r2", "--interface", "r2>r1"];
    let output = json(&[&[file, "--scheme", "mbiaz"], &behind_the_radio[..]].concat());
    let inspected = finish(
        whimbrel(&[&["inspect", file, "--json"], &behind_the_radio[..]].concat()).spawn().expect("it starts"),
    );
    let inspected: Value = serde_json::from_str(&stdout(&inspected)).expect("JSON");
    let lost: u64 =
        output["packets"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
    let holes = inspected["connections"][0]["halves"][0]["seen"]["holes"].as_u64().unwrap();
    // Holes among the last three packets are not classified yet.
    assert!(lost > 500 && holes - lost <= 3, "{lost} lost, {holes} holes");
}

/// The command and the receiver in the simulator have the same arrivals and give the same verdicts.
#[test]
fn a_capture_at_the_receiver_gets_the_receivers_own_verdicts() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("wb.pcapng");
    let file = file.to_str().unwrap();
    let scenario = root().join("examples/scenarios/wb.toml");
    let all = ["mbiaz", "spike", "zigzag", "zbs3", "inherent"].map(|scheme| (scheme, false));
    for (scheme, robust) in all.into_iter().chain(["mbiaz", "zbs3"].map(|scheme| (scheme, true))) {
        let classifier = format!("variables.classifier={scheme}");
        let robustness = format!("flow.video{{i}}.dccp.classification.robust={robust}");
        let sets = [
            classifier.as_str(),
            robustness.as_str(),
            "record.losses=true",
            "simulation.warm_up=0 s",
            "simulation.duration=80 s",
        ];
        let run = ["run", "--quiet", "--json", scenario.to_str().unwrap(), "--seed", "2", "--pcap", file];
        let run: Vec<&str> = run.into_iter().chain(sets.iter().flat_map(|set| ["--set", set])).collect();
        let record = finish(whimbrel(&run).spawn().expect("it starts"));
        let record: Value = serde_json::from_str(&stdout(&record)).expect("JSON");
        let losses = &record["tables"]["losses"];
        let rows = 0..losses["sequence"].as_array().expect("numbers").len();
        let own: BTreeMap<u64, &str> = rows
            .filter(|row| losses["flow"][row] == "video0")
            .map(|row| (losses["sequence"][row].as_u64().unwrap(), losses["verdict"][row].as_str().unwrap()))
            // The last losses are too recent for a verdict.
            .filter(|(_, verdict)| *verdict != "none")
            .collect();
        let exactly: &[&str] = if robust { &[] } else { &["--published"] };
        let arguments = [file, "--scheme", scheme, "--interface", "r2>d0", "--interface", "d0>r2"];
        let output = json(&[&arguments[..], exactly].concat());
        let runs = output["directions"][0]["losses"].as_array().expect("losses");
        let verdicts: BTreeMap<u64, &str> = runs
            .iter()
            .flat_map(|run| {
                let (first, count) = (run["first"].as_u64().unwrap(), run["count"].as_u64().unwrap());
                (first..first + count).map(|sequence| (sequence, run["cause"].as_str().unwrap()))
            })
            .collect();
        assert!(own.len() > 250 && own.values().any(|verdict| *verdict == "wireless"), "{scheme}: {own:?}");
        for (sequence, verdict) in &own {
            assert_eq!(verdicts.get(sequence), Some(verdict), "{scheme}: packet {sequence}");
        }
        // The record is of packets with data alone; of the others few are lost.
        assert!(verdicts.len() - own.len() <= 3, "{scheme}: {} and {}", verdicts.len(), own.len());
    }
}
