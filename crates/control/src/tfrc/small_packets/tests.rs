use super::*;

/// RFC 4828, Section 4.2: of 128 kbit/s, packets with 120 bytes get 96 kbit/s of data, those with 40 get 64
/// kbit/s, and those with a single byte 3.12 kbit/s.
#[test]
fn headers_count_against_the_rate() {
    let data = |size| SmallPackets::default().data_share(ByteCount::new(size)) * 128.0;
    assert_eq!(data(120), 96.0);
    assert_eq!(data(40), 64.0);
    assert!((data(1) - 3.12).abs() < 0.005);
}

#[test]
fn a_nominal_segment_includes_headers() {
    let small = SmallPackets { segment_size: ByteCount::new(1000), ..SmallPackets::default() };
    assert_eq!(small.segments(ByteCount::new(60)), 0.1);
}
