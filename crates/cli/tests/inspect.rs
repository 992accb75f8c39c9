//! `whimbrel inspect`, the built program on captures of Linux and of the simulator.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use tempfile::TempDir;

use crate::processes;
use processes::{finish, stderr, stdout, whimbrel};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn capture(name: &str) -> String {
    root().join("crates/wire/tests/data").join(name).to_str().expect("a plain path").to_owned()
}

fn inspect(arguments: &[&str]) -> Output {
    finish(whimbrel(&[&["inspect"], arguments].concat()).spawn().expect("it starts"))
}

#[track_caller]
fn succeed(arguments: &[&str]) -> String {
    let output = inspect(arguments);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    stdout(&output)
}

fn json(arguments: &[&str]) -> Value {
    serde_json::from_str(&succeed(&[arguments, &["--json"]].concat())).expect("JSON")
}

#[test]
fn a_capture_of_linux_is_explained() {
    let text = succeed(&[&capture("ccid3-loss3.pcap"), "--interval", "0.5"]);
    let expected = "\
Connection 1: client 10.44.0.2:42260, server 10.44.0.1:5001, DCCP over IP
  time        from 0.000 s on, 1.409 s long; first packet 1
  handshake   1 Request, 1 Response; completed; service code SC=42; round trip 20.67 ms (10.28 ms between here and the server, 10.39 ms between here and the client)
  end         the client sent Close, the server answered with Reset (Closed) (packet 527)

  client > server: CCID 3
    sent      484 datagrams with 484000 bytes, 2.813 Mbit/s; 487 packets in all
    missing   12 holes in the sequence numbers here; 0 late, 0 repeated
    reported  loss event rate 1.852 % at the end, 1.887 % at most; last Receive Rate 2.600 Mbit/s; packets lost unknown (no Ack Vectors)
";
    assert!(text.contains(expected), "{text}");
    let ccid = "    features  CCID = 3: client Change L 3 (packet 1), server Confirm R 3 3 (packet 2)\n";
    assert!(text.contains(ccid), "{text}");
    let table: Vec<&str> = text.lines().skip_while(|line| !line.contains("send rate")).take(4).collect();
    assert_eq!(table.len(), 4);
    let columns: Vec<&str> = table[3].split_whitespace().collect();
    // Time, send rate, goodput, datagrams, lost, holes, p, rtt, CE, syncs; some of them with units.
    assert_eq!(columns[..4], ["1.00", "s", "2.738", "Mbit/s"], "{table:?}");
    assert_eq!(columns[6..11], ["140", "-", "3", "1.852", "%"], "{table:?}");
}

#[test]
fn packets_are_listed_one_per_line() {
    let text = succeed(&[&capture("ccid2-closereq.pcap"), "--packets"]);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[..83].iter().all(|line| line.contains(" seq ")), "83 packets");
    assert!(lines[83].starts_with(&capture("ccid2-closereq.pcap")));
    let fourth = "     4    0.024651   1 client > server DataAck  seq 214582864694887 ack 205731640929087 len 1000 \
                  <Confirm R(Allow Short Sequence Numbers 0 0), Confirm R(ECN Incapable 1 1), \
                  Confirm R(Send Ack Vector 1 1), Confirm L(Send Ack Vector 1 1)>";
    assert_eq!(lines[3], fourth);
    assert!(lines[6].ends_with("<Ack Vector 2+>"), "{}", lines[6]);
    assert!(lines[82].contains(" Closed: closed normally <"), "{}", lines[82]);
}

#[test]
fn json_has_the_documented_shape() {
    let report = json(&[&capture("ccid2-loss3.pcap")]);
    assert_eq!(report["version"], 3);
    assert_eq!((&report["capture"]["frames"], &report["capture"]["error"]), (&956.into(), &Value::Null));
    let connection = &report["connections"][0];
    assert_eq!(connection["client"]["address"], "10.44.0.2");
    assert_eq!((&connection["in_udp"], &connection["roles"]), (&false.into(), &"seen".into()));
    assert_eq!(connection["end"]["kind"], "closed");
    let half = &connection["halves"][0];
    assert_eq!((&half["sender"], &half["ccid"]), (&"client".into(), &2.into()));
    assert_eq!((&half["seen"]["holes"], &half["reported"]["lost"]), (&18.into(), &18.into()));
    assert_eq!(half["intervals"][0]["start_s"], 0.0);
    assert!(are_documented(&report) > 60);
}

