//! `whimbrel perf`, the built program at both ends of the loopback interface.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use whimbrel_net::Clock;

use crate::processes;
use crate::spans;
use processes::{Server, finish, number, signal, stderr, stdout, whimbrel};
use spans::check_span;

#[test]
fn dccp_is_measured_in_each_direction_with_each_ccid() {
    let server = Server::start(&[]);
    thread::scope(|scope| {
        for ccid in ["2", "3", "cubic"] {
            for (option, directions) in
                [(&[][..], &["up"][..]), (&["--reverse"], &["down"]), (&["--bidir"], &["up", "down"])]
            {
                let server = &server;
                scope.spawn(move || {
                    let mut options =
                        vec!["--ccid", ccid, "--rate", "4M", "--time", "1", "--interval", "0.5"];
                    options.extend(option);
                    let record = server.measure(&options);
                    let summary = &record["summary"];
                    for direction in ["up", "down"] {
                        assert_eq!(summary.get(direction).is_some(), directions.contains(&direction));
                    }
                    for direction in directions {
                        let span = &summary[*direction];
                        check_span(span, 1.0);
                        let rtt = number(span, "sent.rtt_s");
                        assert!(rtt > 0.0 && rtt < 1.0, "{span}");
                        assert_eq!(span["sent"]["cwnd"].is_null(), ccid == "3");
                        assert_eq!(span["sent"]["loss_event_rate"].is_null(), ccid != "3");
                        // 4 Mbit/s is nothing here.
                        assert!((3.6e6..4.4e6).contains(&number(span, "send_rate_bps")), "{span}");
                        let intervals = record["intervals"].as_array().expect("a list");
                        assert_eq!(intervals.len(), 2);
                        let sum: f64 =
                            intervals.iter().map(|row| number(&row[*direction], "received.bytes")).sum();
                        assert_eq!(sum, number(span, "received.bytes"));
                    }
                });
            }
        }
    });
}

#[test]
fn without_a_rate_dccp_sends_as_fast_as_the_path_allows() {
    let server = Server::start(&[]);
    for ccid in ["2", "3", "cubic", "veno", "westwood", "prague"] {
        let record = server.measure(&["--ccid", ccid, "--time", "1"]);
        let up = &record["summary"]["up"];
        assert!(number(up, "goodput_bps") > 50e6, "{up}");
        let (sent, received) = (number(up, "sent.datagrams"), number(up, "received.datagrams"));
        assert!(number(up, "received.lost") + received <= sent && received > 0.9 * sent, "{up}");
    }
}

#[test]
fn ccid_4_sends_100_packets_per_second_at_most() {
    let server = Server::start(&[]);
    let record = server.measure(&["--ccid", "4", "--time", "2"]);
    let up = &record["summary"]["up"];
    // The queue drains after the end; a busy machine's timers may be late.
    let rate = number(up, "received.datagrams") / number(up, "received.seconds");
    assert!((40.0..=101.0).contains(&rate), "{rate}: {up}");
    assert_eq!(number(up, "sent.loss_event_rate"), 0.0, "{up}");
}

#[test]
fn a_schedule_is_sent_over_and_over_with_its_sizes() {
    let server = Server::start(&[]);
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("clip.csv");
    let write = |text: &str| std::fs::write(&path, text).expect("a file");
    let file = path.to_str().expect("a name");
    // 2150 bytes every 80 ms; the last datagram is shorter than the head of 32 bytes.
    write("time_s,size_bytes,frame,type\n0,1200,0,I\n0,918,0,I\n0.04,20,1,P\n");
    let record = server.measure(&["--schedule", file, "--time", "1"]);
    let up = &record["summary"]["up"];
    let datagrams = number(up, "received.datagrams");
    assert_eq!(number(up, "received.lost"), 0.0, "{up}");
    assert!((6.0..40.0).contains(&datagrams), "{up}");
    let begun = [0.0, 1200.0, 2118.0][datagrams as usize % 3];
    assert_eq!(number(up, "received.bytes"), (datagrams / 3.0).floor() * 2150.0 + begun, "{up}");
    assert_eq!(record["plan"]["size"], json!(1200));
    write("time_s,size_bytes\n0,1401\n");
    for (path, why) in [(file, "its largest datagram has 1401 bytes"), ("nofile", "nofile: No such file")] {
        let output = finish(server.client(&["--schedule", path]));
        assert!(output.status.code() == Some(1) && stderr(&output).contains(why), "{output:?}");
    }
}

