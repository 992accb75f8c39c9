//! A connection between two Linux kernels; every number below was obtained with tshark (and, where it only
//! prints the bytes of Ack Vectors, with a few lines around it), not with this crate.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use proptest::prelude::*;
use whimbrel_inspect::follow::Roles;
use whimbrel_inspect::follow::ending::EndKind;
use whimbrel_inspect::follow::side::Side;
use whimbrel_inspect::report::{ConnectionReport, Report};
use whimbrel_inspect::{FollowConfig, inspect};
use whimbrel_units::Duration;

fn read(name: &str, config: FollowConfig) -> Report {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wire/tests/data").join(name);
    inspect(BufReader::new(File::open(path).unwrap()), config, &[]).unwrap()
}

/// The only connection of a capture of `packets`, all of them valid DCCP.
#[track_caller]
fn only(report: &Report, packets: u64, duration_s: f64) -> &ConnectionReport {
    assert_eq!((report.capture.frames, report.capture.dccp_packets), (packets, packets));
    assert_eq!((report.capture.malformed, report.capture.fragments, &report.capture.error), (0, 0, &None));
    assert!((report.capture.duration_s - duration_s).abs() < 1e-6, "{}", report.capture.duration_s);
    assert_eq!(report.connections.len(), 1);
    let connection = &report.connections[0];
    assert_eq!(connection.roles, Roles::Seen);
    assert_eq!(connection.anomalies, []);
    assert_eq!((connection.handshake.requests, connection.handshake.responses), (1, 1));
    assert!(connection.handshake.completed);
    assert_eq!(connection.handshake.service_code_text.as_deref(), Some("SC=42"));
    connection
}

#[track_caller]
fn near(value: Option<f64>, expected: f64, tolerance: f64) {
    let value = value.expect("a value");
    assert!((value - expected).abs() <= tolerance, "{value}, expected {expected}");
}

/// (packets, datagrams, bytes, holes, late, repeated) of the packets of one end.
fn seen(connection: &ConnectionReport, sender: Side) -> [u64; 6] {
    let seen = &connection.halves[sender as usize].seen;
    let holes = seen.holes.expect("packets passed");
    [seen.packets, seen.datagrams, seen.bytes, holes, seen.late, seen.repeated]
}

fn value(connection: &ConnectionReport, sender: Side, feature: &str) -> Option<u64> {
    let features = &connection.halves[sender as usize].features;
    features.iter().find(|one| one.name == feature).and_then(|one| one.value)
}

#[test]
fn ccid2_with_loss() {
    let report = read("ccid2-loss3.pcap", FollowConfig::default());
    let connection = only(&report, 956, 1.381_263);
    assert_eq!(seen(connection, Side::Client), [480, 477, 477_000, 18, 0, 0]);
    assert_eq!(seen(connection, Side::Server), [476, 0, 0, 0, 0, 0]);
    let [client, server] = &connection.halves;
    assert_eq!((client.ccid, server.ccid), (Some(2), Some(2)));
    assert!(client.ccid_is_known);
    assert_eq!((client.reported.lost, client.reported.marked), (Some(18), Some(0)));
    assert_eq!(client.reported.acknowledged_bytes, Some(477_000));
    assert_eq!(client.seen.types["DataAck"], 477);
    assert_eq!(server.seen.types["Ack"], 474);
    near(connection.handshake.to_server_s, 0.010_217, 1e-9);
    near(connection.handshake.to_client_s, 0.010_387, 1e-9);
    near(connection.handshake.rtt_s, 0.020_604, 1e-9);
    // The capture point is in the middle of a path of 20 ms: a round-trip time of 10 ms to the server.
    let rtt = client.reported.rtt.unwrap();
    assert!(rtt.min_s > 0.010 && rtt.max_s < 0.011, "{rtt:?}");
    assert_eq!(value(connection, Side::Client, "Sequence Window"), Some(64));
    assert_eq!(value(connection, Side::Client, "Send Ack Vector"), Some(1));
    assert_eq!(value(connection, Side::Client, "Allow Short Sequence Numbers"), Some(0));
    assert_eq!(connection.end.kind, EndKind::Closed);
    assert_eq!((connection.end.by, connection.end.reset_code), (Some(Side::Client), Some(1)));
    assert_eq!(connection.end.reason, "the client sent Close, the server answered with Reset (Closed)");
}

#[test]
fn ccid2_intervals_add_up() {
    let config = FollowConfig { interval: Duration::from_millis(100), ..FollowConfig::default() };
    let report = read("ccid2-loss3.pcap", config);
    let client = &report.connections[0].halves[0];
    assert_eq!(client.intervals.len(), 14);
    assert_eq!(client.intervals.iter().map(|row| row.datagrams).sum::<u64>(), 477);
    assert_eq!(client.intervals.iter().filter_map(|row| row.lost).sum::<i64>(), 18);
    assert_eq!(client.intervals.iter().filter_map(|row| row.holes).sum::<i64>(), 18);
    let sent: f64 = client.intervals.iter().map(|row| row.send_rate_bps * row.length_s / 8.0).sum();
    let received: f64 =
        client.intervals.iter().filter_map(|row| Some(row.goodput_bps? * row.length_s / 8.0)).sum();
    assert!((sent - 477e3).abs() < 1.0 && (received - 477e3).abs() < 1.0, "{sent} {received}");
}

