use super::*;

#[test]
fn a_datagram_is_cut_after_each_record() {
    let plain = [&[22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 1, 0, 3][..], b"abc"].concat();
    let short = [&[0x26, 7, 0, 2][..], b"de"].concat();
    let long = [&[0x2e, 0, 7, 0, 4][..], b"fghi"].concat();
    let endless = [&[0x2a, 0, 8][..], b"the rest"].concat();
    let all = [plain.clone(), short.clone(), long.clone(), endless.clone()].concat();
    assert_eq!(Records(&all).collect::<Vec<_>>(), [&plain[..], &short, &long, &endless]);
}

#[test]
fn what_is_malformed_is_passed_whole() {
    for bytes in [&[22, 0xfe][..], &[0x2e, 0, 7, 0, 4, 1], &[0x3e, 0, 0, 0, 0], &[22; 13]] {
        assert_eq!(Records(bytes).collect::<Vec<_>>(), [bytes]);
    }
    assert_eq!(Records(&[]).next(), None);
}
