//! Tests with connections given packet by packet.

use bytes::Bytes;
use whimbrel_units::{Duration, Instant};
use whimbrel_wire::option::ack_vector::{AckState, AckVectorBuilder};
use whimbrel_wire::option::{FeatureAction, FeatureOption, tfrc};
use whimbrel_wire::{
    ChecksumCoverage, DccpOption, Ecn, Kind, Options, Packet, Payload, Reset, ResetCode, SeqNo, ServiceCode,
};

use super::anomaly::AnomalyKind::{self, *};
use super::ending::EndKind;
use super::side::Side::{Client, Server};
use super::*;
use crate::report::ConnectionReport;
use crate::segment::Checksum;

/// A capture in progress: the client numbers its packets from 100, the server from 5000.
struct Capture {
    follower: Follower,
    now: Instant,
    number: u64,
    ports: [u16; 2],
}

impl Capture {
    fn new() -> Self {
        let follower = Follower::new(FollowConfig::default());
        Self { follower, now: Instant::from_secs(1), number: 0, ports: [40_000, 5004] }
    }

    /// A packet captured now.
    fn segment(&mut self, by: Side, sequence: u64, kind: Kind) -> Segment {
        self.number += 1;
        let [source, destination] = if by == Client { [1, 2] } else { [2, 1] };
        let [source_port, destination_port] = [source, destination].map(|index| self.ports[index - 1]);
        Segment {
            number: self.number,
            at: self.now,
            first_at: self.now,
            copy: 1,
            has_all_options: true,
            interface: 0,
            source: IpAddr::from([192, 0, 2, source as u8]),
            destination: IpAddr::from([192, 0, 2, destination as u8]),
            udp: None,
            ecn: Ecn::Ect0,
            checksum: Checksum::Good,
            is_whole: true,
            packet: Packet {
                source_port,
                destination_port,
                ccval: 0,
                checksum_coverage: ChecksumCoverage::ALL,
                extended: true,
                sequence: SeqNo::new(sequence),
                kind,
                options: Options::new(),
                payload: Payload::EMPTY,
            },
        }
    }

    fn send(&mut self, by: Side, sequence: u64, kind: Kind) -> Vec<AnomalyKind> {
        let segment = self.segment(by, sequence, kind);
        self.pass(&segment)
    }

    fn send_with(&mut self, by: Side, sequence: u64, kind: Kind, options: &[DccpOption]) -> Vec<AnomalyKind> {
        let mut segment = self.segment(by, sequence, kind);
        segment.packet.options = options.iter().cloned().collect();
        self.pass(&segment)
    }

    fn data(&mut self, by: Side, sequence: u64, kind: Kind) -> Vec<AnomalyKind> {
        let mut segment = self.segment(by, sequence, kind);
        segment.packet.payload = Payload::from(Bytes::from_static(&[7; 1000]));
        self.pass(&segment)
    }

    fn pass(&mut self, segment: &Segment) -> Vec<AnomalyKind> {
        self.follower.on_segment(segment).anomalies
    }

    fn wait(&mut self, millis: u64) {
        self.now += Duration::from_millis(millis);
    }

    /// Request, Response and Ack: round-trip times of 30 ms to the server and 10 ms to the client.
    fn open(&mut self) {
        self.send(Client, 100, REQUEST);
        self.wait(30);
        self.send(Server, 5000, Kind::Response { ack: SeqNo::new(100), service_code: ServiceCode(7) });
        self.wait(10);
        self.send(Client, 101, ack(5000));
    }

    #[track_caller]
    fn only(&self) -> ConnectionReport {
        let [report] = <[_; 1]>::try_from(crate::report::connections(&self.follower)).unwrap();
        report
    }

    fn end(&self) -> (EndKind, String) {
        let end = self.only().end;
        (end.kind, end.reason)
    }
}

const REQUEST: Kind = Kind::Request { service_code: ServiceCode(7) };

fn ack(number: u64) -> Kind {
    Kind::Ack { ack: SeqNo::new(number) }
}

fn reset(number: u64, reset: Reset) -> Kind {
    Kind::Reset { ack: SeqNo::new(number), reset }
}

fn preferences(action: FeatureAction, feature: u8, values: &[u8]) -> DccpOption {
    DccpOption::Feature(FeatureOption::preferences(action, feature, values))
}