#[test]
fn ccid2_without_loss() {
    let report = read("ccid2-loss0.pcap", FollowConfig::default());
    let connection = only(&report, 305, 0.316_663);
    assert_eq!(seen(connection, Side::Client), [201, 198, 198_000, 0, 0, 0]);
    assert_eq!(seen(connection, Side::Server), [104, 0, 0, 0, 0, 0]);
    assert_eq!(connection.halves[0].reported.lost, Some(0));
    assert_eq!(connection.halves[0].reported.acknowledged_bytes, Some(198_000));
    near(connection.handshake.to_server_s, 0.010_204, 1e-9);
}

#[test]
fn the_server_closes() {
    let report = read("ccid2-closereq.pcap", FollowConfig::default());
    let connection = only(&report, 83, 0.168_625);
    assert_eq!(seen(connection, Side::Client), [43, 40, 40_000, 0, 0, 0]);
    assert_eq!(seen(connection, Side::Server), [40, 0, 0, 0, 0, 0]);
    assert_eq!((connection.end.kind, connection.end.by), (EndKind::Closed, Some(Side::Server)));
    assert_eq!(
        connection.end.reason,
        "the server asked to close (CloseReq), the client sent Close, the server answered with Reset (Closed)"
    );
}

#[test]
fn ccid3_with_loss() {
    let report = read("ccid3-loss3.pcap", FollowConfig::default());
    let connection = only(&report, 528, 1.408_992);
    assert_eq!(seen(connection, Side::Client), [487, 484, 484_000, 12, 0, 0]);
    assert_eq!(seen(connection, Side::Server), [41, 0, 0, 0, 0, 0]);
    let client = &connection.halves[0];
    assert_eq!((client.ccid, client.ccid_is_known), (Some(3), true));
    assert_eq!(client.reported.lost, None, "there is no Ack Vector");
    near(client.reported.loss_event_rate, 1.0 / 54.0, 1e-12);
    near(client.reported.loss_event_rate_max, 1.0 / 53.0, 1e-12);
    near(client.reported.receive_rate_bps, 324_959.0 * 8.0, 1e-6);
    assert_eq!(value(connection, Side::Client, "Send Loss Event Rate"), Some(1));
    let server = &connection.halves[1];
    let options = ["Loss Event Rate", "Receive Rate", "NDP Count"].map(|name| server.seen.options[name]);
    assert_eq!(options, [39, 39, 39]);
    // The Receive Rates agree with the captured packets.
    for row in &client.intervals {
        let ratio = row.goodput_bps.unwrap() / row.send_rate_bps;
        assert!((0.9..1.1).contains(&ratio), "{row:?}");
    }
}

#[test]
fn ccid3_both_ways() {
    let report = read("ccid3-both-ways.pcap", FollowConfig::default());
    let connection = only(&report, 141, 0.332_763);
    assert_eq!(seen(connection, Side::Client), [72, 60, 60_000, 0, 0, 0]);
    assert_eq!(seen(connection, Side::Server), [69, 60, 60_000, 0, 0, 0]);
    for half in &connection.halves {
        assert_eq!((half.ccid, half.reported.loss_event_rate), (Some(3), Some(0.0)));
    }
    near(connection.halves[0].reported.receive_rate_bps, 408_545.0 * 8.0, 1e-6);
    near(connection.halves[1].reported.receive_rate_bps, 315_534.0 * 8.0, 1e-6);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Damage is reported and does not panic; packets before the damage are reported as without it.
    #[test]
    fn a_damaged_capture_is_reported_up_to_the_damage(
        name in prop::sample::select(vec!["ccid2-loss3.pcap", "ccid3-both-ways.pcap", "ccid2-closereq.pcap"]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
        cut in any::<prop::sample::Index>(),
    ) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wire/tests/data").join(name);
        let mut bytes = std::fs::read(path).unwrap();
        bytes.truncate(24 + cut.index(bytes.len() - 24));
        for (at, byte) in changes {
            if bytes.len() > 24 {
                let at = 24 + at.index(bytes.len() - 24);
                bytes[at] = byte;
            }
        }
        let report = inspect(&bytes[..], FollowConfig::default(), &[]).unwrap();
        let seen = |connection: &ConnectionReport| {
            connection.halves.iter().map(|half| half.seen.packets).sum::<u64>()
        };
        prop_assert_eq!(report.connections.iter().map(seen).sum::<u64>(), report.capture.dccp_packets);
        prop_assert!(report.capture.dccp_packets + report.capture.malformed <= report.capture.frames);
    }
}
