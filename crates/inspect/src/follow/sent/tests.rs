use proptest::prelude::*;

use super::*;

const AT: Instant = Instant::from_millis(1);

fn run(state: AckState, newest: u64, oldest: u64) -> Run {
    Run { state, newest: SeqNo::new(newest), oldest: SeqNo::new(oldest) }
}

#[test]
fn ack_vectors_change_the_state_once() {
    let mut sent = SentPackets::default();
    for sequence in 10..20 {
        sent.push(SeqNo::new(sequence), 0, AT, 100);
    }
    let vector = [
        run(AckState::Received, 17, 16),
        run(AckState::NotReceived, 15, 14),
        run(AckState::ReceivedEcnMarked, 13, 13),
        run(AckState::Received, 12, 5),
    ];
    let update = sent.on_ack_vector(vector.into_iter());
    assert_eq!(update, AckVectorUpdate { bytes: 600, recovered: 0, lost: 2, marked: 1, unseen: 0 });
    assert_eq!(sent.on_ack_vector(vector.into_iter()), AckVectorUpdate::default());
    // One of them was late.
    let update = sent.on_ack_vector([run(AckState::Received, 15, 15)].into_iter());
    assert_eq!(update, AckVectorUpdate { bytes: 100, recovered: 1, ..AckVectorUpdate::default() });
}

#[test]
fn reported_packets_that_were_not_captured_are_counted() {
    let mut sent = SentPackets::default();
    sent.push(SeqNo::new(1), 0, AT, 100);
    sent.push(SeqNo::new(4), 2, AT, 100);
    let update =
        sent.on_ack_vector([run(AckState::Received, 4, 3), run(AckState::NotReceived, 2, 2)].into_iter());
    assert_eq!(update, AckVectorUpdate { bytes: 100, recovered: 0, lost: 1, marked: 0, unseen: 1 });
    sent.fill(SeqNo::new(2), AT, 50);
    assert_eq!(sent.acknowledge(SeqNo::new(2)), Some(AT));
    assert_eq!(sent.acknowledge(SeqNo::new(2)), None, "only the first acknowledgement yields a sample");
    assert_eq!(sent.acknowledge(SeqNo::new(3)), None);
}

proptest! {
    #[test]
    fn memory_is_bounded_and_nothing_panics(
        steps in prop::collection::vec((0u64..5000, any::<u8>(), any::<u64>(), any::<u32>()), 0..60),
    ) {
        let mut sent = SentPackets::default();
        let mut newest = SeqNo::new(u64::MAX >> 16);
        for (gap, state, ack, length) in steps {
            newest = newest.add(gap + 1);
            sent.push(newest, gap, AT, 9);
            prop_assert!(sent.packets.len() <= MOST);
            let ack = if ack % 2 == 0 { newest.sub(ack % 3000) } else { SeqNo::new(ack) };
            let run = Run { state: AckState::from_bits(state), newest: ack, oldest: ack.sub(length.into()) };
            sent.on_ack_vector([run].into_iter());
            sent.acknowledge(ack);
            prop_assert_eq!(sent.oldest.add(sent.packets.len() as u64), newest.next());
        }
    }
}
