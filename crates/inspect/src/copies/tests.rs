use core::net::IpAddr;

use whimbrel_wire::Ecn;
use whimbrel_wire::udp_encapsulation::UdpPorts;

use super::*;
use crate::segment::{Checksum, Datagram, Segment};

/// A capture of one flow.
#[derive(Default)]
struct Capture {
    copies: Copies,
    number: u64,
    counted: Vec<Counted>,
}

/// Record, milliseconds, copy.
type Counted = (u64, u64, u32);

/// Point of capture: interface, place, time to live.
type Place = (u32, u64, u8);

const A: Place = (0, 1, 64);
const B: Place = (1, 1, 64);
const C: Place = (2, 1, 64);

impl Capture {
    fn of(viewpoint: Viewpoint) -> Self {
        Self { copies: Copies::new(viewpoint), ..Self::default() }
    }

    fn see(&mut self, ms: u64, identity: u64, place: Place) {
        self.push(ms, identity, place, true, false);
    }

    fn push(
        &mut self,
        ms: u64,
        number: u64,
        (interface, place, ttl): Place,
        is_unique: bool,
        is_retry: bool,
    ) {
        self.number += 1;
        let at = Instant::from_millis(ms);
        let segment = Segment {
            number: self.number,
            at,
            first_at: at,
            interface,
            copy: 1,
            source: IpAddr::from([192, 0, 2, 1]),
            destination: IpAddr::from([192, 0, 2, 2]),
            udp: Some(UdpPorts { source: 1, destination: 2 }),
            ecn: Ecn::NotEct,
            checksum: Checksum::Good,
            is_whole: true,
            has_all_options: true,
            packet: Datagram { size: 1, head: None, tail: None },
        };
        let identity = Identity { number, is_unique };
        self.copies.push(AnySegment::Udp(segment), &Sighting { identity, interface, place, ttl, is_retry });
        self.take(false);
    }

    fn take(&mut self, is_end: bool) {
        while let Some(AnySegment::Udp(segment)) = self.copies.pop(is_end) {
            assert!(segment.first_at <= segment.at);
            self.counted.push((segment.number, segment.at.as_nanos() / 1_000_000, segment.copy));
        }
    }

    /// The times of the packets that count.
    fn times(mut self) -> Vec<u64> {
        self.take(true);
        let counted = self.counted.len() as u64;
        assert_eq!(counted + self.copies.copies(), self.number, "each packet counts, or is a copy");
        self.counted.into_iter().map(|(_, ms, _)| ms).collect()
    }
}

/// Ten packets pass A and, 5 ms later, B; the third and the sixth are lost between them.
fn two_points(viewpoint: Viewpoint, a: Place, b: Place) -> Capture {
    let mut capture = Capture::of(viewpoint);
    for nth in 0..10 {
        capture.see(nth * 10, nth, a);
        if nth != 2 && nth != 5 {
            capture.see(nth * 10 + 5, nth, b);
        }
    }
    capture
}

const AT_B: [u64; 8] = [5, 15, 35, 45, 65, 75, 85, 95];
const AT_A: [u64; 10] = [0, 10, 20, 30, 40, 50, 60, 70, 80, 90];

#[test]
fn packets_count_at_the_receiver_or_at_the_sender() {
    assert_eq!(two_points(Viewpoint::Receiver, A, B).times(), AT_B);
    assert_eq!(two_points(Viewpoint::Sender, A, B).times(), AT_A);
    let mut capture = two_points(Viewpoint::Receiver, A, B);
    capture.take(true);
    assert_eq!(capture.counted[0], (2, 5, 2), "the second copy of the first packet");
}

/// As when two captures of equal interfaces are merged into one.
#[test]
fn points_that_look_alike_are_told_apart_by_what_passes_twice() {
    assert_eq!(two_points(Viewpoint::Receiver, A, A).times(), AT_B);
    assert_eq!(two_points(Viewpoint::Sender, A, A).times(), AT_A);
}

/// The clock of the sender's interface is late: the time to live has the order.
#[test]
fn the_time_to_live_decides_against_the_clocks() {
    assert_eq!(two_points(Viewpoint::Receiver, (0, 1, 63), (1, 1, 64)).times(), AT_A);
    assert_eq!(two_points(Viewpoint::Sender, (0, 1, 63), (1, 1, 64)).times(), AT_B);
}

#[test]
fn three_hops_are_one_path() {
    let mut capture = Capture::default();
    for nth in 0..100 {
        for (hop, place) in [A, B, C].into_iter().enumerate() {
            if nth % 10 != hop as u64 {
                capture.see(nth * 50 + hop as u64 * 5, nth, place);
            } else {
                break;
            }
        }
    }
    let times = capture.times();
    assert_eq!(times.len(), 70);
    assert!(times.iter().all(|ms| ms % 50 == 10), "all at the last hop: {times:?}");
}

/// A path that moves from one link to another has two ends, and packets count at both.
#[test]
fn a_flow_that_moves_counts_on_both_paths() {
    let mut capture = Capture::default();
    for nth in 0..100 {
        capture.see(nth * 50, nth, A);
        capture.see(nth * 50 + 5, nth, if nth < 50 { B } else { C });
    }
    assert_eq!(capture.times(), (0..100).map(|nth| nth * 50 + 5).collect::<Vec<_>>());
}

/// The path duplicates a packet now and then: both are its packets.
#[test]
fn duplicates_of_the_path_are_no_copies() {
    let mut capture = Capture::default();
    for nth in 0..40 {
        capture.see(nth * 10, nth, A);
        if nth % 8 == 0 {
            capture.see(nth * 10 + 1, nth, A);
        }
    }
    assert_eq!(capture.times().len(), 45);
    // Three packets that are alike show no second point.
    let mut alike = Capture::default();
    for ms in [0, 10, 20] {
        alike.see(ms, 7, A);
    }
    assert_eq!(alike.times().len(), 3);
}

/// Datagrams without numbers may have the same content again and again; on two interfaces their order shows
/// them apart.
#[test]
fn packets_that_are_alike_are_not_mistaken_for_copies() {
    let mut one = Capture::default();
    let mut two = Capture::default();
    for nth in 0..300 {
        one.push(nth * 10, 7, A, false, false);
        two.push(nth * 10, 7, A, false, false);
        two.push(nth * 10 + 5, 7, B, false, false);
    }
    assert_eq!(one.times().len(), 300);
    assert_eq!(two.times(), (0..300).map(|nth| nth * 10 + 5).collect::<Vec<_>>());
}

#[test]
fn repetitions_of_the_link_layer_count_once() {
    let mut capture = Capture::default();
    for nth in 0..10 {
        capture.see(nth * 10, nth, A);
        for retry in 0..nth % 4 {
            capture.push(nth * 10 + retry + 1, nth, A, true, true);
        }
    }
    // Of the last packet, the first frame was not captured.
    capture.push(100, 10, A, true, true);
    assert_eq!(capture.times(), (0..=10).map(|nth| nth * 10).collect::<Vec<_>>());
}

#[test]
fn memory_is_bounded() {
    let mut capture = Capture::default();
    for nth in 0..(MAX_KNOWN as u64 + 10_000) {
        capture.see(0, nth, A);
        assert!(capture.copies.line.len() <= MAX_HELD + 1 && capture.copies.known.len() <= MAX_KNOWN);
    }
    assert_eq!(capture.copies.by_identity.len(), capture.copies.known.len());
    capture.see(11_000, 0, A);
    assert_eq!((capture.copies.known.len(), capture.copies.by_identity.len()), (1, 1));
}
