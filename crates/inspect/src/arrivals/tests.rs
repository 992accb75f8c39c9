use core::net::IpAddr;

use bytes::Bytes;
use proptest::prelude::*;
use whimbrel_units::Duration;
use whimbrel_wire::{ChecksumCoverage, Ecn, Kind, Options, Packet, Payload, ServiceCode};

use super::*;
use crate::dissect::Checksum;
use crate::follow::{FollowConfig, Follower};

/// A receiver's capture: the client's sequence numbers start at the last one and wrap.
struct Capture {
    follower: Follower,
    list: ArrivalList,
    number: u64,
}

const FIRST: u64 = SeqNo::MODULUS - 2;

impl Capture {
    fn new() -> Self {
        let mut capture =
            Self { follower: Follower::new(FollowConfig::default()), list: ArrivalList::new(), number: 0 };
        capture.pass(0, 0, Kind::Request { service_code: ServiceCode(42) }, 0, None);
        capture
    }

    fn data(&mut self, ms: u64, nth: u64, timestamp: Option<u32>) {
        self.pass(ms, nth, Kind::Data, 100, timestamp);
    }

    /// Captures the client's packet `nth`.
    fn pass(&mut self, ms: u64, nth: u64, kind: Kind, bytes: usize, timestamp: Option<u32>) {
        self.number += 1;
        let segment = Segment {
            number: self.number,
            at: Instant::from_millis(1000 + ms),
            interface: 0,
            source: IpAddr::from([192, 0, 2, 1]),
            destination: IpAddr::from([192, 0, 2, 2]),
            udp: None,
            ecn: Ecn::NotEct,
            checksum: Checksum::Good,
            is_whole: true,
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
        self.list.on_seen(&Seen::Packets(vec![(segment, followed)]));
    }

    fn only(self) -> Direction {
        let mut directions = self.list.into_data_directions();
        let only = directions.next().expect("one direction");
        assert!(directions.next().is_none());
        only
    }
}

#[test]
fn sequence_numbers_continue_over_the_wrap() {
    let mut capture = Capture::new();
    for (ms, nth) in [(10, 1), (20, 2), (40, 4), (45, 3)] {
        capture.data(ms, nth, None);
    }
    let direction = capture.only();
    let numbers: Vec<u64> = direction.packets.iter().map(|packet| packet.sequence).collect();
    let first = SeqNo::MODULUS + FIRST;
    assert_eq!(numbers, [0, 1, 2, 4, 3].map(|nth| first + nth));
    assert_eq!((direction.packets.len(), direction.with_data(), direction.with_send_time()), (5, 4, 0));
}

/// There are 250 units of 10 microseconds between the two, the sixth of which is the wrap.
#[test]
fn send_times_continue_over_the_wrap() {
    let mut capture = Capture::new();
    capture.data(10, 1, Some(u32::MAX - 5));
    capture.data(20, 2, Some(244));
    let direction = capture.only();
    let sent: Vec<Instant> = direction.packets.iter().filter_map(|packet| packet.sent).collect();
    assert_eq!(sent[1] - sent[0], Duration::from_micros(2500));
    assert_eq!((direction.with_data(), direction.with_send_time()), (2, 2));
}

#[test]
fn a_packet_captured_twice_is_listed_once() {
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
    let capture = Capture::new();
    assert_eq!(capture.list.into_data_directions().count(), 0);
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
