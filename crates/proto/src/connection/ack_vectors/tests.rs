use whimbrel_wire::{ChecksumCoverage, DccpOption, Kind, OptionBytes, Payload};

use super::*;

/// An acknowledgement of packet `ack` that reports it and the `cells` × 64 packets before as received.
fn report(ack: SeqNo, cells: usize) -> Packet {
    let option = DccpOption::AckVector { nonce: false, cells: OptionBytes::from_slice(&vec![63; cells]) };
    Packet {
        source_port: 1,
        destination_port: 2,
        ccval: 0,
        checksum_coverage: ChecksumCoverage::default(),
        extended: true,
        sequence: SeqNo::new(1),
        kind: Kind::Ack { ack },
        options: [option].into_iter().collect(),
        payload: Payload::default(),
    }
}

/// A peer that reports thousands of packets at once, truly or not, does not raise what a connection takes
/// from then on.
#[test]
fn room_for_an_extraordinary_report_is_not_kept() {
    let mut vectors = AckVectors::new(SeqNo::new(1));
    let ack = SeqNo::new(64 * 250);
    vectors.on_acknowledgement(ack, &report(ack, 250)).unwrap();
    assert_eq!(vectors.news().len(), 64 * 250);
    vectors.forget_news();
    assert!(vectors.news.capacity() <= KEPT_NEWS, "{}", vectors.news.capacity());
}

/// Ordinary reports allocate once.
#[test]
fn room_for_ordinary_reports_is_kept() {
    let mut vectors = AckVectors::new(SeqNo::new(1));
    for round in 1..=3 {
        let ack = SeqNo::new(128 * round);
        vectors.on_acknowledgement(ack, &report(ack, 2)).unwrap();
        assert_eq!(vectors.news().len(), 128);
        vectors.forget_news();
        assert!(vectors.news.capacity() >= 128);
    }
}