#[test]
fn repair_is_explained() {
    let directory = TempDir::new().expect("a place for files");
    let file = directory.path().join("repaired.pcapng");
    let file = file.to_str().expect("a plain path");
    let scenario = root().join("examples/scenarios/repaired.toml");
    let scenario = scenario.to_str().expect("a plain path");
    let short = ["--set", "simulation.duration=8 s"];
    let run = whimbrel(&[&["run", "--quiet", scenario, "--pcap", file][..], &short].concat());
    let run = finish({ run }.spawn().expect("it starts"));
    assert!(run.status.success(), "{run:?}");
    let report = json(&[file]);
    let connections = report["connections"].as_array().expect("two flows").iter();
    let repaired: Vec<&Value> =
        connections.map(|each| &each["halves"][0]["repair"]).filter(|repair| !repair.is_null()).collect();
    let [repair] = repaired[..] else { panic!("one flow is repaired: {repaired:?}") };
    let count = |name: &str| repair[name].as_u64().expect("a number");
    // 3 % of the packets are lost on the link, and almost all are repaired.
    assert!(count("lost") * 50 > count("sources") && count("lost") < count("sources"), "{repair}");
    let found = count("by_repeats") + count("by_code") + count("given_up") + count("pending");
    assert_eq!((found, count("unread")), (count("lost"), 0), "{repair}");
    assert!(count("by_repeats") > count("lost") / 2 && count("repeats") >= count("by_repeats"), "{repair}");
    assert!(are_documented(&report) > 60);
    let text = succeed(&[file]);
    assert!(text.contains(&format!(
        "    repair    of {} datagrams: {} lost,",
        count("sources"),
        count("lost")
    )));
}

/// Checks that every field is in the document, as a whole word in code; returns their number.
#[track_caller]
fn are_documented(value: &Value) -> usize {
    let guide = fs::read_to_string(root().join("docs/inspect.md")).expect("the guide");
    let mut names = Vec::new();
    field_names(value, &mut names);
    let missing: Vec<&String> = names.iter().filter(|name| !guide.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "not in docs/inspect.md: {missing:?}");
    names.len()
}

#[test]
fn packets_as_json_are_one_object_per_line_before_the_report() {
    let file = capture("ccid2-closereq.pcap");
    let text = succeed(&[&file, "--packets", "--json"]);
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let (report, packets) = lines.split_last().expect("lines");
    assert_eq!(report, &json(&[&file]));
    assert_eq!(packets.len(), 83);
    assert!(packets.iter().all(|packet| packet["record"] == "packet"));
    for packet in packets {
        are_documented(packet);
    }
    let fourth = &packets[3];
    assert_eq!((&fourth["packet"], &fourth["time_s"]), (&4.into(), &0.024_651.into()));
    assert_eq!((&fourth["type"], &fourth["sender"]), (&"DataAck".into(), &"client".into()));
    assert_eq!(
        (&fourth["sequence"], &fourth["acknowledgement"]),
        (&214_582_864_694_887u64.into(), &205_731_640_929_087u64.into())
    );
    assert_eq!(
        (&fourth["bytes"], &fourth["covered_bytes"], &fourth["ccval"]),
        (&1000.into(), &1000.into(), &0.into())
    );
    assert_eq!(fourth["options"][0]["text"], "Confirm R(Allow Short Sequence Numbers 0 0)");
    assert_eq!(packets[82]["reset"]["reason"], "closed normally");
    // Nothing for a connection that was not selected; place and reason for bytes that are no DCCP packet.
    let chosen = inspect(&[&file, "--packets", "--json", "--connection", "2"]);
    assert_eq!((stdout(&chosen), chosen.status.code()), (String::new(), Some(1)));
    let directory = TempDir::new().expect("a place for files");
    let mut bytes = fs::read(&file).expect("a file");
    // The Data Offset of the first packet: behind the headers of file, record, Ethernet and IP.
    bytes[24 + 16 + 14 + 20 + 4] = 1;
    let broken = directory.path().join("broken.pcap");
    fs::write(&broken, bytes).expect("room");
    let text = succeed(&[broken.to_str().expect("a plain path"), "--packets", "--json"]);
    let first: Value = serde_json::from_str(text.lines().next().expect("a line")).expect("JSON");
    assert_eq!(
        (&first["record"], &first["packet"], &first["layer"]),
        (&"malformed".into(), &1.into(), &"DCCP".into())
    );
    are_documented(&first);
}

