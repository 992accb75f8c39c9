use whimbrel_units::Ecn;

use super::*;

fn packet(sequence: u64) -> SentPacket {
    SentPacket {
        sequence,
        sent_at: Instant::from_millis(10 * sequence),
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
    let feedback = packets.on_report(Instant::from_millis(100), report, Duration::from_millis(30));
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
    let feedback = packets.on_report(Instant::from_millis(110), second, Duration::ZERO);
    let reported: Vec<_> = feedback.packets.iter().map(|report| report.sent.sequence).collect();
    assert_eq!(reported, [0, 2]);
    assert_eq!(feedback.in_flight, ByteCount::new(0));
}

#[test]
fn unknown_packets_are_left_out_and_memory_is_bounded() {
    let mut packets = SentPackets::new(4);
    (0..100).for_each(|sequence| packets.on_sent(packet(sequence)));
    assert_eq!(packets.in_flight(), ByteCount::new(4000));
    let feedback = packets.on_report(
        Instant::from_secs(2),
        [(3, arrived(0)), (99, arrived(1)), (500, arrived(2))],
        Duration::ZERO,
    );
    assert_eq!(feedback.packets.len(), 1);
    packets.on_sent(packet(300));
    assert_eq!(packets.in_flight(), ByteCount::new(1000));
}

#[test]
fn round_trips_are_those_of_immediate_reports() {
    let mut sent = SentPackets::new(16);
    for sequence in 0..3 {
        let sent_at = Instant::from_millis(10 * sequence);
        sent.on_sent(SentPacket { sequence, sent_at, size: ByteCount::new(100), probe: None });
    }
    // The receiver's clock is 5 s ahead; the packets take 30, (lost), 20 ms and the report another 20 ms.
    let at = |ms: u64| Reception::Arrived { at: Instant::from_millis(5000 + ms), ecn: Ecn::NotEct };
    let receptions = [(0, at(30)), (1, Reception::Missing), (2, at(40))];
    let feedback = sent.on_report(Instant::from_millis(67), receptions, Duration::from_millis(7));
    assert_eq!(feedback.rtt, Some(Duration::from_millis(40)));
    let round_trips: Vec<(u64, Duration)> =
        feedback.round_trips().map(|(packet, rtt)| (packet.sent.sequence, rtt)).collect();
    assert_eq!(round_trips, [(0, Duration::from_millis(50)), (2, Duration::from_millis(40))]);
}
