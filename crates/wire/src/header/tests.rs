use super::*;

#[test]
fn types_keep_their_number() {
    for number in 0..=10 {
        assert_eq!(PacketType::from_number(number).unwrap() as u8, number);
    }
    for number in 11..=255 {
        assert_eq!(PacketType::from_number(number), None);
    }
}

#[test]
fn fixed_headers_have_the_lengths_of_the_figures() {
    let lengths: [usize; 11] =
        core::array::from_fn(|number| PacketType::from_number(number as u8).unwrap().fixed_header_len(true));
    assert_eq!(lengths, [20, 28, 16, 24, 24, 24, 24, 28, 24, 24, 20]);
    assert_eq!(PacketType::Data.fixed_header_len(false), 12);
    assert_eq!(PacketType::Ack.fixed_header_len(false), 16);
    assert_eq!(PacketType::DataAck.fixed_header_len(false), 16);
}

#[test]
fn coverage_counts_words_of_data() {
    assert_eq!(ChecksumCoverage::ALL.covered(7), Some(7));
    assert_eq!(ChecksumCoverage::from_field(1).covered(0), Some(0));
    assert_eq!(ChecksumCoverage::from_field(15).covered(56), Some(56));
    assert_eq!(ChecksumCoverage::from_field(15).covered(55), None);
}