/// CCID 3 counts windows in CCVal (RFC 4342, Section 8.1).
#[test]
fn packets_show_ccval_and_checksum_coverage() {
    let text = succeed(&[&capture("ccid3-loss3.pcap"), "--packets"]);
    assert!(text.lines().filter(|line| line.contains(" ccval ")).count() > 300, "{text}");
    let file = capture("ccid3-loss3.pcap");
    let text = succeed(&[&file, "--packets", "--json"]);
    let values: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let counters: std::collections::BTreeSet<u64> =
        values.iter().filter_map(|value| value["ccval"].as_u64()).collect();
    assert_eq!(counters.into_iter().collect::<Vec<_>>(), (0..16).collect::<Vec<_>>());
}

#[test]
fn a_capture_compressed_with_gzip_is_explained_as_the_plain_one() {
    let directory = TempDir::new().expect("a place for files");
    let packed = directory.path().join("capture.pcap.gz");
    let plain = capture("ccid2-loss3.pcap");
    let mut encoder = GzEncoder::new(fs::File::create(&packed).expect("room"), Compression::fast());
    encoder.write_all(&fs::read(&plain).expect("a file")).and_then(|()| encoder.finish()).expect("room");
    assert_eq!(json(&[packed.to_str().expect("a plain path")]), json(&[&plain]));
}

/// The names of all fields, except in tables whose keys are data.
fn field_names(value: &Value, names: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                names.push(name.clone());
                let is_counts =
                    ["types", "ecn", "checksum_coverage", "options", "unknown_links", "protocols"]
                        .contains(&name.as_str());
                match value {
                    Value::Object(interfaces) if name == "interfaces" => {
                        interfaces.values().for_each(|value| field_names(value, names));
                    }
                    value if !is_counts => field_names(value, names),
                    _ => {}
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| field_names(value, names)),
        _ => {}
    }
}

#[test]
fn a_capture_of_the_simulator_is_reported_as_simulated() {
    let directory = TempDir::new().expect("a place for files");
    let file = directory.path().join("wb.pcapng");
    let file = file.to_str().expect("a plain path");
    let scenario = root().join("examples/scenarios/wb.toml");
    let scenario = scenario.to_str().expect("a plain path");
    let run = ["run", "--quiet", "--json", scenario, "--seed", "3", "--pcap", file];
    let record = finish(whimbrel(&run).spawn().expect("it starts"));
    let record: Value = serde_json::from_str(&stdout(&record)).expect("JSON");
    // Of all links that the packets pass, the last one counts.
    let everywhere = json(&[file]);
    let half = &everywhere["connections"][0]["halves"][0];
    assert!(half["packets_elsewhere"].as_u64() > Some(1000), "{half}");
    // Behind the radio, the holes are the losses of the radio.
    let report = json(&[file, "--interface", "r1>r2", "--interface", "r2>r1"]);
    assert_eq!(report["capture"]["malformed"], 0);
    assert_eq!(report["connections"].as_array().map(Vec::len), Some(1), "the other flows are UDP");
    let connection = &report["connections"][0];
    assert_eq!(connection["anomalies"], Value::Array(vec![]));
    assert_eq!(connection["handshake"]["completed"], true);
    let half = &connection["halves"][0];
    assert_eq!((&half["ccid"], &half["packets_elsewhere"]), (&3.into(), &0.into()));
    // The record counts from the end of the warm-up on, so a little less than the whole capture.
    let flows = &record["tables"]["flows"];
    let row = flows["flow"].as_array().and_then(|names| names.iter().position(|name| name == "video0"));
    let of_flow = |column: &str| flows[column][row.expect("the flow")].as_f64().expect("a number");
    let (holes, lost) = (half["seen"]["holes"].as_f64().expect("a number"), of_flow("lost_wireless"));
    assert!(lost > 500.0 && holes >= lost && holes < 1.1 * lost, "{holes} holes, {lost} lost");
    let (passed, received) =
        (half["seen"]["datagrams"].as_f64().expect("a number"), of_flow("received_packets"));
    assert!(passed >= received && passed < 1.1 * received, "{passed} passed, {received} received");
    let rate = half["reported"]["loss_event_rate_max"].as_f64().expect("a number");
    assert!(rate > of_flow("loss_event_rate_mean"), "{rate}");
}

