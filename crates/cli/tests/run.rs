//! `whimbrel run`, the built program on the scenarios of `examples/`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::processes;
use processes::{finish, signal, stderr, stdout, whimbrel};

fn scenarios() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/scenarios")
}

fn scenario(name: &str) -> String {
    scenarios().join(name).to_str().expect("a plain path").to_owned()
}

fn run(arguments: &[&str]) -> Output {
    finish(whimbrel(&[&["run", "--quiet"], arguments].concat()).spawn().expect("it starts"))
}

fn succeed(arguments: &[&str]) -> Output {
    let output = run(arguments);
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    output
}

/// The one line of error of a failing run.
fn complaint(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let message = stderr(output);
    assert!(message.starts_with("whimbrel: ") && message.lines().count() == 1, "{message}");
    message
}

/// The files below a directory, with their contents.
fn files(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(directory).expect("a directory").map(|entry| entry.expect("an entry"));
    entries
        .flat_map(|entry| {
            let name = entry.file_name().into_string().expect("a plain name");
            if entry.path().is_dir() {
                let below = files(&entry.path()).into_iter();
                return below.map(|(each, bytes)| (format!("{name}/{each}"), bytes)).collect::<Vec<_>>();
            }
            vec![(name, fs::read(entry.path()).expect("a file"))]
        })
        .collect()
}

fn path(directory: &TempDir, name: &str) -> String {
    directory.path().join(name).to_str().expect("a plain path").to_owned()
}

#[test]
fn a_seed_gives_the_same_bytes_each_time_and_another_seed_others() {
    let mut tried = 0;
    for entry in fs::read_dir(scenarios()).expect("the examples") {
        let file = entry.expect("an entry").path();
        if file.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        tried += 1;
        let file = file.to_str().expect("a plain path");
        let directory = TempDir::new().expect("a place for files");
        let simulate = |seed: &str, name: &str| {
            let out = path(&directory, name);
            let output = succeed(&[file, "--seed", seed, "--out", &out, "--json"]);
            (stdout(&output), files(out.as_ref()))
        };
        let (first, again) = (simulate("5", "first"), simulate("5", "again"));
        assert!(first == again, "{file}: the same seed gave different results");
        assert!(["flows.csv", "links.csv"].iter().all(|name| first.1.contains_key(*name)), "{file}");
        let parse = |json: &str| serde_json::from_str::<Value>(json).expect("JSON");
        let (record, other) = (parse(&first.0), parse(&simulate("6", "other").0));
        // Two flows over a queue that draws nothing.
        let draws = !file.ends_with("scream_beside_prague.toml");
        assert_eq!(record["tables"] != other["tables"], draws, "{file}: is the seed used?");
        assert_eq!((&record["seed"], &other["seed"]), (&Value::from(5), &Value::from(6)));
        let received = &record["tables"]["flows"]["received_packets"];
        assert!(received.as_array().is_some_and(|list| list[0].as_u64() > Some(100)), "{received}");
    }
    assert!(tried >= 5, "{tried} scenarios");
}

#[test]
fn the_scenario_beside_the_tables_gives_them_again_elsewhere() {
    let directory = TempDir::new().expect("a place for files");
    let (first, moved, again) =
        (path(&directory, "first"), path(&directory, "moved"), path(&directory, "again"));
    let scenario = path(&directory, "call.toml");
    let written = fs::read_to_string(scenarios().join("repaired.toml")).expect("an example")
        + "\n[variables]\nlatency = \"100 ms\"\n";
    let written = written.replacen("latency = \"150 ms\"", "latency = \"$latency\"", 1);
    // A title that is also a file's name.
    let title = format!("title = \"{}\"", path(&directory, "private"));
    let written = written.replacen("title = \"Repair within a latency budget\"", &title, 1);
    assert!(written.contains(&title));
    fs::write(path(&directory, "private"), "of the user").expect("room");
    fs::write(&scenario, written).expect("room");
    fs::copy(scenarios().join("clip.csv"), directory.path().join("clip.csv")).expect("room");
    // The other use of the variable is removed, and the file named twice.
    let set = ["--set", "flow.repaired.repair.latency=200 ms", "--set", "simulation.duration=8 s"];
    succeed(&[&[scenario.as_str(), "--seed", "7", "--out", &first], &set[..]].concat());
    fs::remove_file(directory.path().join("clip.csv")).expect("it is there");
    fs::rename(&first, &moved).expect("another name");
    succeed(&[&format!("{moved}/scenario/run.json"), "--out", &again]);
    let (moved, again) = (files(moved.as_ref()), files(again.as_ref()));
    let kept: Vec<_> = moved.keys().filter(|name| name.starts_with("scenario/")).collect();
    assert_eq!(kept, ["scenario/files/0-clip.csv", "scenario/run.json"]);
    for (name, bytes) in moved.iter().filter(|(name, _)| name.ends_with(".csv") && !name.contains('/')) {
        assert!(again[name] == *bytes, "{name} differs");
    }
}