#[test]
fn parallel_streams_are_reported_separately_and_summed() {
    let server = Server::start(&[]);
    let record = server.measure(&["--parallel", "3", "--rate", "1M", "--time", "1"]);
    let streams = record["streams"].as_array().expect("a list");
    assert_eq!(streams.len(), 3);
    for stream in streams {
        check_span(&stream["up"], 1.0);
    }
    for count in ["sent.datagrams", "received.datagrams", "received.bytes", "received.lost"] {
        let sum: f64 = streams.iter().map(|stream| number(&stream["up"], count)).sum();
        assert_eq!(sum, number(&record["summary"]["up"], count), "{count}");
    }
    assert!(number(&record["summary"]["up"], "goodput_bps") > 2.5e6);
}

#[test]
fn udp_and_tcp_are_measured_for_comparison() {
    let server = Server::start(&[]);
    for direction in [&["--reverse"][..], &[]] {
        let name = if direction.is_empty() { "up" } else { "down" };
        let record = server.measure(&[&["--udp", "--rate", "2M", "--time", "1"], direction].concat());
        check_span(&record["summary"][name], 1.0);
        assert!(record["summary"][name]["sent"]["rtt_s"].is_null());
        let record = server.measure(&[&["--tcp", "--time", "1"], direction].concat());
        let span = &record["summary"][name];
        assert!(number(span, "goodput_bps") > 50e6, "{span}");
        assert!(number(span, "received.bytes") <= number(span, "sent.bytes") + 131_072.0, "{span}");
        assert_eq!(record["plan"]["size"], json!(131_072));
    }
    // Its default rate is low: plain UDP would flood the path.
    let record = server.measure(&["--udp", "--time", "0.5"]);
    assert_eq!(record["plan"]["rate_bps"], json!(1e6));
}

#[test]
fn the_json_record_has_the_fields_that_the_guide_lists() {
    let server = Server::start(&[]);
    let record = server.measure(&["--rate", "1M", "--time", "0.5", "--interval", "0.25", "--bidir"]);
    let keys = |value: &Value| value.as_object().expect("an object").keys().cloned().collect::<Vec<_>>();
    assert_eq!(
        keys(&record),
        ["error", "handover", "interrupted", "intervals", "plan", "streams", "summary", "version"]
    );
    assert_eq!(
        keys(&record["plan"]),
        [
            "bytes",
            "ccid",
            "congestion",
            "deliver_late",
            "direction",
            "ecn",
            "interval_s",
            "latency_s",
            "lda",
            "loss_detection",
            "native",
            "omit_s",
            "patience_s",
            "rate_bps",
            "reorder_adapts",
            "reorder_s",
            "secured",
            "service_code",
            "size",
            "streams",
            "time_s",
            "token",
            "transport"
        ]
    );
    assert_eq!(
        (&record["plan"]["transport"], &record["plan"]["direction"]),
        (&json!("dccp"), &json!("both"))
    );
    assert_eq!((&record["error"], &record["interrupted"]), (&Value::Null, &json!(false)));
    assert_eq!(keys(&record["handover"]), ["freezes", "link", "moves", "state"]);
    for row in [&record["summary"], &record["intervals"][1], &record["streams"][0]] {
        assert_eq!(keys(row), ["down", "end_s", "start_s", "up"]);
        assert_eq!(keys(&row["up"]), ["goodput_bps", "loss", "lost", "received", "send_rate_bps", "sent"]);
        assert_eq!(
            keys(&row["up"]["received"]),
            [
                "bytes",
                "datagrams",
                "datagrams_too_late",
                "delay_variation_p50_s",
                "delay_variation_p99_s",
                "duplicates",
                "ecn_marked",
                "frames_given_up",
                "frames_repaired",
                "frames_whole",
                "in_time",
                "jitter_s",
                "lateness_max_s",
                "lateness_p50_s",
                "lateness_p95_s",
                "lateness_p99_s",
                "lost",
                "out_of_order",
                "packets_given_up",
                "packets_held",
                "packets_lost",
                "packets_lost_wireless",
                "repeated",
                "restored",
                "seconds",
                "unrepaired"
            ]
        );
        assert_eq!(
            keys(&row["up"]["sent"]),
            [
                "allowed_rate_bps",
                "bytes",
                "coded",
                "cwnd",
                "datagrams",
                "dropped",
                "expired",
                "loss_event_rate",
                "repair_bytes",
                "repeats",
                "retransmits",
                "rtt_s",
                "seconds"
            ]
        );
    }
}

