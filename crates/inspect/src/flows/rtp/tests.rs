use core::net::IpAddr;

use whimbrel_units::Instant;
use whimbrel_wire::Ecn;
use whimbrel_wire::udp_encapsulation::UdpPorts;

use super::*;
use crate::flows::{FlowContent, Flows};
use crate::follow::FollowConfig;
use crate::report::flow::{FlowReport, RtpReport};
use crate::segment::Checksum;

struct Capture {
    flows: Flows,
    now: u64,
}

impl Capture {
    fn new() -> Self {
        Self { flows: Flows::new(FollowConfig::default()), now: 0 }
    }

    fn datagram(&mut self, head: [u8; 12]) -> Option<RtpPlace> {
        self.now += 20;
        let at = Instant::from_millis(self.now);
        let segment = Segment {
            number: self.now,
            at,
            first_at: at,
            interface: 0,
            copy: 1,
            source: IpAddr::from([192, 0, 2, 1]),
            destination: IpAddr::from([192, 0, 2, 2]),
            udp: Some(UdpPorts { source: 4000, destination: 5004 }),
            ecn: Ecn::NotEct,
            checksum: Checksum::Good,
            is_whole: true,
            has_all_options: true,
            packet: Datagram { size: 172, head: Some(head), tail: None },
        };
        self.flows.on_udp(&segment).rtp
    }

    fn rtp(&mut self, number: u16, timestamp: u32, marker: bool) -> Option<RtpPlace> {
        let ([a, b], [c, d, e, f]) = (number.to_be_bytes(), timestamp.to_be_bytes());
        self.datagram([0x80, 96 | u8::from(marker) << 7, a, b, c, d, e, f, 0, 0, 0, 9])
    }

    fn reports(&self) -> Vec<FlowReport> {
        crate::report::flow::flows(&self.flows, Instant::ZERO)
    }

    #[track_caller]
    fn only(&self) -> RtpReport {
        let [report] = <[_; 1]>::try_from(self.reports()).unwrap();
        report.rtp.expect("RTP")
    }
}

#[test]
fn losses_reordering_and_repetitions_are_counted_over_the_wrap() {
    let mut capture = Capture::new();
    // 65535 and 2 are missing, 1 is late, 3 comes twice.
    for number in [65_532, 65_533, 65_534, 0, 3, 1, 3, 4] {
        capture.rtp(number, u32::from(number.wrapping_add(9)) * 160, false);
    }
    let report = capture.only();
    assert_eq!((report.missing, report.late, report.repeated, report.restarts), (2, 1, 1, 0));
    assert_eq!(report.lateness.map(|late| late.maximum_s), Some(0.02));
}

/// A sender that is restarted, forwards or backwards, has lost nothing.
#[test]
fn numbers_that_begin_anew_are_no_losses() {
    let mut capture = Capture::new();
    let mut unwrapped = Vec::new();
    for first in [100u16, 40_000, 200, 20_000] {
        for nth in 0..20 {
            unwrapped
                .extend(capture.rtp(first + nth, u32::from(nth) * 160, false).map(|place| place.sequence));
        }
    }
    let report = capture.only();
    assert_eq!((report.missing, report.late, report.repeated, report.restarts), (0, 0, 0, 3));
    // The first packet after a restart could be a stray one.
    assert_eq!(unwrapped.len(), 80 - 3);
    assert!(unwrapped.windows(2).all(|pair| pair[1] == pair[0] + 1));
    // One number far away is none.
    capture.rtp(9, 0, false);
    assert!(capture.rtp(20_020, 3200, false).is_some());
    assert_eq!(capture.only().restarts, 3);
    // A little further back, numbers are first taken for those that were captured before.
    for nth in 0..20 {
        capture.rtp(19_990 + nth, u32::from(nth) * 160, false);
    }
    let report = capture.only();
    assert_eq!((report.missing, report.late, report.repeated, report.restarts), (0, 0, 0, 4));
}

/// RFC 3550, Section 6.4.1: J += (|D| - J) / 16.
#[test]
fn jitter_follows_the_clock_of_the_timestamps() {
    let mut capture = Capture::new();
    for nth in 0..50u16 {
        capture.rtp(nth, u32::from(nth) * 960, false);
    }
    let report = capture.only();
    assert_eq!((report.clock_hz, report.jitter_s), (Some(48_000.0), Some(0.0)));
    capture.now += 16;
    capture.rtp(50, 50 * 960, false);
    let jitter = capture.only().jitter_s.unwrap();
    assert!((jitter - 0.001).abs() < 1e-9, "16 ms late once: {jitter}");
}

#[test]
fn frames_are_whole_or_not() {
    let mut capture = Capture::new();
    let mut number = 0;
    for frame in 0..40u32 {
        for part in 0..3 {
            // The first, a middle and the last packet of frames are lost, and a whole frame; one packet is
            // late.
            let is_lost = matches!((frame, part), (5, 0) | (10, 1) | (15, 2) | (20, _));
            if !is_lost && (frame, part) != (25, 1) {
                capture.rtp(number, frame * 3000, part == 2);
            }
            number += 1;
        }
        if frame == 26 {
            capture.rtp(25 * 3 + 1, 25 * 3000, false);
        }
    }
    let report = capture.only();
    assert_eq!((report.frames, report.missing, report.late), (39, 6, 1));
    // The frame after each loss at an end may have lost its beginning.
    assert_eq!(report.whole_frames, 39 - 3 - 2);
    assert_eq!(report.clock_hz, Some(90_000.0), "video");
}

/// A source is RTP by evidence: formats that begin with the same two bits are not.
#[test]
fn other_datagrams_are_not_mistaken_for_rtp() {
    let mut capture = Capture::new();
    for nth in 0..100u8 {
        // MessagePack: a map whose number changes where RTP has its SSRC; SRT control: a constant type and a
        // timestamp.
        capture.datagram([0x82, 0xa1, b't', nth, 0xcf, 0, 0, 0, 0, 1, nth, nth.wrapping_mul(7)]);
        capture.datagram([0x80, 2, 0, 0, 0, 0, 0, nth, 0, 1, nth, 0]);
        // CBOR with the same bytes each time, and RTCP.
        capture.datagram([0x83, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
        capture.datagram([0x80, 200, 0, nth, 0, 0, 0, 1, 0, 0, 0, 0]);
    }
    let reports = capture.reports();
    assert_eq!(reports.len(), 1);
    assert!(reports[0].rtp.is_none() && reports[0].packets == 400);
    let FlowContent::Udp(streams) = &capture.flows.flows()[0].content else { panic!("UDP") };
    assert!(streams.0.len() <= MAX_STREAMS);
    // Two streams between the same ports, and what is neither.
    for nth in 0..10u16 {
        capture.rtp(nth, 0, false);
    }
    let reports = capture.reports();
    assert_eq!(
        reports.iter().map(|one| (one.rtp.is_some(), one.packets)).collect::<Vec<_>>(),
        [(true, 10), (false, 410)]
    );
}
