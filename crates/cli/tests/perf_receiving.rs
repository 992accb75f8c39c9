//! `whimbrel perf` with receivers that classify losses or put datagrams into order.

use serde_json::json;

use crate::processes;
use crate::spans;
use processes::{Server, finish, number, stderr, whimbrel};
use spans::check_span;

#[test]
fn datagrams_wait_for_earlier_ones_if_the_client_requests_it() {
    let server = Server::start(&[]);
    let record =
        server.measure(&["--reorder", "50ms", "--lda", "zbs3", "--rate", "2M", "--time", "1", "--bidir"]);
    assert_eq!((&record["plan"]["reorder_s"], &record["plan"]["lda"]), (&json!(0.05), &json!("zbs3")));
    for direction in ["up", "down"] {
        check_span(&record["summary"][direction], 1.0);
    }
    // The port was that test's; the next one has another.
    check_span(
        &server.measure(&["--reorder", "0.1 s", "--ccid", "2", "--rate", "2M", "--time", "1"])["summary"]["up"],
        1.0,
    );
    let output = finish(server.client(&["--reorder", "50"]));
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("such as 50ms"), "{output:?}");
}

#[test]
fn losses_are_classified_if_the_client_requests_it() {
    let server = Server::start(&[]);
    let record = server.measure(&["--lda", "zbs3", "--rate", "2M", "--time", "1", "--bidir"]);
    assert_eq!(record["plan"]["lda"], "zbs3");
    for direction in ["up", "down"] {
        let span = &record["summary"][direction];
        check_span(span, 1.0);
        assert!(number(span, "received.packets_lost_wireless") <= number(span, "received.packets_lost"));
    }
    for (options, words) in [
        (&["--lda", "omniscient"][..], "simulator"),
        (&["--lda", "zbs3", "--ccid", "2"], "expected CCID 3 (TFRC), 4 (TFRC-SP) or 252 (delay-aware)"),
        (&["--lda", "oracle"], "zbs3"),
        (&["--lda", "zbs3", "--udp"], "--udp"),
    ] {
        let port = server.port.to_string();
        let client = whimbrel(&["perf", "client", "127.0.0.1", "--port", &port]).args(options).spawn();
        let output = finish(client.expect("it starts"));
        assert!(!output.status.success());
        assert!(stderr(&output).contains(words), "{options:?}: {}", stderr(&output));
    }
}