#[test]
fn set_changes_a_value() {
    let throughput = |rate: &str| {
        let set = format!("link.backbone.rate={rate}");
        let output = succeed(&[&scenario("wb.toml"), "--json", "--set", &set]);
        let record: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
        let links = &record["tables"]["links"];
        let row = links["link"].as_array().and_then(|names| names.iter().position(|name| name == "backbone"));
        links["throughput_bps"][row.expect("the link")].as_f64().expect("a number")
    };
    let (narrow, wide) = (throughput("100 kbit/s"), throughput("800 kbit/s"));
    assert!(narrow < 100e3 && wide > 2.0 * narrow, "{narrow} {wide}");
}

#[test]
fn a_wrong_setting_is_named_with_file_key_value_and_what_was_expected() {
    let file = scenario("wb.toml");
    let cases: [(&str, &[&str]); 5] = [
        ("link.backbone.rate=fast", &["wb.toml", "rate = \"fast\"", "such as \"150 kbit/s\""]),
        ("link.backbone.ratee=3 Mbit/s", &["wb.toml", "ratee", "did you mean `rate`?"]),
        ("flow.nobody.ccid=2", &["wb.toml", "nobody", "video{i}"]),
        ("simulation.duration=-5 s", &["wb.toml", "duration", "-5 s"]),
        ("no value", &["--set no value", "expected KEY=VALUE"]),
    ];
    for (setting, expected) in cases {
        let message = complaint(&run(&[&file, "--set", setting]));
        for words in expected {
            assert!(message.contains(words), "{setting}: no {words:?} in {message}");
        }
    }
    assert!(complaint(&run(&["no-such-file.toml"])).contains("no-such-file.toml"));
}

/// The output of tshark for a capture; `None` if it is not installed and not required.
fn tshark(capture: &str, arguments: &[&str]) -> Option<String> {
    let checks = ["dccp.check_checksum:TRUE", "ip.check_checksum:TRUE", "tcp.check_checksum:TRUE"];
    let mut command = Command::new("tshark");
    command.args(["-r", capture]).args(checks.iter().flat_map(|check| ["-o", check])).args(arguments);
    match command.stderr(Stdio::null()).output() {
        Ok(output) => {
            assert!(output.status.success(), "{output:?}");
            Some(stdout(&output))
        }
        Err(error) => {
            let required = std::env::var("REQUIRE_ALL").is_ok_and(|value| value == "1");
            assert!(!required, "tshark: {error}. Install it with: sudo apt-get install tshark");
            println!("skipped: tshark: {error}. Install it with: sudo apt-get install tshark");
            None
        }
    }
}

#[test]
fn a_capture_is_recognised_as_dccp_by_tshark() {
    let directory = TempDir::new().expect("a place for files");
    let capture = path(&directory, "video.pcapng");
    succeed(&[&scenario("video_wb.toml"), "--pcap", &capture]);
    let count = |filter: &str| tshark(&capture, &["-Y", filter]).map(|text| text.lines().count());
    let Some(packets) = count("dccp") else { return };
    assert!(packets > 5_000, "{packets}");
    assert_eq!(count("dccp.checksum.status == \"Good\""), Some(packets));
    assert_eq!(count("ip.checksum.status == \"Bad\" || tcp.checksum.status == \"Bad\""), Some(0));
    assert_eq!(count("_ws.malformed"), Some(0));
    assert_eq!(count("dccp && _ws.expert"), Some(0));
    // A connection from its Request to its Reset.
    let types = tshark(&capture, &["-Y", "dccp", "-T", "fields", "-e", "dccp.type"]).expect("installed");
    let types: Vec<&str> = types.lines().collect();
    assert_eq!(types.first(), Some(&"0"));
    for (name, number) in [("Response", "1"), ("Data", "2"), ("Ack", "3"), ("DataAck", "4")] {
        assert!(types.contains(&number), "no {name}");
    }
    assert!(count("tcp").expect("installed") > 1_000);
}

