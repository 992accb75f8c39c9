use std::vec::Vec;

use proptest::prelude::*;

use super::*;

fn vector(cells: &[u8]) -> DccpOption {
    DccpOption::AckVector { nonce: false, cells: OptionBytes::from_slice(cells) }
}

fn run(state: AckState, newest: u64, oldest: u64) -> Run {
    Run { state, newest: SeqNo::new(newest), oldest: SeqNo::new(oldest) }
}

#[test]
fn the_example_of_the_rfc_is_reproduced() {
    // RFC 4340, Section 11.4: 0,192,3,64,5 with Acknowledgement Number 100.
    let options = [DccpOption::SlowReceiver, vector(&[0, 192, 3, 64, 5])];
    let runs: Vec<Run> = runs(SeqNo::new(100), &options).collect();
    assert_eq!(
        runs,
        [
            run(AckState::Received, 100, 100),
            run(AckState::NotReceived, 99, 99),
            run(AckState::Received, 98, 95),
            run(AckState::ReceivedEcnMarked, 94, 94),
            run(AckState::Received, 93, 88),
        ]
    );
}

#[test]
fn a_second_option_continues_after_the_first() {
    let options = [vector(&[1]), DccpOption::Padding, vector(&[]), vector(&[0xc0, 0])];
    let runs: Vec<Run> = runs(SeqNo::new(1), &options).collect();
    let last = SeqNo::MODULUS - 1;
    assert_eq!(
        runs,
        [
            run(AckState::Received, 1, 0),
            run(AckState::NotReceived, last, last),
            run(AckState::Received, last - 1, last - 1),
        ]
    );
}

#[test]
fn every_byte_is_a_cell() {
    for byte in 0..=255 {
        assert_eq!(Cell::from_byte(byte).byte(), byte);
    }
    assert_eq!(Cell::from_byte(0x7f), Cell { state: AckState::ReceivedEcnMarked, packets: 64 });
    assert_eq!(Cell { state: AckState::Received, packets: 200 }.byte(), 63);
    assert_eq!(Cell { state: AckState::Received, packets: 0 }.byte(), 0);
    assert!(AckState::ReceivedEcnMarked.is_received() && !AckState::NotReceived.is_received());
}

#[test]
fn one_option_covers_16192_packets() {
    let mut builder = AckVectorBuilder::new();
    builder.push(AckState::Received, 16_192);
    assert_eq!(builder.clone().into_options(false).count(), 1);
    builder.push(AckState::Received, 1);
    assert_eq!(builder.packets(), 16_193);
    assert_eq!(builder.into_options(false).count(), 2);
    assert_eq!(AckVectorBuilder::new().into_options(false).count(), 0);
}

fn states() -> impl Strategy<Value = Vec<(AckState, u64)>> {
    let packets = prop_oneof![8 => 0..5u64, 2 => 0..300u64];
    proptest::collection::vec(((0..4u8).prop_map(AckState::from_bits), packets), 0..400)
}

proptest! {
    #[test]
    fn built_options_are_decoded_unchanged(pushed in states(), ack: u64, nonce: bool) {
        let mut builder = AckVectorBuilder::new();
        pushed.iter().for_each(|(state, packets)| builder.push(*state, *packets));
        let expected: Vec<AckState> =
            pushed.iter().flat_map(|(state, packets)| core::iter::repeat_n(*state, *packets as usize)).collect();
        prop_assert_eq!(builder.packets(), expected.len() as u64);
        let options: Vec<DccpOption> = builder.into_options(nonce).collect();

        let ack = SeqNo::new(ack);
        let mut next = ack;
        let mut read = Vec::new();
        for run in runs(ack, &options) {
            prop_assert_eq!(run.newest, next);
            let packets = run.newest.distance_from(run.oldest) + 1;
            prop_assert!((1..=64).contains(&packets));
            read.extend(core::iter::repeat_n(run.state, packets as usize));
            next = run.oldest.previous();
        }
        prop_assert_eq!(read, expected);
    }

    #[test]
    fn adjacent_cells_of_one_state_are_merged(pushed in states()) {
        let mut builder = AckVectorBuilder::new();
        pushed.iter().for_each(|(state, packets)| builder.push(*state, *packets));
        for pair in builder.cells().windows(2) {
            let (newer, older) = (Cell::from_byte(pair[0]), Cell::from_byte(pair[1]));
            prop_assert!(newer.state != older.state || newer.packets == MAX_CELL);
        }
    }
}
