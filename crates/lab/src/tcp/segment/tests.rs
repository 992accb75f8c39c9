use super::*;

fn blocks(count: u64) -> SackBlocks {
    (0..count).map(|i| ByteRange::new(i * 2000, i * 2000 + 1000)).collect()
}

#[test]
fn a_fin_takes_the_number_after_the_last_byte() {
    let segment = Segment { seq: 1000, length: 500, flags: Flags::ACK | Flags::FIN, ..Segment::default() };
    assert_eq!(segment.end(), 1501);
    assert_eq!(Segment { flags: Flags::ACK, ..segment }.end(), 1500);
}

#[test]
fn an_acknowledgement_takes_no_sequence_space() {
    assert!(!Segment { seq: 7, flags: Flags::ACK, ..Segment::default() }.occupies_sequence_space());
    for flags in [Flags::SYN, Flags::FIN] {
        assert!(Segment { flags, ..Segment::default() }.occupies_sequence_space());
    }
}

#[test]
fn sizes_on_the_link_count_the_options_in_use() {
    let data = Segment { length: 1460, flags: Flags::ACK, ..Segment::default() };
    assert_eq!(HeaderModel::Standard.size(&data), 1500);
    let stamped = Segment { timestamps: Some(Timestamps::default()), length: 1448, ..data };
    assert_eq!(HeaderModel::Standard.size(&stamped), 1500);
    let ack = Segment { length: 0, sack: blocks(3), ..stamped };
    assert_eq!(HeaderModel::Standard.size(&ack), 20 + 20 + 12 + 28);
    assert_eq!(HeaderModel::Standard.size(&Segment { sack: blocks(4), timestamps: None, ..ack }), 76);
}

#[test]
fn sizes_in_ns_2_are_forty_bytes_and_eight_for_a_block() {
    let data = Segment { length: 1000, ..Segment::default() };
    assert_eq!(HeaderModel::Ns2.size(&data), 1040);
    assert_eq!(HeaderModel::Ns2.size(&Segment { flags: Flags::SYN, ..Segment::default() }), 40);
    assert_eq!(HeaderModel::Ns2.size(&Segment { sack: blocks(2), ..Segment::default() }), 56);
}

#[test]
fn a_fifth_block_is_left_out() {
    let five = blocks(5);
    assert_eq!(five.len(), 4);
    assert_eq!(five, blocks(4));
}

/// RFC 2883, Section 4: below the cumulative acknowledgement, or within the second block.
#[test]
fn a_duplicate_is_below_the_acknowledgement_or_in_the_second_block() {
    let duplicate = |blocks: &[(u64, u64)]| {
        let sack = blocks.iter().map(|(start, end)| ByteRange::new(*start, *end)).collect();
        Segment { ack: 4000, sack, ..Segment::default() }.duplicate().map(|range| (range.start, range.end))
    };
    assert_eq!(duplicate(&[]), None);
    assert_eq!(duplicate(&[(4500, 5000), (6000, 7000)]), None);
    assert_eq!(duplicate(&[(3000, 3500), (4500, 5000)]), Some((3000, 3500)));
    assert_eq!(duplicate(&[(5000, 5500), (4500, 6000)]), Some((5000, 5500)));
    assert_eq!(duplicate(&[(4500, 5000), (4500, 5000)]), Some((4500, 5000)));
    assert_eq!(duplicate(&[(5000, 6500), (4500, 6000)]), None);
}