#[test]
fn a_handshake_yields_the_round_trip_time_in_two_parts() {
    let mut capture = Capture::new();
    capture.open();
    let report = capture.only();
    assert_eq!(report.anomalies, []);
    assert_eq!((report.client.port, report.server.port, report.roles), (40_000, 5004, Roles::Seen));
    let handshake = report.handshake;
    assert_eq!((handshake.to_server_s, handshake.to_client_s), (Some(0.03), Some(0.01)));
    assert!(handshake.completed && (handshake.rtt_s.unwrap() - 0.04).abs() < 1e-12);
    assert_eq!(handshake.service_code_text.as_deref(), Some("SC=7"));
}

#[test]
fn a_request_sent_again_is_matched_by_its_number() {
    let mut capture = Capture::new();
    capture.send(Client, 100, REQUEST);
    capture.wait(1000);
    capture.send(Client, 101, REQUEST);
    capture.wait(30);
    capture.send(Server, 5000, Kind::Response { ack: SeqNo::new(101), service_code: ServiceCode(7) });
    let handshake = capture.only().handshake;
    assert_eq!((handshake.requests, handshake.to_server_s), (2, Some(0.03)));
}

#[test]
fn every_end_has_a_description() {
    let mut capture = Capture::new();
    capture.send(Client, 100, REQUEST);
    capture.send(Client, 101, REQUEST);
    assert_eq!(capture.end(), (EndKind::Unanswered, "2 Requests of the client, without an answer".into()));
    let response = Kind::Response { ack: SeqNo::new(101), service_code: ServiceCode(7) };
    capture.send(Server, 5000, response);
    assert_eq!(capture.end().0, EndKind::HalfOpen);
    capture.send(Client, 102, ack(5000));
    assert_eq!(capture.end().0, EndKind::CaptureEnded);
    capture.follower.on_time(capture.now + Duration::from_secs(45));
    let idle = "no packets of either end in the last 45.0 s of the capture";
    assert_eq!(capture.end(), (EndKind::Idle, idle.into()));
    capture.send(Server, 5001, Kind::CloseReq { ack: SeqNo::new(102) });
    assert_eq!(capture.end(), (EndKind::Closing, "the server sent CloseReq; no answer was captured".into()));
    capture.send(Client, 103, Kind::Close { ack: SeqNo::new(5001) });
    assert_eq!(capture.end(), (EndKind::Closing, "the client sent Close; no answer was captured".into()));
    capture.send(Server, 5002, reset(103, Reset::new(ResetCode::Closed)));
    let (kind, reason) = capture.end();
    assert_eq!(kind, EndKind::Closed);
    assert_eq!(
        reason,
        "the server asked to close (CloseReq), the client sent Close, the server answered with Reset (Closed)"
    );
}

#[test]
fn resets_are_described_with_sender_and_reason() {
    let mut capture = Capture::new();
    capture.open();
    let option = preferences(FeatureAction::ChangeR, 6, &[1]);
    capture.send(Server, 5001, reset(101, Reset::mandatory_error(&option)));
    let end = capture.only().end;
    assert_eq!((end.kind, end.by, end.packet), (EndKind::Reset, Some(Server), Some(4)));
    assert_eq!((end.reset_code, end.reset_data), (Some(6), Some([34, 6, 1])));
    assert_eq!(
        end.reason,
        "the server could not honour the mandatory Change R of Send Ack Vector (Reset, Mandatory Error)"
    );
    // Later packets are anomalies, except for another Reset.
    assert_eq!(capture.data(Client, 102, Kind::Data), [AfterTheEnd]);
    assert_eq!(capture.send(Server, 5002, reset(102, Reset::new(ResetCode::NoConnection))), []);
    assert_eq!(capture.only().end.reset_code, Some(6), "the first Reset ended it");
}

#[test]
fn a_refused_connection_is_not_half_open() {
    let mut capture = Capture::new();
    capture.send(Client, 100, REQUEST);
    capture.send(Server, 0, reset(100, Reset::new(ResetCode::BadServiceCode)));
    let end = capture.end();
    assert_eq!(end.0, EndKind::Reset);
    assert_eq!(end.1, "the server does not serve that Service Code on that port (Reset, Bad Service Code)");
}

