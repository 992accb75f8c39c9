use std::vec::Vec;

use proptest::prelude::*;

use super::*;

#[test]
fn the_example_of_the_rfc_is_reproduced() {
    // RFC 4340, Section 11.7: 0,160,3,162 with Acknowledgement Number 100. The text's last line
    // counts packet 95 twice; the blocks before it end there.
    let options = [DccpOption::DataDropped(OptionBytes::from_slice(&[0, 160, 3, 162]))];
    let run = |drop, newest, oldest| Run { drop, newest: SeqNo::new(newest), oldest: SeqNo::new(oldest) };
    let buffer = Some(DropCode::ReceiveBuffer);
    let runs: Vec<Run> = runs(SeqNo::new(100), &options).collect();
    assert_eq!(runs, [run(None, 100, 100), run(buffer, 99, 99), run(None, 98, 95), run(buffer, 94, 92)]);
}

#[test]
fn every_byte_is_a_block() {
    for byte in 0..=255 {
        assert_eq!(Block::from_byte(byte).byte(), byte);
    }
    assert_eq!(Block::from_byte(0x7f), Block { drop: None, packets: 128 });
    assert_eq!(Block::from_byte(0xff), Block { drop: Some(DropCode::DeliveredCorrupt), packets: 16 });
    assert_eq!(Block { drop: Some(DropCode::Corrupt), packets: 17 }.byte(), 0xbf);
    for bits in 0..8 {
        assert_eq!(DropCode::from_bits(bits).bits(), bits);
    }
}

#[test]
fn without_dropped_data_there_is_no_option() {
    let mut builder = DataDroppedBuilder::new();
    builder.push(None, 300);
    builder.push(Some(DropCode::Corrupt), 0);
    assert_eq!(builder.into_options().count(), 0);
}

proptest! {
    #[test]
    fn built_options_are_decoded_unchanged(
        pushed in proptest::collection::vec((proptest::option::of(0..8u8), 0..40u64), 1..200),
        ack: u64,
    ) {
        let pushed: Vec<_> =
            pushed.into_iter().map(|(bits, packets)| (bits.map(DropCode::from_bits), packets)).collect();
        let mut builder = DataDroppedBuilder::new();
        pushed.iter().for_each(|(drop, packets)| builder.push(*drop, *packets));
        let mut expected: Vec<Option<DropCode>> =
            pushed.iter().flat_map(|(drop, packets)| core::iter::repeat_n(*drop, *packets as usize)).collect();
        if expected.iter().all(Option::is_none) {
            expected.clear();
        }
        let options: Vec<DccpOption> = builder.into_options().collect();
        let mut next = SeqNo::new(ack);
        let mut read = Vec::new();
        for run in runs(SeqNo::new(ack), &options) {
            prop_assert_eq!(run.newest, next);
            let packets = run.newest.distance_from(run.oldest) + 1;
            read.extend(core::iter::repeat_n(run.drop, packets as usize));
            next = run.oldest.previous();
        }
        prop_assert_eq!(read, expected);
    }
}
