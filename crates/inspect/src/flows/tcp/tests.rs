use core::net::IpAddr;

use whimbrel_wire::Ecn;

use super::*;
use crate::flows::{Flows, TcpFollowed};
use crate::follow::FollowConfig;
use crate::report::flow::TcpReport;
use crate::segment::Checksum;

const ACK: u8 = 0x10;

/// A connection whose client sends; its numbers wrap.
struct Capture {
    flows: Flows,
    now: u64,
}

const FIRST: u32 = u32::MAX - 1500;

impl Capture {
    fn new() -> Self {
        Self { flows: Flows::new(FollowConfig::default()), now: 0 }
    }

    fn pass(
        &mut self,
        is_client: bool,
        sequence: u32,
        ack: Option<u32>,
        flags: u8,
        size: u32,
    ) -> TcpFollowed {
        let ends = [IpAddr::from([192, 0, 2, 1]), IpAddr::from([192, 0, 2, 2])];
        let (source, destination) = if is_client { (0, 1) } else { (1, 0) };
        let ports = [40_000, 443];
        let at = Instant::from_millis(self.now);
        self.flows.on_tcp(&Segment {
            number: 1,
            at,
            first_at: at,
            interface: 0,
            copy: 1,
            source: ends[source],
            destination: ends[destination],
            udp: None,
            ecn: Ecn::NotEct,
            checksum: Checksum::Unknown,
            is_whole: true,
            has_all_options: true,
            packet: TcpHeader {
                source_port: ports[source],
                destination_port: ports[destination],
                sequence,
                ack,
                flags,
                size,
            },
        })
    }

    /// Handshake with 30 ms to the server and 5 ms to the client.
    fn open(&mut self) {
        self.pass(true, FIRST.wrapping_sub(1), None, TcpHeader::SYN, 0);
        self.now += 30;
        self.pass(false, 4999, Some(FIRST), TcpHeader::SYN | ACK, 0);
        self.now += 5;
        self.pass(true, FIRST, Some(5000), ACK, 0);
    }

    /// The client's nth segment of 1000 bytes.
    fn data(&mut self, nth: u32) -> TcpPlace {
        self.pass(true, FIRST.wrapping_add(nth * 1000), Some(5000), ACK, 1000).data.expect("data")
    }

    fn ack(&mut self, nth: u32) {
        self.pass(false, 5000, Some(FIRST.wrapping_add(nth * 1000)), ACK, 0);
    }

    fn report(&self) -> TcpReport {
        let [client, _] = <[_; 2]>::try_from(crate::report::flow::flows(&self.flows, Instant::ZERO)).unwrap();
        client.tcp.expect("TCP")
    }
}

#[test]
fn data_without_losses_have_round_trip_times_only() {
    let mut capture = Capture::new();
    capture.open();
    for nth in 0..5 {
        let place = capture.data(nth);
        assert!(place.is_new && !place.is_retransmission && place.missing == 0);
        capture.now += 40;
        capture.ack(nth + 1);
    }
    let report = capture.report();
    assert_eq!((report.retransmissions, report.late, report.missing_bytes), (0, 0, 0));
    let rtt = report.rtt.unwrap();
    assert_eq!((rtt.samples, rtt.min_s, rtt.max_s), (6, 0.030, 0.040));
}

#[test]
fn a_loss_before_the_capture_point_is_a_hole_that_is_filled() {
    let mut capture = Capture::new();
    capture.open();
    capture.data(0);
    assert_eq!(capture.data(3).missing, 2);
    assert_eq!(capture.report().missing_bytes, 2000);
    capture.now += 50;
    let place = capture.data(1);
    assert!(place.is_retransmission && place.is_new);
    let report = capture.report();
    assert_eq!((report.retransmissions, report.lost_before, report.missing_bytes), (1, 1, 1000));
    assert_eq!(report.retransmitted_bytes, 1000);
}

#[test]
fn a_loss_behind_the_capture_point_is_seen_again() {
    let mut capture = Capture::new();
    capture.open();
    capture.data(0);
    capture.data(1);
    capture.now += 50;
    let place = capture.data(0);
    assert!(place.is_retransmission && !place.is_new);
    // Karn's algorithm: the acknowledgement may belong to either.
    capture.now += 500;
    capture.ack(1);
    let report = capture.report();
    assert_eq!((report.retransmissions, report.lost_before), (1, 0));
    assert_eq!(report.rtt.unwrap().samples, 1, "the handshake's");
}

#[test]
fn a_segment_that_was_overtaken_is_no_retransmission() {
    let mut capture = Capture::new();
    capture.open();
    capture.data(0);
    capture.data(2);
    capture.now += 5;
    assert!(!capture.data(1).is_retransmission);
    let report = capture.report();
    assert_eq!((report.late, report.retransmissions, report.missing_bytes), (1, 0, 0));
}

/// A keep-alive probe has a byte that was acknowledged; a Reset has any number.
#[test]
fn probes_and_resets_are_no_data() {
    let mut capture = Capture::new();
    capture.open();
    capture.data(0);
    assert_eq!(capture.pass(true, FIRST.wrapping_add(999), Some(5000), ACK, 1).data, None);
    assert_eq!(capture.pass(true, 77, None, TcpHeader::RST, 0).data, None);
    let report = capture.report();
    assert!(report.reset && report.retransmissions == 0 && report.missing_bytes == 0);
}