#[test]
fn ack_vectors_yield_losses_and_goodput() {
    let mut capture = Capture::new();
    capture.open();
    for sequence in 102..112 {
        capture.data(Client, sequence, Kind::DataAck { ack: SeqNo::new(5000) });
        capture.wait(1);
    }
    let mut vector = AckVectorBuilder::new();
    vector.push(AckState::Received, 3);
    vector.push(AckState::NotReceived, 2);
    vector.push(AckState::ReceivedEcnMarked, 1);
    vector.push(AckState::Received, 4);
    let options: Vec<DccpOption> = vector.into_options(false).collect();
    capture.wait(25);
    assert_eq!(capture.send_with(Server, 5001, ack(111), &options), []);
    let client = &capture.only().halves[0];
    let reported = &client.reported;
    assert_eq!((reported.acknowledged_bytes, reported.lost, reported.marked), (Some(8000), Some(2), Some(1)));
    // 26 ms for the last of them; the Ack of the Response yields the other sample.
    assert_eq!(reported.rtt.map(|rtt| (rtt.min_s, rtt.samples)), Some((0.026, 2)));
    let [row] = &client.intervals[..] else { panic!("{:?}", client.intervals) };
    assert_eq!((row.datagrams, row.lost, row.marked, row.holes), (10, Some(2), Some(1), Some(0)));
    assert!((row.goodput_bps.unwrap() - 64_000.0 / row.length_s).abs() < 1e-6);
}

#[test]
fn tfrc_feedback_counts_only_under_ccid_3_or_4_or_an_experimental_ccid_3() {
    for ccid in [2u8, 3, 250, 251] {
        let mut capture = Capture::new();
        capture.send_with(Client, 100, REQUEST, &[preferences(FeatureAction::ChangeL, 1, &[ccid])]);
        let response = Kind::Response { ack: SeqNo::new(100), service_code: ServiceCode(7) };
        capture.send_with(Server, 5000, response, &[preferences(FeatureAction::ConfirmR, 1, &[ccid])]);
        capture.data(Client, 101, Kind::DataAck { ack: SeqNo::new(5000) });
        capture.wait(100);
        let options = [tfrc::loss_event_rate(50), tfrc::receive_rate(10_000)];
        capture.send_with(Server, 5001, ack(101), &options);
        let client = &capture.only().halves[0];
        assert_eq!((client.ccid, client.ccid_is_known), (Some(ccid.into()), true));
        let expected = matches!(ccid, 3 | 250).then_some((0.02, 80_000.0));
        let reported = &client.reported;
        assert_eq!(reported.loss_event_rate.zip(reported.receive_rate_bps), expected);
        assert_eq!(client.intervals[0].goodput_bps, expected.map(|(_, rate)| rate));
    }
}

#[test]
fn elapsed_time_is_subtracted_from_round_trip_times() {
    use whimbrel_wire::option::Elapsed;
    let mut capture = Capture::new();
    capture.open();
    capture.send_with(Client, 102, Kind::DataAck { ack: SeqNo::new(5000) }, &[DccpOption::Timestamp(77)]);
    capture.wait(50);
    // The server delayed the echo by 20 ms.
    let echo = DccpOption::TimestampEcho { timestamp: 77, elapsed: Elapsed::Short(2000) };
    capture.send_with(Server, 5001, ack(102), &[echo, DccpOption::ElapsedTime(Elapsed::Short(2000))]);
    let rtt = capture.only().halves[0].reported.rtt.unwrap();
    assert_eq!((rtt.samples, rtt.min_s, rtt.max_s), (3, 0.03, 0.03));
}

#[test]
fn packets_outside_the_windows_are_anomalies_without_effect() {
    let mut capture = Capture::new();
    capture.open();
    assert_eq!(capture.data(Client, 102 + 100_000, Kind::Data), [OutsideWindow]);
    assert_eq!(capture.data(Client, 102, Kind::Data), []);
    assert_eq!(capture.send(Client, 103, ack(5001)), [AcknowledgesUnseen]);
    assert_eq!(capture.send(Client, 102, ack(5000)), [RepeatedNumber]);
    let report = capture.only();
    assert_eq!(report.halves[0].seen.holes, Some(0));
    let stray = &report.anomalies[0];
    assert_eq!((stray.kind, stray.count, stray.first_packet), (OutsideWindow, 1, 4));
    assert_eq!(stray.detail, "100102 of the client, window 100 to 176");
}

#[test]
fn a_packet_with_a_wrong_checksum_has_no_effect() {
    let mut capture = Capture::new();
    capture.open();
    let mut segment = capture.segment(Server, 9999, reset(101, Reset::new(ResetCode::Aborted)));
    segment.checksum = Checksum::Bad;
    assert_eq!(capture.pass(&segment), [BadChecksum]);
    assert_eq!(capture.end().0, EndKind::CaptureEnded);
    segment.checksum = Checksum::Absent;
    segment.packet.sequence = SeqNo::new(5001);
    assert_eq!(capture.pass(&segment), [NoChecksum]);
    assert_eq!(capture.end().0, EndKind::Reset);
}

