use super::*;
use crate::media::{Reception, SentPacket};
use whimbrel_units::Ecn;

/// Results of a probe of five packets of 1200 bytes, sent each `sending` ms and arrived each `arriving` ms.
fn probe(sending: u64, arriving: u64) -> [Option<f64>; 5] {
    let mut results = ProbeResults::default();
    let rate = DataRate::from_megabits_per_second(1.0);
    results.expect(Probe { id: ProbeId(7), rate, size: ByteCount::new(6000), packets: 5 });
    core::array::from_fn(|n| {
        let n = n as u64;
        let sent_at = Instant::from_millis(100 + n * sending);
        let sent = SentPacket {
            sequence: n,
            sent_at,
            captured_at: sent_at,
            size: ByteCount::new(1200),
            probe: Some(ProbeId(7)),
        };
        let at = Instant::from_millis(5000 + n * arriving);
        let packet = PacketReport { sent, reception: Reception::Arrived { at, ecn: Ecn::NotEct } };
        results.record(ProbeId(7), &packet).map(|rate| rate.as_bits_per_second() / 1e3)
    })
}

fn assert_result(result: Option<f64>, expected: f64) {
    assert!(result.is_some_and(|result| (result - expected).abs() < 1e-6), "{result:?} {expected}");
}

#[test]
fn an_unsaturated_link_gives_the_lower_of_both_rates() {
    // Four packets in 40 ms.
    assert_result(probe(10, 10)[4], 960.0);
    assert_result(probe(10, 11)[4], 4.0 * 9.6e3 / 44.0);
    assert_result(probe(10, 8)[4], 960.0);
}

#[test]
fn a_saturated_link_gives_95_percent_of_the_rate_of_arrival() {
    assert_result(probe(10, 20)[4], 0.95 * 480.0);
}

#[test]
fn four_of_five_packets_suffice() {
    assert_eq!(probe(10, 10)[..3], [None; 3]);
    assert_result(probe(10, 10)[3], 960.0);
}

#[test]
fn an_arrival_at_more_than_twice_the_rate_is_invalid() {
    assert_eq!(probe(10, 4)[4], None);
}

#[test]
fn a_packet_of_an_unknown_probe_has_no_result() {
    let mut results = ProbeResults::default();
    let sent_at = Instant::ZERO;
    let sent = SentPacket {
        sequence: 0,
        sent_at,
        captured_at: sent_at,
        size: ByteCount::new(1200),
        probe: Some(ProbeId(3)),
    };
    let reception = Reception::Arrived { at: sent_at, ecn: Ecn::NotEct };
    assert_eq!(results.record(ProbeId(3), &PacketReport { sent, reception }), None);
}
