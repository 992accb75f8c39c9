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
fn the_largest_size_of_an_eighth_of_the_packets_is_common() {
    let mut sizes = CommonSize::default();
    // A key frame among acknowledgements, then a steady mix.
    for _ in 0..100 {
        has_trip_time(&mut sizes, 60);
    }
    let size = |n: u64| if n % 5 == 0 { 1240 } else { 60 };
    for n in 0..300 {
        has_trip_time(&mut sizes, size(n));
    }
    assert!((0..100).all(|n| has_trip_time(&mut sizes, size(n)) == (n % 5 == 0)));
}

#[test]
fn another_size_becomes_the_common_one_when_it_is_gone() {
    let mut sizes = CommonSize::default();
    for _ in 0..1000 {
        has_trip_time(&mut sizes, 1240);
    }
    let missing = (0..1000).take_while(|_| !has_trip_time(&mut sizes, 200)).count();
    assert_eq!(missing, 225, "a smaller one");
    for _ in 0..1000 {
        has_trip_time(&mut sizes, 200);
    }
    let missing = (0..1000).take_while(|_| !has_trip_time(&mut sizes, 1240)).count();
    assert_eq!(missing, 5, "a larger one");
}
