use core::net::IpAddr;

use bytes::Bytes;
use proptest::prelude::*;
use whimbrel_wire::{ChecksumCoverage, Ecn, Kind, Options, Packet, Payload, ServiceCode};

use super::*;
use crate::follow::Follower;
use crate::segment::Checksum;

/// A receiver's capture: the client's sequence numbers start at the last one and wrap.
struct Capture {
    follower: Follower,
    list: StreamList,
    number: u64,
}

const FIRST: u64 = SeqNo::MODULUS - 2;

impl Capture {
    fn new() -> Self {
        let mut capture =
            Self { follower: Follower::new(FollowConfig::default()), list: StreamList::default(), number: 0 };
        capture.pass(0, 0, Kind::Request { service_code: ServiceCode(42) }, 0, None);
        capture
    }

    fn data(&mut self, ms: u64, nth: u64, timestamp: Option<u32>) {
        self.pass(ms, nth, Kind::Data, 100, timestamp);
    }

    /// Captures the client's packet `nth`.
    fn pass(&mut self, ms: u64, nth: u64, kind: Kind, bytes: usize, timestamp: Option<u32>) {
        self.number += 1;
        let at = Instant::from_millis(1000 + ms);
        let segment = Segment {
            number: self.number,
            at,
            first_at: at,
            interface: 0,
            copy: 1,
            source: IpAddr::from([192, 0, 2, 1]),
            destination: IpAddr::from([192, 0, 2, 2]),
            udp: None,
            ecn: Ecn::NotEct,
            checksum: Checksum::Good,
            is_whole: true,
            has_all_options: true,
            packet: Packet {
                source_port: 40_000,
                destination_port: 5004,
                ccval: 0,
                checksum_coverage: ChecksumCoverage::ALL,
                extended: true,
                sequence: SeqNo::new(FIRST + nth),
                kind,
                options: timestamp.map(DccpOption::Timestamp).into_iter().collect::<Options>(),
                payload: Payload::from(Bytes::from(vec![7; bytes])),
            },
        };
        let followed = self.follower.on_segment(&segment);
        self.list.on_seen(&Seen::Dccp(Box::new(segment), followed));
    }

    fn only(self) -> Stream {
        let inspector = Inspector::new(FollowConfig::default(), &[]);
        let [only] = <[_; 1]>::try_from(self.list.into_streams(&inspector)).expect("one stream");
        only
    }
}

#[test]
fn sequence_numbers_continue_over_the_wrap() {
    let mut capture = Capture::new();
    for (ms, nth) in [(10, 1), (20, 2), (40, 4), (45, 3)] {
        capture.data(ms, nth, None);
    }
    let stream = capture.only();
    let numbers: Vec<u64> = stream.packets.iter().map(|packet| packet.sequence).collect();
    let first = SeqNo::MODULUS + FIRST;
    assert_eq!(numbers, [0, 1, 2, 4, 3].map(|nth| first + nth));
    assert_eq!((stream.packets.len(), stream.with_data(), stream.with_send_time()), (5, 4, 0));
}

/// There are 250 units of 10 microseconds between the two, the sixth of which is the wrap.
#[test]
fn send_times_continue_over_the_wrap() {
    let mut capture = Capture::new();
    capture.data(10, 1, Some(u32::MAX - 5));
    capture.data(20, 2, Some(244));
    let stream = capture.only();
    let sent: Vec<Instant> = stream.packets.iter().filter_map(|packet| packet.sent).collect();
    assert_eq!(sent[1] - sent[0], Duration::from_micros(2500));
    assert_eq!((stream.with_data(), stream.with_send_time()), (2, 2));
}

#[test]
fn a_packet_with_the_same_number_is_listed_once() {
    let mut capture = Capture::new();
    for ms in [10, 11] {
        capture.data(ms, 1, None);
    }
    assert_eq!(capture.only().packets.len(), 2, "the Request and one packet");
}

#[test]
fn time_does_not_decrease() {
    let mut capture = Capture::new();
    capture.data(30, 1, None);
    capture.data(10, 2, None);
    let times: Vec<Instant> = capture.only().packets.iter().map(|packet| packet.at).collect();
    assert_eq!(times[1..], [Instant::from_millis(1030); 2]);
}

#[test]
fn a_direction_without_data_is_not_listed() {
    let inspector = Inspector::new(FollowConfig::default(), &[]);
    assert!(Capture::new().list.into_streams(&inspector).is_empty());
}

/// Segments of TCP by their place in units of 1000 bytes, and whether they were sent before.
fn tcp(segments: &[(u64, bool)]) -> Vec<u64> {
    let passed = |&(place, is_repeated): &(u64, bool)| Passed {
        number: 1,
        at: Instant::ZERO,
        sequence: 5000 + place * 1000,
        bytes: 1000,
        sent: None,
        is_repeated,
    };
    let packets: Vec<Passed> = segments.iter().map(passed).collect();
    numbers::of_segments(&packets).iter().map(|(number, _)| *number).collect()
}

#[test]
fn segments_of_tcp_that_were_sent_again_were_lost() {
    assert_eq!(tcp(&[(0, false), (1, false), (2, false)]), [1, 2, 3]);
    // At the receiver: two were lost and are there later; one was overtaken.
    assert_eq!(tcp(&[(0, false), (3, false), (1, true), (2, true), (5, false), (4, false)]), [1, 4, 5, 6]);
    // At the sender: the capture has both.
    assert_eq!(tcp(&[(0, false), (1, false), (2, false), (1, true), (3, false)]), [1, 3, 4]);
}

proptest! {
    /// For any input in any order, sequence numbers keep their low 48 bits and are listed once, and time does
    /// not decrease.
    #[test]
    fn a_list_is_in_order_and_without_repetitions(
        packets in prop::collection::vec((0u64..5000, 1u64..60, prop::option::of(any::<u32>())), 1..120),
    ) {
        let mut capture = Capture::new();
        for &(ms, nth, timestamp) in &packets {
            capture.data(ms, nth, timestamp);
        }
        let passed = capture.only().packets;
        prop_assert!(passed.is_sorted_by_key(|packet| packet.at));
        let mut numbers: Vec<u64> = passed.iter().map(|packet| packet.sequence).collect();
        let first = numbers[0];
        numbers.sort_unstable();
        numbers.dedup();
        prop_assert_eq!(numbers.len(), passed.len());
        let known: std::collections::BTreeSet<u64> = packets.iter().map(|packet| packet.1).chain([0]).collect();
        prop_assert!(numbers.iter().all(|number| known.contains(&(number - first))), "{numbers:?}");
    }
}
