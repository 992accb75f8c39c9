use std::vec::Vec;
use whimbrel_units::ByteCount;

use super::super::PacketArrival;
use super::super::common_size::{CommonSize, TripTime};
use super::packet;

/// `true` if a packet of `size` bytes has a trip time.
fn has_trip_time(sizes: &mut CommonSize, size: u64) -> bool {
    let arrival = PacketArrival { size: ByteCount::new(size), ..packet(0, 0.0, 20.0) };
    matches!(sizes.trip_time(&arrival), TripTime::Next(_))
}

#[test]
fn rare_larger_packets_do_not_become_the_common_size() {
    let mut sizes = CommonSize::default();
    // A relay divides most datagrams; one in ten packets is a datagram that passes undivided.
    let with: Vec<bool> =
        (0..1000).map(|n| has_trip_time(&mut sizes, if n % 10 == 9 { 1100 } else { 640 })).collect();
    let expected = (0..1000).map(|n| n > 0 && n % 10 != 9);
    assert!(with.into_iter().eq(expected));
}

#[test]
fn a_size_of_an_eighth_of_the_packets_stays_the_common_one() {
    let mut sizes = CommonSize::default();
    let size = |n: u64| if n.is_multiple_of(7) { 1240 } else { 60 };
    has_trip_time(&mut sizes, size(0));
    assert!((1..2000).all(|n| has_trip_time(&mut sizes, size(n)) == n.is_multiple_of(7)));
}

#[test]
fn another_size_becomes_the_common_one_when_it_is_gone() {
    let mut sizes = CommonSize::default();
    for (size, before) in [(1240, 1), (200, 57), (1240, 57)] {
        let missing = (0..1000).take_while(|_| !has_trip_time(&mut sizes, size)).count();
        assert_eq!(missing, before, "{size} bytes");
        for _ in 0..100 {
            has_trip_time(&mut sizes, size);
        }
    }
}
