use alloc::vec::Vec;

use whimbrel_units::{ByteCount, Duration, Ecn, Instant};

use super::{MOST, MissingPackets};
use crate::media::{PacketReport, Reception, SentPacket};

/// The packet `sequence`, sent at that many milliseconds.
fn report(sequence: u64, arrived: bool) -> PacketReport {
    let sent_at = Instant::from_millis(sequence);
    let sent =
        SentPacket { sequence, sent_at, captured_at: sent_at, size: ByteCount::new(1000), probe: None };
    let reception =
        if arrived { Reception::Arrived { at: sent_at, ecn: Ecn::NotEct } } else { Reception::Missing };
    PacketReport { sent, reception }
}

fn lost(missing: &mut MissingPackets, packets: &[PacketReport]) -> Vec<u64> {
    let mut lost = Vec::new();
    missing.on_report(packets, Duration::from_millis(30), |packet| lost.push(packet.sequence));
    lost
}

#[test]
fn a_missing_packet_is_lost_when_one_sent_later_by_the_reordering_time_arrived() {
    let mut missing = MissingPackets::default();
    assert!(lost(&mut missing, &[report(10, false), report(39, true)]).is_empty());
    assert_eq!(lost(&mut missing, &[report(40, true)]), [10]);
    assert!(lost(&mut missing, &[report(90, true)]).is_empty());
}

#[test]
fn a_late_packet_is_not_lost() {
    let mut missing = MissingPackets::default();
    assert!(lost(&mut missing, &[report(10, false), report(11, false), report(20, true)]).is_empty());
    assert_eq!(lost(&mut missing, &[report(10, true), report(60, true)]), [11]);
}

#[test]
fn the_oldest_missing_packets_are_lost_beyond_the_limit() {
    let mut missing = MissingPackets::default();
    let many: Vec<PacketReport> = (0..MOST as u64 + 2).map(|sequence| report(sequence, false)).collect();
    assert_eq!(lost(&mut missing, &many), [0, 1]);
}