#[test]
fn misplaced_options_and_packets_are_anomalies() {
    let mut capture = Capture::new();
    let response = |code| Kind::Response { ack: SeqNo::new(100), service_code: ServiceCode(code) };
    assert_eq!(capture.send(Server, 5000, response(7)), [ResponseWithoutRequest]);
    let mut capture = Capture::new();
    capture.send(Client, 100, REQUEST);
    assert_eq!(capture.send(Server, 5000, response(8)), [OtherServiceCode]);
    assert_eq!(capture.send(Client, 101, Kind::CloseReq { ack: SeqNo::new(5000) }), [WrongEnd]);
    let change = preferences(FeatureAction::ChangeL, 1, &[3]);
    let on_data = [change, DccpOption::Mandatory, DccpOption::DataChecksum(1)];
    assert_eq!(capture.send_with(Client, 102, Kind::Data, &on_data), [IgnoredOption, WrongDataChecksum]);
    let misplaced = [DccpOption::Mandatory, DccpOption::Mandatory];
    assert_eq!(capture.send_with(Client, 103, ack(5000), &misplaced), [MisplacedMandatory]);
    let odd = [
        DccpOption::Unknown { kind: 50, data: Default::default() },
        DccpOption::Malformed(smallvec_of(&[60, 0])),
    ];
    assert_eq!(capture.send_with(Client, 104, ack(5000), &odd), [MalformedOption, UnknownOption]);
    let mut short = capture.segment(Client, 105, Kind::Data);
    short.packet.extended = false;
    assert_eq!(capture.pass(&short), [ShortNumbersNotAllowed]);
}

fn smallvec_of(bytes: &[u8]) -> whimbrel_wire::OptionBytes {
    whimbrel_wire::OptionBytes::from_slice(bytes)
}

#[test]
fn short_numbers_are_extended() {
    let mut capture = Capture::new();
    capture.send(Client, 0x0012_34ff_fffe, REQUEST);
    let response = Kind::Response { ack: SeqNo::new(0x0012_34ff_fffe), service_code: ServiceCode(7) };
    capture.send(Server, 5000, response);
    capture.send(Client, 0x0012_34ff_ffff, ack(5000));
    let mut short = capture.segment(Client, 0x00_0001, Kind::Data);
    short.packet.extended = false;
    let followed = capture.follower.on_segment(&short);
    assert_eq!(followed.sequence, SeqNo::new(0x0012_3500_0001));
    assert_eq!(capture.only().halves[0].seen.holes, Some(1));
}

#[test]
fn a_new_request_between_the_same_ports_is_a_new_connection() {
    let mut capture = Capture::new();
    capture.open();
    capture.send(Server, 5001, reset(101, Reset::new(ResetCode::Aborted)));
    capture.wait(10);
    capture.send(Client, 777_777, REQUEST);
    let reports = crate::report::connections(&capture.follower);
    assert_eq!(reports.len(), 2);
    assert_eq!((reports[0].end.kind, reports[1].end.kind), (EndKind::Reset, EndKind::Unanswered));
    assert_eq!(reports[1].anomalies, []);
}

#[test]
fn a_listen_before_the_request_belongs_to_the_connection_but_its_number_does_not_count() {
    let mut capture = Capture::new();
    assert_eq!(capture.send(Server, 0, Kind::Listen { service_code: ServiceCode(7) }), []);
    capture.open();
    let report = capture.only();
    assert_eq!((report.roles, report.anomalies), (Roles::Seen, vec![]));
    assert_eq!(report.halves[1].seen.types["Listen"], 1);
    assert_eq!(report.halves[1].seen.holes, Some(0));
    assert!(report.handshake.completed);
}

#[test]
fn connections_beyond_the_limit_are_counted() {
    let config = FollowConfig { max_connections: 2, ..FollowConfig::default() };
    let mut capture = Capture { follower: Follower::new(config), ..Capture::new() };
    for port in 1..=5 {
        capture.ports[0] = port;
        capture.send(Client, 100, REQUEST);
    }
    assert_eq!((crate::report::connections(&capture.follower).len(), capture.follower.refused()), (2, 3));
}

