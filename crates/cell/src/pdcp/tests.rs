use std::vec::Vec;

use whimbrel_units::{ByteCount, Duration, Ecn, Instant};

use super::Reordering;
use crate::packet::{Number, Packet, PacketId};

fn packet(id: u64) -> Packet {
    Packet { id: PacketId(id), size: ByteCount::new(100), ecn: Ecn::NotEct }
}

/// Packets that arrive one a millisecond, in the order of their numbers, without number 10: those that leave,
/// with their times.
fn without_ten(wait: Duration) -> Vec<(u64, u64)> {
    let mut order = Reordering::new(Some(wait));
    let mut left = Vec::new();
    for millis in 0..200 {
        let now = Instant::from_millis(millis);
        if millis != 10 {
            order.handle_packet(now, Number(millis), packet(millis)).unwrap();
        }
        order.handle_timeout(now);
        while let Some((number, _)) = order.poll_packet() {
            left.push((number.0, millis));
        }
    }
    left
}

#[test]
fn the_window_waits_for_its_timer() {
    let left = without_ten(Duration::from_millis(35));
    let together: Vec<u64> = left.iter().filter(|(_, at)| *at == 46).map(|(number, _)| *number).collect();
    assert_eq!(together, (11..=46).collect::<Vec<_>>());
    assert_eq!(left.len(), 199);
}

#[test]
fn a_window_without_time_holds_nothing() {
    let left = without_ten(Duration::ZERO);
    assert!(left.iter().all(|(number, at)| number == at));
    assert_eq!(left.len(), 199);
}

#[test]
fn a_packet_that_is_late_is_given_back() {
    let mut order = Reordering::new(Some(Duration::ZERO));
    order.handle_packet(Instant::ZERO, Number(1), packet(1)).unwrap();
    assert_eq!(order.handle_packet(Instant::ZERO, Number(0), packet(0)), Err(packet(0)));
}

#[test]
fn a_second_copy_is_given_back() {
    let mut order = Reordering::new(None);
    order.handle_packet(Instant::ZERO, Number(1), packet(1)).unwrap();
    assert_eq!(order.handle_packet(Instant::ZERO, Number(1), packet(1)), Err(packet(1)));
    assert_eq!(order.poll_packet(), None);
    assert_eq!(order.poll_timeout(), None);
    order.handle_packet(Instant::ZERO, Number(0), packet(0)).unwrap();
    assert_eq!(order.poll_packet(), Some((Number(0), packet(0))));
    assert_eq!(order.poll_packet(), Some((Number(1), packet(1))));
}

#[test]
fn a_new_gap_starts_the_timer_again() {
    let mut order = Reordering::new(Some(Duration::from_millis(30)));
    order.handle_packet(Instant::ZERO, Number(1), packet(1)).unwrap();
    order.handle_packet(Instant::from_millis(20), Number(3), packet(3)).unwrap();
    order.handle_timeout(Instant::from_millis(30));
    assert_eq!(order.poll_packet(), Some((Number(1), packet(1))));
    assert_eq!(order.poll_packet(), None);
    assert_eq!(order.poll_timeout(), Some(Instant::from_millis(60)));
    order.handle_given_up(Instant::from_millis(40), Number(2));
    assert_eq!(order.poll_packet(), Some((Number(3), packet(3))));
    assert_eq!(order.poll_timeout(), None);
}
