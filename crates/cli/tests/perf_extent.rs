//! `whimbrel perf`: what is measured and for how long, on the built program.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::processes;
use processes::{Server, finish, number, stderr, stdout, whimbrel};

#[test]
fn datagrams_that_congestion_control_held_back_are_not_lost() {
    let server = Server::start(&[]);
    // CCID 4 sends at most 100 packets per second; about 780 arise.
    let record = server.measure(&["--ccid", "4", "--rate", "1M", "--size", "160", "--time", "1.5"]);
    let up = &record["summary"]["up"];
    assert!(number(up, "sent.dropped") > 300.0, "{up}");
    assert_eq!((number(up, "lost"), number(up, "loss")), (0.0, 0.0), "{up}");
}

#[cfg(target_os = "linux")]
#[test]
fn the_kernels_tcp_reports_its_window_and_can_be_chosen() {
    let server = Server::start(&[]);
    for options in [&["--congestion", "reno"][..], &["--congestion", "reno", "--reverse"]] {
        let record = server.measure(&[&["--tcp", "--time", "0.5"], options].concat());
        let span = &record["summary"][if options.len() > 2 { "down" } else { "up" }];
        assert!(number(span, "sent.cwnd") >= 2.0 && number(span, "sent.rtt_s") > 0.0, "{span}");
        assert!(number(span, "sent.retransmits") >= 0.0, "{span}");
        assert_eq!(record["plan"]["congestion"], json!("reno"));
    }
    for (direction, expected) in [(&[][..], "is not available here"), (&["--reverse"], "refuses the test")] {
        let output = finish(
            server.client(&[&["--tcp", "--congestion", "nonesuch", "--time", "1"], direction].concat()),
        );
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let message = stderr(&output);
        assert!(message.contains(expected) && message.contains("nonesuch"), "{message}");
    }
}

#[test]
fn the_start_can_be_left_out_of_the_summary() {
    let server = Server::start(&[]);
    let options = ["--rate", "1M", "--omit", "0.5", "--time", "1", "--interval", "0.25"];
    let record = server.measure(&[&options[..], &["--bidir"]].concat());
    let intervals = record["intervals"].as_array().expect("a list");
    assert_eq!(intervals.len(), 6);
    let omitted = intervals.iter().filter(|row| row["omitted"] == json!(true)).count();
    // The part left out and an interval end at the same time.
    assert!((1..=2).contains(&omitted), "{record}");
    for direction in ["up", "down"] {
        let span = &record["summary"][direction];
        let all: f64 = intervals.iter().map(|row| number(&row[direction], "received.bytes")).sum();
        let share = number(span, "received.bytes") / all;
        assert!((0.5..0.85).contains(&share), "{share} of {record}");
        let seconds = number(span, "sent.seconds");
        assert!((0.9..1.4).contains(&seconds), "{span}");
        assert!((0.8e6..1.2e6).contains(&number(span, "send_rate_bps")), "{span}");
    }
    assert_eq!(record["summary"]["start_s"], json!(0.5));
    let text = stdout(&finish(server.client(&options)));
    assert!(text.contains("for 1 s after 0.5 s") && text.contains("(omitted)"), "{text}");
}

#[test]
fn a_test_can_end_with_its_data() {
    let server = Server::start(&[]);
    for (options, direction, unit) in [
        (&[][..], "up", 1200.0),
        (&["--reverse"], "down", 1200.0),
        (&["--udp", "--rate", "10M"], "up", 1200.0),
        (&["--tcp"], "up", 131_072.0),
        (&["--tcp", "--reverse"], "down", 131_072.0),
    ] {
        let record = server.measure(&[&["--bytes", "600k"], options].concat());
        let span = &record["summary"][direction];
        let sent = number(span, "sent.bytes");
        assert!((600e3..600e3 + unit).contains(&sent), "{options:?}: {sent} in {span}");
        assert_eq!(number(span, "received.bytes"), sent, "{options:?}: {span}");
    }
}

#[test]
fn a_stream_of_json_has_a_line_for_the_start_each_interval_and_the_end() {
    let server = Server::start(&[]);
    let options = ["--json-stream", "--rate", "1M", "--time", "0.75", "--interval", "0.25"];
    let text = stdout(&finish(server.client(&options)));
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let events: Vec<_> = lines.iter().map(|line| line["event"].as_str().expect("a name")).collect();
    assert_eq!(events, ["start", "interval", "interval", "interval", "end"]);
    assert!(lines[0]["data"]["server"].as_str().expect("an address").starts_with("127.0.0.1:"));
    let sum: f64 = lines[1..4].iter().map(|line| number(&line["data"]["up"], "received.bytes")).sum();
    assert_eq!(number(&lines[4]["data"]["summary"]["up"], "received.bytes"), sum);
}

#[test]
fn the_servers_port_may_follow_its_address() {
    let server = Server::start(&[]);
    let at = format!("127.0.0.1:{}", server.port);
    let options = ["perf", "client", &at, "--rate", "1M", "--time", "0.3", "--json"];
    let output = finish(whimbrel(&options).stdin(Stdio::null()).spawn().expect("it starts"));
    assert!(output.status.success(), "{output:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn data_with_a_dscp_are_measured_on_every_transport() {
    let server = Server::start(&["--dscp", "AF41"]);
    for transport in [&[][..], &["--udp"], &["--tcp"]] {
        let options = [&["--dscp", "EF", "--bidir", "--rate", "1M", "--time", "0.5"], transport].concat();
        let record = server.measure(&options);
        for direction in ["up", "down"] {
            assert!(
                number(&record["summary"][direction], "received.bytes") > 30e3,
                "{transport:?}: {record}"
            );
        }
    }
    let wrong = whimbrel(&["perf", "client", "127.0.0.1", "--dscp", "64"]).output().expect("it runs");
    assert_eq!(wrong.status.code(), Some(2));
    assert!(stderr(&wrong).contains("a number from 0 to 63 or a name such as EF"), "{wrong:?}");
}

/// The heading of a group of options does not take the options declared after the group.
#[test]
fn the_help_lists_common_options_before_the_advanced_ones() {
    for form in ["-h", "--help"] {
        let text = stdout(&finish(whimbrel(&["perf", "client", form]).spawn().expect("it starts")));
        let (common, rest) =
            text.split_once("\nAdvanced:").or(text.split_once("\nHandovers")).expect("groups");
        let listed = |option: &str, within: &str| {
            let mut lines = within.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
            lines.any(|line| line.split([' ', ',']).any(|word| word == option))
        };
        for option in ["--rate", "--time", "--reverse", "--udp", "--tcp", "--lda", "--latency", "--json"] {
            assert!(listed(option, common) && !listed(option, rest), "{option}: {text}");
        }
        assert!(!listed("--tun", common) && !listed("--freeze-lead", common), "{text}");
    }
}