#[test]
fn the_text_output_has_a_line_per_interval_that_fits_the_screen() {
    let server = Server::start(&[]);
    let output =
        finish(server.client(&["--rate", "2M", "--time", "1", "--interval", "0.25", "--parallel", "2"]));
    let text = stdout(&output);
    assert!(output.status.success(), "{output:?}");
    let (intervals, summary) = text.split_once("--- summary").expect("a summary");
    assert_eq!(intervals.lines().filter(|line| line.trim_start().starts_with("up ")).count(), 4, "{text}");
    assert!(intervals.starts_with("DCCP CCID 3 over UDP, 127.0.0.1:"), "{text}");
    assert!(text.contains("2 streams, 1200 B datagrams at 2.00 Mbit/s each, for 1 s"), "{text}");
    for expected in ["stream 0", "stream 1", "0.00-1.0"] {
        assert!(summary.contains(expected), "no {expected:?} in {summary}");
    }
    assert!(text.lines().all(|line| line.len() <= 100), "{text}");
}

#[test]
fn ctrl_c_ends_the_client_with_a_summary() {
    let server = Server::start(&[]);
    for format in [&[][..], &["--json"]] {
        let client =
            server.client(&[&["--rate", "2M", "--time", "60", "--interval", "0.2"], format].concat());
        thread::sleep(Duration::from_millis(900));
        signal(&client, Signal::INT);
        let asked = Clock::start();
        let output = finish(client);
        assert!(asked.now().as_secs_f64() < 5.0);
        assert_eq!(output.status.code(), Some(130), "{output:?}");
        assert!(output.stderr.is_empty(), "{output:?}");
        if format.is_empty() {
            assert!(stdout(&output).contains("--- summary (interrupted) ---"), "{output:?}");
        } else {
            let record: Value = serde_json::from_slice(&output.stdout).expect("JSON");
            assert_eq!(record["interrupted"], json!(true));
            check_span(&record["summary"]["up"], 0.4);
        }
    }
}

#[test]
fn a_server_refuses_an_invalid_plan() {
    let mut server = Server::start(&[]);
    let plan = json!({
        "token": 1, "transport": "dccp", "ccid": 3, "service_code": 1, "ecn": true, "native": false, "direction": "up",
        "streams": 1, "size": 9000, "rate_bps": null, "time_s": 1.0, "interval_s": 1.0
    });
    let hello = |version: u32| json!({ "is": "hello", "version": version, "plan": plan }).to_string();
    let cases = [(hello(7), "size: expected 40 to 1400 bytes"), (hello(999), "version")];
    for (line, expected) in cases {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port)).expect("it listens");
        stream.write_all(format!("{line}\n").as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("text");
        let answer: Value = serde_json::from_str(&answer).expect("JSON");
        assert_eq!(answer["is"], json!("refusal"));
        assert!(answer["reason"].as_str().is_some_and(|reason| reason.contains(expected)), "{answer}");
    }
    // Invalid connections do not disturb it.
    let mut other = TcpStream::connect(("127.0.0.1", server.port)).expect("it listens");
    other.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("it reads");
    other.read_to_string(&mut String::new()).expect("it closes the connection");
    check_span(&server.measure(&["--rate", "1M", "--time", "0.5"])["summary"]["up"], 0.5);
    signal(&server.child, Signal::INT);
    assert_eq!(server.child.wait().expect("it ran").code(), Some(0));
    let errors = server.errors();
    assert_eq!(errors.lines().count(), 3, "{errors}");
    assert!(errors.contains("refused: size") && errors.contains("does not speak"), "{errors}");
}