/// Four streams over a radio that is away from 2 to 3 s, captured on all links.
const MIX: &str = r#"
[simulation]
duration = "6 s"
[[node]]
name = "cam"
[[node]]
name = "r"
[[node]]
name = "view"
[[link]]
name = "radio"
between = ["r", "view"]
rate = "2 Mbit/s"
delay = "20 ms"
queue = "30 packets"
[[link]]
between = ["cam", "r"]
rate = "100 Mbit/s"
delay = "1 ms"
[[flow]]
name = "video"
from = "cam"
to = "view"
transport = "dccp"
ccid = 3
traffic = { kind = "cbr", rate = "400 kbit/s" }
[[flow]]
name = "rtp"
from = "cam"
to = "view"
transport = "media"
media = { controller = "gcc" }
[[flow]]
name = "download"
from = "cam"
to = "view"
transport = "tcp"
[[flow]]
name = "voip"
from = "cam"
to = "view"
transport = "udp"
packet_size = "200 B"
traffic = { kind = "cbr", rate = "64 kbit/s" }
[[event]]
time = "2 s"
link = "radio"
up = false
[[event]]
time = "3 s"
link = "radio"
up = true
"#;

#[test]
fn every_stream_is_explained_with_its_gap() {
    let directory = TempDir::new().expect("a place for files");
    let place = |name: &str| directory.path().join(name).to_str().expect("a plain path").to_owned();
    let (scenario, file) = (place("mix.toml"), place("mix.pcapng"));
    fs::write(&scenario, MIX).expect("room");
    let run = ["run", "--quiet", "--json", &scenario, "--pcap", &file];
    let record = finish(whimbrel(&run).spawn().expect("it starts"));
    let record: Value = serde_json::from_str(&stdout(&record)).expect("JSON");
    let report = json(&[&file]);
    are_documented(&report);
    let flows = report["flows"].as_array().expect("flows");
    let to_view: Vec<&Value> = flows
        .iter()
        .filter(|flow| flow["destination"] == "10.0.0.3:9" && flow["datagrams"].as_u64() > Some(10))
        .collect();
    let kind = |flow: &Value| match (flow["rtp"].is_null(), flow["tcp"].is_null()) {
        (false, true) => "rtp",
        (true, false) => "download",
        _ => "voip",
    };
    // The simulator's deliveries and losses are those in the capture at the last of its links.
    let table = &record["tables"]["flows"];
    let of_flow = |name: &str, column: &str| {
        let names = table["flow"].as_array().expect("names");
        table[column][names.iter().position(|one| one == name).expect("the flow")].as_u64().expect("a number")
    };
    let mut kinds: Vec<&str> = to_view.iter().map(|flow| kind(flow)).collect();
    for flow in &to_view {
        let gap = flow["gaps"]
            .as_array()
            .and_then(|gaps| gaps.iter().find(|gap| gap["from_s"].as_f64() > Some(1.5)));
        let gap = gap.unwrap_or_else(|| panic!("{flow}"));
        let [from, to] = ["from_s", "to_s"].map(|end| gap[end].as_f64().expect("a time"));
        assert!((1.8..2.1).contains(&from) && to > 3.0, "{gap}");
        assert!(flow["packets_elsewhere"].as_u64() >= flow["packets"].as_u64(), "{flow}");
        let missing = flow["rtp"]["missing"].as_u64();
        match kind(flow) {
            "rtp" => assert_eq!(
                missing,
                Some(of_flow("rtp", "lost_queue") + of_flow("rtp", "lost_down")),
                "{flow}"
            ),
            "voip" => {
                assert_eq!(flow["packets"].as_u64(), Some(of_flow("voip", "received_packets")), "{flow}")
            }
            _ => assert_eq!(missing, None),
        }
    }
    kinds.sort_unstable();
    assert_eq!(kinds, ["download", "rtp", "voip"]);
    let video = &report["connections"][0]["halves"][0];
    assert!(video["gaps"][0]["missing"].as_u64() > Some(5), "{video}");
    // As text, in 80 columns.
    let mut command = whimbrel(&["inspect", &file]);
    let text = stdout(&finish(command.env("COLUMNS", "80").spawn().expect("it starts")));
    assert_eq!(
        text.matches("no data from 2.0").count() + text.matches("no data from 1.9").count(),
        5,
        "{text}"
    );
    let too_wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(too_wide.iter().all(|line| line.contains(&file)), "{too_wide:#?}");
}