#[test]
fn a_capture_that_begins_in_the_middle_is_followed() {
    let mut capture = Capture::new();
    capture.data(Server, 9000, Kind::DataAck { ack: SeqNo::new(50) });
    let options: Vec<DccpOption> = {
        let mut vector = AckVectorBuilder::new();
        vector.push(AckState::Received, 1);
        vector.into_options(false).collect()
    };
    capture.send_with(Client, 51, ack(9000), &options);
    let report = capture.only();
    assert_eq!((report.roles, report.server.port), (Roles::Guessed, 5004));
    assert_eq!(report.anomalies, []);
    let server = &report.halves[1];
    assert_eq!((server.ccid, server.ccid_is_known), (Some(2), false));
    assert_eq!(server.reported.acknowledged_bytes, Some(1000));
    assert_eq!(report.end.kind, EndKind::CaptureEnded);
}

/// Options that the capture has cut off have negotiated and reported what is unknown, not what holds without
/// them.
#[test]
fn what_options_say_that_were_cut_off_is_unknown() {
    let mut capture = Capture::new();
    capture.open();
    let before = capture.only();
    assert_eq!((before.halves[0].ccid, before.halves[0].ccid_is_known), (Some(2), true));
    let mut vector = AckVectorBuilder::new();
    vector.push(AckState::NotReceived, 1);
    vector.push(AckState::Received, 1);
    let options: Vec<DccpOption> = vector.into_options(false).collect();
    capture.data(Client, 102, Kind::Data);
    capture.send_with(Server, 5001, ack(102), &options);
    assert_eq!(capture.only().halves[0].reported.lost, Some(1));
    let mut cut = capture.segment(Server, 5002, ack(102));
    (cut.is_whole, cut.has_all_options) = (false, false);
    assert_eq!(capture.pass(&cut), []);
    let [client, server] = capture.only().halves;
    assert_eq!((client.reported.lost, client.reported.acknowledged_bytes), (None, None));
    assert_eq!((client.ccid_is_known, server.cut_options), (false, 1));
    // A Confirm has a Change that was cut off; the Sequence Window may be larger than the initial one.
    let confirm = DccpOption::Feature(FeatureOption::preferences(FeatureAction::ConfirmR, 6, &[1]));
    assert_eq!(capture.send_with(Client, 103, ack(5002), &[confirm]), []);
    assert_eq!(capture.data(Client, 400, Kind::Data), []);
}

#[test]
fn the_lateness_of_reordered_packets_is_reported() {
    let mut capture = Capture::new();
    capture.open();
    assert_eq!(capture.only().halves[0].seen.lateness, None);
    // 103 is overtaken by 104, and arrives 25 ms later.
    for (sequence, wait) in [(102, 10), (104, 10), (105, 15), (103, 10), (106, 10)] {
        capture.data(Client, sequence, Kind::Data);
        capture.wait(wait);
    }
    let lateness = capture.only().halves[0].seen.lateness.unwrap();
    assert!((lateness.maximum_s - 0.025).abs() < 1e-9, "{lateness:?}");
    assert_eq!((lateness.median_s, lateness.p99_s), (lateness.maximum_s, lateness.maximum_s));
}

/// RFC 4340, Section 13.3: the echo has four bytes, and the elapsed time none, two or four.
#[test]
fn a_timestamp_echo_of_another_length_than_6_8_or_10_is_an_error() {
    for length in [5, 7, 9, 11] {
        let mut capture = Capture::new();
        capture.open();
        let echo = DccpOption::Unknown { kind: 42, data: smallvec_of(&vec![0; length - 2]) };
        assert_eq!(capture.send_with(Server, 5001, ack(101), &[echo]), [MalformedOption]);
        let [anomaly] = <[_; 1]>::try_from(capture.only().anomalies).unwrap();
        let detail =
            format!("Timestamp Echo of {length} bytes on a Ack packet of the server: expected 6, 8 or 10");
        assert_eq!(anomaly.detail, detail);
    }
}

#[test]
fn ccid_3_options_of_invalid_length_are_errors_under_ccid_3_alone() {
    for (ccid, expected) in [(3, vec![MalformedOption]), (2, vec![])] {
        let mut capture = Capture::new();
        capture.send_with(Client, 100, REQUEST, &[preferences(FeatureAction::ChangeL, 1, &[ccid])]);
        let response = Kind::Response { ack: SeqNo::new(100), service_code: ServiceCode(7) };
        let confirm = preferences(FeatureAction::ConfirmR, 1, &[ccid, ccid]);
        capture.send_with(Server, 5000, response, &[confirm]);
        let rate = DccpOption::CcidSpecific { kind: 194, data: smallvec_of(&[1, 2, 3]) };
        assert_eq!(capture.send_with(Server, 5001, ack(100), &[rate]), expected);
    }
}