#[test]
fn a_wrong_service_code_is_called_by_its_name() {
    let server = Server::start(&["--service-code", "cam"]);
    let output = finish(server.client(&["--service-code", "4242", "--time", "1"]));
    assert_eq!(output.status.code(), Some(1));
    let message = stderr(&output);
    assert!(message.contains("does not serve service code 4242"), "{message}");
    assert_eq!(message.lines().count(), 1);
    check_span(
        &server.measure(&["--service-code", "cam", "--time", "0.5", "--rate", "1M"])["summary"]["up"],
        0.5,
    );
}

#[test]
fn an_absent_server_is_reported_at_once() {
    let free =
        std::net::TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("loopback");
    let port = free.port().to_string();
    let asked = Clock::start();
    let output = finish(whimbrel(&["perf", "client", "127.0.0.1", "-p", &port]).spawn().expect("it starts"));
    assert_eq!(output.status.code(), Some(1));
    let message = stderr(&output);
    assert!(message.contains(&format!("no whimbrel perf server at 127.0.0.1:{port}")), "{message}");
    assert!(asked.now().as_secs_f64() < 5.0);
}

/// Sends the server a signal in mid-test; the client should detect it and still print its figures.
fn client_of_a_lost_server(what: Signal) -> String {
    let server = Server::start(&[]);
    let client = server.client(&["--rate", "2M", "--time", "60", "--interval", "0.2"]);
    thread::sleep(Duration::from_millis(900));
    signal(&server.child, what);
    let lost = Clock::start();
    let output = finish(client);
    assert!(lost.now().as_secs_f64() < 9.0, "{:?}", lost.now());
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let (intervals, summary) = stdout(&output)
        .split_once("--- summary of what there was")
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .expect("a summary");
    assert!(
        intervals.lines().filter(|line| line.trim_start().starts_with("up ")).count() >= 2,
        "{intervals}"
    );
    assert!(summary.contains("up "), "{summary}");
    stderr(&output)
}

#[test]
fn a_killed_server_is_detected() {
    let message = client_of_a_lost_server(Signal::KILL);
    assert!(message.contains("the server has gone"), "{message}");
}

#[test]
fn a_json_record_reports_that_the_server_was_killed() {
    let server = Server::start(&[]);
    let client = server.client(&["--rate", "2M", "--time", "60", "--interval", "60", "--json"]);
    thread::sleep(Duration::from_millis(900));
    signal(&server.child, Signal::KILL);
    let lost = Clock::start();
    let output = finish(client);
    assert!(lost.now().as_secs_f64() < 9.0, "{:?}", lost.now());
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let record: Value = serde_json::from_str(&stdout(&output)).expect("one JSON object");
    let error = record["error"].as_str().expect("an error");
    assert!(error.contains("the server has gone"), "{error}");
    assert!(record["summary"]["up"]["sent"]["datagrams"].as_u64() > Some(0), "{record}");
}

#[test]
fn a_silent_server_is_detected() {
    let message = client_of_a_lost_server(Signal::STOP);
    assert!(message.contains("the server vanished: no message from it for 5 s"), "{message}");
}

#[test]
fn a_server_survives_its_clients() {
    let mut server = Server::start(&[]);
    for options in [&["--reverse"][..], &["--bidir", "--ccid", "2"], &["--udp", "--reverse"], &["--tcp"]] {
        let mut client = server.client(&[&["--rate", "2M", "--time", "60"][..], options].concat());
        thread::sleep(Duration::from_millis(500));
        client.kill().expect("it runs");
        client.wait().expect("it ran");
        let line = server.line();
        assert!(line.contains("the client vanished"), "{line}");
    }
    check_span(&server.measure(&["--rate", "1M", "--time", "0.5"])["summary"]["up"], 0.5);
    let line = server.line();
    assert!(line.contains("received") && !line.contains("vanished"), "{line}");
}

#[test]
fn a_server_for_one_client_prints_json_and_ends() {
    let mut server = Server::start(&["--json", "--one-off"]);
    let mut stranger = TcpStream::connect(("127.0.0.1", server.port)).expect("it listens");
    stranger.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("it reads");
    assert_eq!(stranger.read_to_end(&mut Vec::new()).unwrap_or_default(), 0);
    server.measure(&["--rate", "1M", "--time", "0.5", "--bidir"]);
    let record: Value = serde_json::from_str(&server.line()).expect("JSON");
    assert_eq!((&record["vanished"], &record["plan"]["direction"]), (&json!(false), &json!("both")));
    assert!(["received", "sent"].iter().all(|end| number(&record[end][0], "datagrams") > 0.0), "{record}");
    assert_eq!(server.child.wait().expect("it ran").code(), Some(0));
}

