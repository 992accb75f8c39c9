use super::*;

#[test]
fn a_new_count_has_the_minimum_width() {
    for (count, width) in [
        (0, 1),
        (255, 1),
        (256, 2),
        (65_535, 2),
        (65_536, 3),
        (1 << 24, 4),
        (1 << 32, 5),
        (1 << 40, 6),
        (NdpCount::MAX, 6),
    ] {
        let made = NdpCount::new(count);
        assert_eq!((made.count(), made.width()), (count, width));
    }
    assert_eq!(NdpCount::new(u64::MAX).count(), NdpCount::MAX);
}

#[test]
fn a_decoded_count_keeps_its_width() {
    let wide = NdpCount::from_data(&[0, 0, 7]).unwrap();
    assert_eq!((wide.count(), wide.width()), (7, 3));
    assert_eq!(NdpCount::from_data(&[]), None);
    assert_eq!(NdpCount::from_data(&[0; 7]), None);
}
