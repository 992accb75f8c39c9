//! Data cost no heap allocation in the steady state, nor do short acknowledgements.

#[path = "support/lane.rs"]
mod lane;

use allocation_counter::measure;
use lane::Lane;
use whimbrel_proto::Ccid;
use whimbrel_units::Duration;

/// Allocations while `datagrams` travel on a link that takes `per_packet` for each, once everything has its
/// size; and packets sent meanwhile.
fn allocations(ccid: Ccid, per_packet: Duration, datagrams: u64) -> (u64, u64) {
    let mut lane = Lane::connected(ccid, per_packet);
    lane.run(3 * datagrams);
    let before = lane.packets();
    let info = measure(|| lane.run(datagrams));
    (info.count_total, lane.packets() - before)
}

#[test]
fn under_ccid_3_only_feedback_allocates() {
    // Feedback is one packet per round-trip time, a thousandth here, with more options than are held in
    // place.
    let (allocations, packets) = allocations(Ccid::TFRC, Duration::from_micros(10), 100_000);
    assert!(packets > 100_000);
    assert!(allocations < packets / 100, "{allocations} allocations in {packets} packets");
}

#[test]
fn under_ccid_2_nothing_allocates_as_long_as_ack_vectors_are_short() {
    let (allocations, packets) = allocations(Ccid::TCP_LIKE, Duration::from_micros(200), 20_000);
    assert!(packets > 29_000, "{packets} packets, a third of them acknowledgements");
    assert!(allocations < 20, "{allocations} allocations in {packets} packets");
}