#[test]
fn one_connection_can_be_chosen() {
    let file = capture("ccid2-loss0.pcap");
    assert_eq!(json(&[&file, "--connection", "1"])["connections"].as_array().map(Vec::len), Some(1));
    let output = inspect(&[&file, "--connection", "2"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stderr(&output), "whimbrel: --connection 2: the capture has 1\n");
}

#[test]
fn standard_input_is_read() {
    let mut child = whimbrel(&["inspect", "-", "--json"]).stdin(Stdio::piped()).spawn().expect("it starts");
    let bytes = fs::read(capture("ccid2-loss0.pcap")).expect("a file");
    child.stdin.take().expect("piped").write_all(&bytes).expect("it reads");
    let report: Value = serde_json::from_str(&stdout(&finish(child))).expect("JSON");
    assert_eq!(report["capture"]["dccp_packets"], 305);
}

#[test]
fn a_truncated_file_is_explained_as_far_as_it_goes_and_is_a_failure() {
    let directory = TempDir::new().expect("a place for files");
    let file = directory.path().join("cut.pcap");
    let bytes = fs::read(capture("ccid2-loss0.pcap")).expect("a file");
    fs::write(&file, &bytes[..100_000]).expect("room");
    let file = file.to_str().expect("a plain path");
    let output = inspect(&[file]);
    assert_eq!(output.status.code(), Some(1));
    let text = stdout(&output);
    assert!(text.contains("the capture ended; the connection was active"), "{text}");
    let message = stderr(&output);
    let start = format!("whimbrel: {file}: byte ");
    assert!(message.starts_with(&start) && message.lines().count() == 1, "{message}");
    assert!(message.contains("the file ends inside a pcap record: expected "), "{message}");
}

#[test]
fn files_other_than_captures_are_named() {
    let directory = TempDir::new().expect("a place for files");
    let complaint = |name: &str, bytes: &[u8]| {
        let file = directory.path().join(name);
        fs::write(&file, bytes).expect("room");
        let output = inspect(&[file.to_str().expect("a plain path")]);
        assert_eq!((output.status.code(), stdout(&output)), (Some(1), String::new()));
        stderr(&output)
    };
    let message = complaint("notes.txt", b"only text, no packets");
    assert!(message.contains("notes.txt: byte 0: starts with"), "{message}");
    assert!(message.contains("expected a pcap or pcapng file"), "{message}");
    assert!(complaint("empty", b"").contains("expected 4 bytes, 0 are there"));
    let output = inspect(&["no-such-file.pcap"]);
    assert!(stderr(&output).starts_with("whimbrel: no-such-file.pcap: No such file"), "{output:?}");
}

#[test]
fn an_sdp_file_names_the_flows_of_fecframe() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("call.sdp");
    let sdp = "v=0\nc=IN IP4 10.44.0.1\nm=video 30000 RTP/AVP 96\na=fec-source-flow: id=0\nm=application 30002 UDP/FEC\n\
               a=fec-repair-flow: encoding-id=10; ss-fssi=E:1400,WSR:191\n";
    fs::write(&file, sdp).expect("a file");
    let (capture, path) = (capture("ccid3-loss3.pcap"), file.to_str().expect("a plain path"));
    let text = succeed(&[&capture, "--fec", path]);
    let expected = "\
FECFRAME 10.44.0.1:30000, repaired by 10.44.0.1:30002: RLC over GF(2^8), symbols of 1400 bytes
  sent      0 packets of the source with 0 bytes, 0 repair packets with 0 bytes
  lost      0 of 0 symbols (0.000 %); 0 of these are restored
";
    assert!(text.contains(expected), "{text}");
    assert_eq!(json(&[&capture, "--fec", path])["fecframe"][0]["symbol_size"], 1400);
    assert_eq!(json(&[&capture])["fecframe"], Value::Array(Vec::new()));

    fs::write(&file, sdp.replace("encoding-id=10", "encoding-id=6")).expect("a file");
    let output = inspect(&[&capture, "--fec", path]);
    assert!(!output.status.success());
    let message = format!("{path}: line 6: a=fec-repair-flow: encoding-id 6: expected 10 or 9");
    assert!(stderr(&output).contains(&message), "{}", stderr(&output));
}
