use whimbrel_units::Ecn;

use super::*;

fn packet(sequence: u64) -> SentPacket {
    SentPacket {
        sequence,
        sent_at: Instant::from_millis(10 * sequence),
        captured_at: Instant::from_millis(10 * sequence),
        size: ByteCount::new(1000),
        probe: None,
    }
}

fn arrived(ms: u64) -> Reception {
    Reception::Arrived { at: Instant::from_millis(ms), ecn: Ecn::NotEct }
}

fn sent(count: u64) -> SentPackets {
    let mut packets = SentPackets::new(64);
    (0..count).for_each(|sequence| packets.on_sent(packet(sequence)));
    packets
}

#[test]
fn a_report_takes_packets_out_of_flight_and_measures_the_round_trip_without_the_hold() {
    let mut packets = sent(4);
    let report = [(0, arrived(500)), (1, Reception::Missing), (2, arrived(520))];
    let feedback = packets.on_report(Instant::from_millis(100), report, Duration::from_millis(30)).unwrap();
    assert_eq!(feedback.packets.len(), 3);
    assert_eq!(feedback.rtt, Some(Duration::from_millis(100 - 20 - 30)));
    assert_eq!(feedback.in_flight, ByteCount::new(1000));
}

#[test]
fn a_repeated_report_is_left_out_and_a_late_arrival_is_not() {
    let mut packets = sent(3);
    let first = [(0, Reception::Missing), (1, arrived(500))];
    packets.on_report(Instant::from_millis(100), first, Duration::ZERO);
    let second = [(0, arrived(510)), (1, arrived(500)), (2, Reception::Missing)];
    let feedback = packets.on_report(Instant::from_millis(110), second, Duration::ZERO).unwrap();
    let reported: Vec<_> = feedback.packets.iter().map(|report| report.sent.sequence).collect();
    assert_eq!(reported, [0, 2]);
    assert_eq!(feedback.in_flight, ByteCount::new(0));
}

#[test]
fn unknown_packets_are_left_out_and_memory_is_bounded() {
    let mut packets = SentPackets::new(4);
    (0..100).for_each(|sequence| packets.on_sent(packet(sequence)));
    assert_eq!(packets.in_flight(), ByteCount::new(4000));
    let report = [(3, arrived(0)), (97, arrived(1)), (500, arrived(2))];
    let feedback = packets.on_report(Instant::from_secs(2), report, Duration::ZERO).unwrap();
    assert_eq!((feedback.packets.len(), feedback.in_flight), (1, ByteCount::new(2000)));
    // The oldest leave the memory whether they are in flight or not.
    (100..103).for_each(|sequence| packets.on_sent(packet(sequence)));
    assert_eq!(packets.in_flight(), ByteCount::new(4000));
    packets.on_sent(packet(300));
    assert_eq!(packets.in_flight(), ByteCount::new(1000));
}

#[test]
fn packets_before_the_highest_reported_are_not_in_flight_and_have_no_fate() {
    let mut packets = sent(10);
    // The report on 0 to 4 was lost.
    let feedback =
        packets.on_report(Instant::from_millis(100), [(5, arrived(50)), (6, arrived(60))], Duration::ZERO);
    let feedback = feedback.unwrap();
    assert_eq!((feedback.packets.len(), feedback.in_flight), (2, ByteCount::new(3000)));
    // The packet was only late.
    let late =
        [(0, arrived(10)), (1, arrived(11)), (2, Reception::Missing), (3, arrived(30)), (4, arrived(40))];
    let feedback = packets.on_report(Instant::from_millis(110), late, Duration::ZERO).unwrap();
    assert_eq!((feedback.packets.len(), feedback.in_flight), (5, ByteCount::new(3000)));
}

#[test]
fn a_copy_of_a_report_says_nothing() {
    let mut packets = sent(4);
    let report = [(0, arrived(500)), (1, Reception::Missing), (2, arrived(520))];
    assert!(packets.on_report(Instant::from_millis(100), report, Duration::ZERO).is_some());
    assert_eq!(packets.on_report(Instant::from_millis(101), report, Duration::ZERO), None);
    assert_eq!(packets.on_report(Instant::from_millis(102), [], Duration::ZERO), None);
}

#[test]
fn a_packet_that_arrived_at_an_unknown_time_is_not_in_flight() {
    let mut packets = sent(4);
    packets.cover(2);
    let feedback = packets.on_report(Instant::from_millis(100), [], Duration::ZERO).unwrap();
    assert_eq!((feedback.packets.len(), feedback.in_flight), (0, ByteCount::new(1000)));
}

#[test]
fn round_trips_are_those_of_immediate_reports() {
    let mut sent = SentPackets::new(16);
    for sequence in 0..3 {
        let sent_at = Instant::from_millis(10 * sequence);
        sent.on_sent(SentPacket {
            sequence,
            sent_at,
            captured_at: sent_at,
            size: ByteCount::new(100),
            probe: None,
        });
    }
    // The receiver's clock is 5 s ahead; the packets take 30, (lost), 20 ms and the report another 20 ms.
    let at = |ms: u64| Reception::Arrived { at: Instant::from_millis(5000 + ms), ecn: Ecn::NotEct };
    let receptions = [(0, at(30)), (1, Reception::Missing), (2, at(40))];
    let feedback = sent.on_report(Instant::from_millis(67), receptions, Duration::from_millis(7)).unwrap();
    assert_eq!(feedback.rtt, Some(Duration::from_millis(40)));
    let round_trips: Vec<(u64, Duration)> =
        feedback.round_trips().map(|(packet, rtt)| (packet.sent.sequence, rtt)).collect();
    assert_eq!(round_trips, [(0, Duration::from_millis(50)), (2, Duration::from_millis(40))]);
}
