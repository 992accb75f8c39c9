use super::*;

fn sent(ms: u64) -> SentRecord {
    SentRecord { at: Instant::from_millis(ms), counter: Some(0) }
}

/// Packets from number 2^48 - 2 on, sent a millisecond apart.
fn packets(count: u64) -> SentPackets {
    let first = SeqNo::new(SeqNo::MODULUS - 2);
    let mut packets = SentPackets::new(first);
    for i in 0..count {
        packets.push(first.add(i), sent(i));
    }
    packets
}

#[test]
fn an_acknowledged_packet_is_found_and_its_predecessors_dropped() {
    let mut packets = packets(5);
    assert_eq!(packets.acknowledge(SeqNo::new(0), Instant::FAR_FUTURE), Some(sent(2)));
    assert_eq!(packets.acknowledge(SeqNo::new(SeqNo::MODULUS - 1), Instant::FAR_FUTURE), None);
    assert_eq!(
        packets.acknowledge(SeqNo::new(0), Instant::FAR_FUTURE),
        Some(sent(2)),
        "a second feedback may name it again"
    );
    assert_eq!(packets.get(SeqNo::new(2)), Some(sent(4)));
}

#[test]
fn what_was_not_sent_is_not_found() {
    let mut packets = packets(5);
    assert_eq!(packets.acknowledge(SeqNo::new(3), Instant::FAR_FUTURE), None);
    assert_eq!(packets.acknowledge(SeqNo::new(1 << 40), Instant::FAR_FUTURE), None);
}

#[test]
fn numbers_that_were_skipped_begin_a_new_record() {
    let mut packets = packets(5);
    packets.push(SeqNo::new(100), sent(50));
    assert_eq!(packets.get(SeqNo::new(1)), None);
    assert_eq!(packets.acknowledge(SeqNo::new(100), Instant::FAR_FUTURE), Some(sent(50)));
}

#[test]
fn a_silent_receiver_does_not_make_it_grow() {
    let packets = packets(SentPackets::KEPT as u64 + 10);
    assert_eq!(packets.packets.len(), SentPackets::KEPT);
    assert_eq!(packets.get(SeqNo::new(8)), Some(sent(10)));
    assert_eq!(packets.get(SeqNo::new(7)), None);
}

#[test]
fn an_end_that_only_receives_stores_few_of_its_acknowledgements() {
    let mut packets = packets(5);
    let without = |ms| SentRecord { counter: None, ..sent(ms) };
    for n in 5..10_000 {
        packets.push(SeqNo::new(SeqNo::MODULUS - 2).add(n), without(n));
        assert!(packets.packets.len() <= SentPackets::KEPT_WITHOUT_DATA + 5);
    }
    assert_eq!(packets.packets.len(), SentPackets::KEPT_WITHOUT_DATA);
    let last = SeqNo::new(SeqNo::MODULUS - 2).add(9_999);
    assert_eq!(packets.get(last), Some(without(9_999)));
    // Data is stored again from here on, with what was before it.
    for n in 10_000..13_000 {
        packets.push(SeqNo::new(SeqNo::MODULUS - 2).add(n), sent(n));
    }
    assert_eq!(packets.packets.len(), SentPackets::KEPT_WITHOUT_DATA + 3_000);
    assert_eq!(packets.acknowledge(last.add(1), Instant::FAR_FUTURE), Some(sent(10_000)));
}