#[test]
fn a_reader_that_leaves_ends_the_test_quietly() {
    let server = Server::start(&[]);
    let mut client = server.client(&["--rate", "1M", "--time", "60", "--interval", "0.2"]);
    let mut line = String::new();
    BufReader::new(client.stdout.take().expect("piped")).read_line(&mut line).expect("text");
    let output = finish(client);
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_without_clients_costs_nothing() {
    let server = Server::start(&[]);
    // With a connection that has ended, too.
    server.measure(&["--rate", "1M", "--time", "0.2"]);
    let ticks = || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", server.child.id())).expect("Linux");
        let fields: Vec<&str> = stat.rsplit(')').next().expect("fields").split_whitespace().collect();
        fields[11].parse::<u64>().expect("a number") + fields[12].parse::<u64>().expect("a number")
    };
    let before = ticks();
    thread::sleep(Duration::from_secs(2));
    // A tick is 10 ms.
    assert!(ticks() - before <= 1, "{} ticks in two seconds", ticks() - before);
}

#[test]
fn wrong_usage_is_exit_code_2() {
    for wrong in [
        &["perf"][..],
        &["perf", "client"],
        &["perf", "client", "host", "--udp", "--tcp"],
        &["perf", "client", "host", "--reverse", "--bidir"],
        &["perf", "client", "host", "--size", "1401"],
        &["perf", "client", "host:http"],
        &["perf", "client", "host:80", "--port", "81"],
        &["perf", "client", "host", "--congestion", "reno"],
        &["perf", "client", "host", "--bytes", "1M", "--time", "1"],
        &["perf", "client", "host", "--json", "--json-stream"],
        &["perf", "client", "host", "--time", "0"],
        &["perf", "client", "host", "--rate", "fast"],
        &["perf", "client", "host", "--ccid", "5"],
        &["perf", "server", "--bind", "nowhere"],
    ] {
        let output = finish(whimbrel(wrong).spawn().expect("it starts"));
        assert_eq!(output.status.code(), Some(2), "{wrong:?}: {output:?}");
        assert!(!output.stderr.is_empty());
    }
}

#[test]
fn every_help_shows_an_example() {
    for command in [&[][..], &["perf"], &["perf", "server"], &["perf", "client"], &["run"], &["schema"]] {
        let output = finish(whimbrel(&[command, &["--help"]].concat()).spawn().expect("it starts"));
        let text = stdout(&output);
        assert!(output.status.success() && text.contains("Example"), "{command:?}: {text}");
        let example = format!("\n  whimbrel {}", command.join(" "));
        assert!(text.contains(example.trim_end()), "{command:?}: {text}");
    }
}

/// With privilege it carries data as IP protocol 33; without, the error names the privilege.
#[cfg(target_os = "linux")]
#[test]
fn without_udp_dccp_needs_privilege_and_the_servers_consent() {
    let plain = Server::start(&[]);
    let refused = finish(plain.client(&["--native", "--time", "1"]));
    let text = stderr(&refused);
    assert!(text.contains("start it with --native"), "{text}");
    if !rustix::process::geteuid().is_root() {
        let text = {
            let mut server = whimbrel(&["perf", "server", "--bind", "127.0.0.1:0", "--native"]);
            stderr(&finish(server.spawn().expect("the program starts")))
        };
        assert!(text.contains("CAP_NET_RAW"), "{text}");
        eprintln!("skipped: raw sockets need root");
        return;
    }
    let server = Server::start(&["--native"]);
    let record = server.measure(&["--native", "--parallel", "2", "--bidir", "--rate", "1M", "--time", "1"]);
    assert_eq!(record["plan"]["native"], true);
    for direction in ["up", "down"] {
        let span = &record["summary"][direction];
        check_span(span, 1.0);
        assert_eq!(number(span, "received.lost"), 0.0, "{span}");
        assert!((1.8e6..2.2e6).contains(&number(span, "send_rate_bps")), "{span}");
    }
}
