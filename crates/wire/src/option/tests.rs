use super::*;

#[test]
fn types_have_the_numbers_of_table_3() {
    let bytes = OptionBytes::new();
    let feature = |action| DccpOption::Feature(FeatureOption::empty(action, 1));
    let kinds = [
        (0, DccpOption::Padding),
        (1, DccpOption::Mandatory),
        (2, DccpOption::SlowReceiver),
        (32, feature(FeatureAction::ChangeL)),
        (33, feature(FeatureAction::ConfirmL)),
        (34, feature(FeatureAction::ChangeR)),
        (35, feature(FeatureAction::ConfirmR)),
        (36, DccpOption::InitCookie(bytes.clone())),
        (37, DccpOption::NdpCount(NdpCount::new(1))),
        (38, DccpOption::AckVector { nonce: false, cells: bytes.clone() }),
        (39, DccpOption::AckVector { nonce: true, cells: bytes.clone() }),
        (40, DccpOption::DataDropped(bytes.clone())),
        (41, DccpOption::Timestamp(0)),
        (42, DccpOption::TimestampEcho { timestamp: 0, elapsed: Elapsed::Absent }),
        (43, DccpOption::ElapsedTime(Elapsed::Short(0))),
        (44, DccpOption::DataChecksum(0)),
        (46, DccpOption::Multipath(bytes.clone())),
        (192, DccpOption::CcidSpecific { kind: 192, data: bytes }),
    ];
    for (kind, option) in kinds {
        assert_eq!(option.kind(), kind);
        assert!(option.encoded_len() >= if kind < 32 { 1 } else { 2 });
    }
}

#[test]
fn split_data_keeps_every_byte_in_order() {
    let cut = |length: u8, most| {
        split((0..length).collect(), most).map(|piece| piece.to_vec()).collect::<std::vec::Vec<_>>()
    };
    assert!(cut(0, 3).is_empty());
    assert_eq!(cut(3, 3), [[0, 1, 2]]);
    assert_eq!(cut(7, 3), [&[0, 1, 2][..], &[3, 4, 5], &[6]]);
}