#[test]
fn a_capture_of_one_link_holds_only_that_link_and_unknown_links_are_refused() {
    let directory = TempDir::new().expect("a place for files");
    let (all, one) = (path(&directory, "all.pcapng"), path(&directory, "one.pcapng"));
    succeed(&[&scenario("wb.toml"), "--pcap", &all]);
    succeed(&[&scenario("wb.toml"), "--pcap", &one, "--pcap-link", "backbone"]);
    let size = |path: &str| fs::metadata(path).expect("a file").len();
    assert!(size(&one) > 100_000 && 2 * size(&one) < size(&all), "{} {}", size(&one), size(&all));
    let message = complaint(&run(&[&scenario("wb.toml"), "--pcap", &one, "--pcap-link", "nowhere"]));
    assert!(message.contains("no such link") && message.contains("backbone"), "{message}");
}

#[test]
fn a_failed_write_is_reported_and_leaves_no_files() {
    let file = scenario("video_wb.toml");
    let directory = TempDir::new().expect("a place for files");
    let missing = path(&directory, "missing/x.pcapng");
    assert!(complaint(&run(&[&file, "--pcap", &missing])).contains(&missing));
    let plain = path(&directory, "plain");
    fs::write(&plain, "a file").expect("room");
    assert!(complaint(&run(&[&file, "--out", &plain])).contains(&plain));
    // Files may have 16 blocks of 512 bytes here: as if the disk were full.
    let limited = |option: &str, target: &str| {
        let script = "trap '' XFSZ; ulimit -f 16; exec \"$@\"";
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_whimbrel"), "run", "--quiet", &file]);
        finish(
            command.args([option, target]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("sh"),
        )
    };
    let capture = path(&directory, "capture.pcapng");
    assert!(complaint(&limited("--pcap", &capture)).contains(&format!("--pcap {capture}: ")));
    let tables = path(&directory, "tables");
    assert!(complaint(&limited("--out", &tables)).contains(&tables));
    let left = files(tables.as_ref());
    assert!(left.keys().all(|name| !name.starts_with('.')), "{:?}", left.keys());
    assert!(left.values().all(|content| content.ends_with(b"\n")));
    fs::remove_dir_all(&tables).expect("it is there");
    assert_eq!(files(directory.path()).into_keys().collect::<Vec<_>>(), ["plain"]);
}

#[test]
fn an_unwritable_directory_is_reported_before_the_run() {
    let directory = TempDir::new().expect("a place for files");
    let plain = path(&directory, "plain");
    fs::write(&plain, "a file").expect("room");
    // This run would take hours.
    let long = ["--set", "simulation.duration=10000000 s"];
    for target in [plain.clone(), format!("{plain}/below")] {
        let message =
            complaint(&run(&[&[scenario("wlh.toml").as_str(), "--out", &target], &long[..]].concat()));
        assert!(message.contains(&target) && message.contains("--out"), "{message}");
    }
    assert_eq!(fs::read(&plain).expect("still there"), b"a file");
}

#[cfg(target_os = "linux")]
#[test]
fn a_directory_of_tables_has_one_writer() {
    let directory = TempDir::new().expect("a place for files");
    let (file, out) = (scenario("wlh.toml"), path(&directory, "out"));
    let long = ["run", &file, "--set", "simulation.duration=10000000 s", "--out", &out];
    let mut first = whimbrel(&long).spawn().expect("it starts");
    while !Path::new(&out).exists() {
        thread::sleep(Duration::from_millis(20));
    }
    thread::sleep(Duration::from_millis(200));
    let short = ["--set", "simulation.duration=30 s", "--out", &out];
    let message = complaint(&run(&[&[file.as_str()], &short[..]].concat()));
    assert!(message.contains("another whimbrel writes there"), "{message}");
    // The lock ends with its holder, for any reason.
    first.kill().expect("it runs");
    first.wait().expect("it ended");
    succeed(&[&[file.as_str()], &short[..]].concat());
    assert!(files(out.as_ref()).contains_key("flows.csv"));
}

#[test]
fn the_headline_counts_deliveries_and_the_outcomes_of_other_packets() {
    let directory = TempDir::new().expect("a place for files");
    let file = path(&directory, "call.toml");
    let text = r#"
        [simulation]
        duration = "10 s"
        [[node]]
        name = "a"
        [[node]]
        name = "b"
        [[link]]
        between = ["a", "b"]
        rate = "10 Mbit/s"
        loss = { model = "mask", packets = [100, 101], length = 200 }
        netem = { delay = "20 ms", jitter = "15 ms", gap = 3 }
        [[flow]]
        name = "call"
        from = "a"
        to = "b"
        transport = "dccp"
        packet_size = "500 B"
        traffic = { kind = "cbr", rate = "800 kbit/s" }
        dccp = { reorder_delay = "10 ms" }
    "#;
    fs::write(&file, text).expect("room");
    let output = stdout(&succeed(&[&file]));
    let json: Value = serde_json::from_str(&stdout(&succeed(&[&file, "--json"]))).expect("JSON");
    let number = |column: &str| json["tables"]["flows"][column][0].as_u64().expect("a count");
    let (sent, delivered, late) =
        (number("sent_packets"), number("delivered_packets"), number("late_packets"));
    assert!(late > sent / 10, "{late} of {sent}");
    let headline = output.lines().find(|line| line.starts_with("call ")).expect("a line of the flow");
    let words: Vec<&str> = headline.split_whitespace().collect();
    assert!(
        words.contains(&sent.to_string().as_str()) && words.contains(&delivered.to_string().as_str()),
        "{headline}"
    );
    let reasons = output.lines().find(|line| line.contains("call: ")).expect("a line of reasons");
    for part in [
        format!("{} of {sent} packets", sent - delivered),
        format!("{late} late at the reordering buffer"),
        "2 lost on the medium".to_owned(),
    ] {
        assert!(reasons.contains(&part), "no {part:?} in {reasons}");
    }
    assert!(output.contains("link[0].netem.gap: has no effect"), "{output}");
    assert!(output.contains("nothing is lost any more"), "{output}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_device_is_an_error_and_stays_a_device() {
    let file = scenario("wb.toml");
    assert!(complaint(&run(&[&file, "--pcap", "/dev/full"])).contains("No space left"));
    let full = fs::File::options().write(true).open("/dev/full").expect("Linux");
    let output = finish(whimbrel(&["run", "--quiet", &file]).stdout(full).spawn().expect("it starts"));
    assert!(complaint(&output).contains("No space left"));
    assert!(!fs::metadata("/dev/full").expect("Linux").is_file());
}

#[test]
fn ctrl_c_ends_a_run_and_removes_what_is_unfinished() {
    let directory = TempDir::new().expect("a place for files");
    let capture = path(&directory, "long.pcapng");
    let file = scenario("wlh.toml");
    let long = ["run", &file, "--set", "simulation.duration=10000000 s", "--pcap", &capture];
    let child = whimbrel(&long).spawn().expect("it starts");
    thread::sleep(Duration::from_millis(500));
    signal(&child, Signal::INT);
    let output = finish(child);
    assert_eq!((output.status.code(), stdout(&output)), (Some(130), String::new()), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("interrupted at") && said.contains("of 10000000.0 s simulated"), "{said}");
    assert!(said.contains("nothing was written"), "{said}");
    assert!(files(directory.path()).is_empty());
}

#[test]
fn a_reader_that_leaves_is_no_failure() {
    let mut child =
        whimbrel(&["run", "--quiet", "--json", &scenario("video_wb.toml")]).spawn().expect("it starts");
    drop(child.stdout.take());
    let output = finish(child);
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
}

#[test]
fn output_is_no_wider_than_the_terminal() {
    let file = scenario("mesh.toml");
    let arguments =
        ["run", "--quiet", &file, "--set", "simulation.duration=2 s", "--set", "simulation.warm_up=0 s"];
    let printed = |columns: &str| {
        let output = finish(whimbrel(&arguments).env("COLUMNS", columns).spawn().expect("it starts"));
        assert!(output.status.success(), "{output:?}");
        stdout(&output)
    };
    let whole = printed("1000");
    let narrow = printed("70");
    assert!(whole.lines().any(|line| line.len() > 70), "{whole}");
    assert!(narrow.lines().all(|line| line.chars().count() <= 70), "{narrow}");
    let mut cells: Vec<&str> = whole.split_whitespace().collect();
    let mut found: Vec<&str> = narrow.split_whitespace().collect();
    cells.sort_unstable();
    found.sort_unstable();
    assert_eq!(found, cells);
}

#[test]
fn parquet_files_stand_beside_the_tables() {
    let directory = TempDir::new().expect("a place for files");
    let out = path(&directory, "out");
    let file = scenario("wb.toml");
    let short =
        ["run", "--quiet", &file, "--set", "simulation.duration=21 s", "--set", "simulation.warm_up=0 s"];
    let refused = finish(whimbrel(&[&short[..], &["--parquet"]].concat()).spawn().expect("it starts"));
    assert_eq!(refused.status.code(), Some(2), "it needs --out");
    succeed(&[&short[2..], &["--parquet", "--out", &out]].concat());
    let made = files(out.as_ref());
    let parquet = &made["flows.parquet"];
    assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));
    assert_eq!(made.keys().filter(|name| name.ends_with(".parquet")).count(), made.len() / 2);
}

#[test]
fn a_message_has_a_bounded_length() {
    let message = complaint(&run(&[&"x".repeat(50_000)]));
    assert!(message.len() < 3_000, "{} bytes", message.len());
}
