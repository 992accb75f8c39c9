//! Small captures of real tools, with the values that Wireshark finds in them.

use std::fs;
use std::path::Path;

use whimbrel_inspect::capture::CaptureReader;
use whimbrel_inspect::losses::losses;
use whimbrel_inspect::report::Report;
use whimbrel_inspect::report::flow::{FlowReport, RtpReport};
use whimbrel_inspect::streams::{self, StreamKind};
use whimbrel_inspect::{FollowConfig, inspect};

fn bytes(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn report(name: &str) -> Report {
    inspect(bytes(name).as_slice(), FollowConfig::default(), &[]).expect("a capture")
}

/// The only flow, and its RTP stream.
#[track_caller]
fn only_rtp(name: &str) -> (FlowReport, RtpReport) {
    let report = report(name);
    assert!(report.connections.is_empty());
    let [flow] = <[_; 1]>::try_from(report.flows).expect("one flow");
    let rtp = flow.rtp.clone().expect("RTP");
    (flow, rtp)
}

/// `dccp-snap72.pcapng` has the first 72 bytes of each packet of `dccp-whole.pcapng`: headers and some
/// options.
#[test]
fn a_capture_with_a_short_snap_length_invents_nothing() {
    let whole = report("dccp-whole.pcapng");
    let reported = &whole.connections[0].halves[0].reported;
    assert_eq!((reported.loss_event_rate, reported.loss_event_rate_max), (Some(0.1), Some(0.125)));
    assert_eq!((whole.capture.cut_frames, whole.capture.cut_options), (0, 0));

    let cut = report("dccp-snap72.pcapng");
    assert_eq!((cut.capture.cut_frames, cut.capture.cut_options), (89, 31));
    for (cut, whole) in cut.connections[0].halves.iter().zip(&whole.connections[0].halves) {
        // The headers give the same.
        assert_eq!(cut.seen.types, whole.seen.types);
        assert_eq!(
            (cut.seen.bytes, cut.seen.holes, cut.seen.late),
            (whole.seen.bytes, whole.seen.holes, whole.seen.late)
        );
    }
    let reported = &cut.connections[0].halves[0].reported;
    assert_eq!((reported.loss_event_rate, reported.loss_event_rate_max, reported.lost), (None, None, None));
    assert!(cut.connections[0].halves[0].intervals.iter().all(|row| row.loss_event_rate.is_none()));
    assert_eq!(cut.connections[0].anomalies, []);
    assert_eq!(cut.connections[0].handshake.rtt_s, whole.connections[0].handshake.rtt_s);
}

/// Linux's interface `any` has each packet of a router twice: when it comes in, and when it goes out.
#[test]
fn a_router_has_each_packet_once() {
    let report = report("any-router.pcap");
    let capture = &report.capture;
    assert_eq!((capture.frames, capture.dccp_packets, capture.udp_packets, capture.copies), (40, 15, 5, 20));
    let [client, server] = &report.connections[0].halves;
    assert_eq!((client.seen.packets, client.seen.repeated, client.packets_elsewhere), (8, 0, 8));
    assert_eq!((server.seen.packets, server.seen.repeated, server.packets_elsewhere), (7, 0, 7));
    assert_eq!(report.connections[0].anomalies, []);
    assert_eq!(
        (report.flows[0].packets, report.flows[0].packets_elsewhere, report.flows[0].points),
        (5, 5, 2)
    );
}

/// The sender's and the receiver's side of a path in one file: what the receiver has counts.
#[test]
fn losses_between_two_points_are_seen() {
    let (flow, rtp) = only_rtp("rtp-both.pcapng");
    // Frames 3, 5, 7, 10, 12, ...: 16 of the numbers 0 to 20.
    assert_eq!((flow.packets, flow.packets_elsewhere, flow.points), (16, 24, 2));
    assert_eq!((rtp.missing, rtp.repeated, rtp.late), (5, 0, 0));
    let found = losses(bytes("rtp-both.pcapng").as_slice(), None).expect("a capture").expect("a stream");
    assert_eq!((found.passed, found.lost), (16, 5));
}

#[test]
fn fragments_are_no_losses() {
    let capture = report("rtp-fragments.pcap").capture;
    assert_eq!((capture.frames, capture.udp_packets, capture.reassembled, capture.fragments), (26, 23, 3, 0));
    let (flow, rtp) = only_rtp("rtp-fragments.pcap");
    assert_eq!((flow.bytes, rtp.missing), (20 * 172 + 3 * 1812, 0));
    let found = losses(bytes("rtp-fragments.pcap").as_slice(), None).expect("a capture").expect("a stream");
    assert_eq!((found.passed, found.lost), (23, 0));
}

#[test]
fn every_packet_of_802_11_captures_is_found() {
    // Two in each A-MSDU; padding of Atheros cards; PPI.
    for (name, packets) in [("wifi-amsdu.pcap", 16), ("wifi-pad.pcap", 8), ("wifi-ppi.pcap", 8)] {
        let (flow, rtp) = only_rtp(name);
        assert_eq!((flow.packets, flow.bytes, rtp.missing), (packets, packets * 172, 0), "{name}");
        assert_eq!(flow.source.to_string(), "192.0.2.1:4000");
    }
}

/// Simple Packet Blocks have no time.
#[test]
fn packets_before_the_first_time_do_not_stretch_the_capture() {
    let report = report("spb-first.pcapng");
    assert_eq!((report.capture.start_s, report.capture.frames), (1_700_000_000.0, 3));
    assert!((report.capture.duration_s - 0.02).abs() < 1e-9, "{}", report.capture.duration_s);
    // The three are alike, which shows neither copies nor an RTP stream.
    let file = bytes("spb-first.pcapng");
    let mut reader = CaptureReader::new(file.as_slice()).expect("a capture");
    let found = streams::read(&mut reader, FollowConfig::default(), &[], |_| true).streams;
    let times: Vec<_> = found[0].packets.iter().map(|packet| packet.at.as_nanos() % 1_000_000_000).collect();
    assert_eq!((found.len(), found[0].kind, &times[..]), (1, StreamKind::Udp, &[0, 0, 20_000_000][..]));
}

#[test]
fn a_video_is_explained() {
    let (flow, rtp) = only_rtp("rtp.pcap");
    assert_eq!((flow.packets, flow.bytes, rtp.payload_type, rtp.missing), (12, 11_126, 96, 0));
    assert_eq!((rtp.frames, rtp.whole_frames, rtp.clock_hz), (4, 4, Some(90_000.0)));
}
