use std::vec::Vec;

use super::*;
use crate::option::{Elapsed, FeatureAction, FeatureOption, NdpCount, OptionBytes};

fn types_where_it_counts(option: &DccpOption) -> Vec<u8> {
    (0..=10).filter(|number| option.counts_on(PacketType::from_number(*number).unwrap())).collect()
}

const EVERYWHERE: [u8; 10] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
const NOT_ON_DATA: [u8; 9] = [0, 1, 3, 4, 5, 6, 7, 8, 9];
const WITH_ACK: [u8; 8] = [1, 3, 4, 5, 6, 7, 8, 9];

#[test]
fn options_are_valid_as_in_the_table_of_section_5_8() {
    let bytes = OptionBytes::new();
    let echo = DccpOption::TimestampEcho { timestamp: 0, elapsed: Elapsed::Absent };
    for option in [
        DccpOption::Padding,
        DccpOption::SlowReceiver,
        DccpOption::NdpCount(NdpCount::new(1)),
        DccpOption::Timestamp(0),
        echo,
        DccpOption::DataChecksum(0),
    ] {
        assert_eq!(types_where_it_counts(&option), EVERYWHERE, "{option:?}");
    }
    for action in [FeatureAction::ChangeL, FeatureAction::ConfirmR] {
        let option = DccpOption::Feature(FeatureOption::empty(action, 1));
        assert_eq!(types_where_it_counts(&option), NOT_ON_DATA);
    }
    assert_eq!(types_where_it_counts(&DccpOption::Mandatory), NOT_ON_DATA);
    assert_eq!(types_where_it_counts(&DccpOption::InitCookie(bytes.clone())), WITH_ACK);
    for option in [
        DccpOption::AckVector { nonce: false, cells: bytes.clone() },
        DccpOption::DataDropped(bytes),
        DccpOption::ElapsedTime(Elapsed::Short(0)),
        DccpOption::Freeze,
        DccpOption::Unfreeze,
    ] {
        assert_eq!(types_where_it_counts(&option), WITH_ACK, "{option:?}");
    }
}

#[test]
fn keys_are_valid_on_the_handshake_and_moves_afterwards() {
    let kind = |kind| types_where_it_counts(&DccpOption::Mobility { kind, data: OptionBytes::new() });
    assert_eq!(kind(mobility::KEY), [0, 1]);
    assert_eq!(kind(mobility::MOVE), [2, 3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(kind(mobility::CHALLENGE), [8]);
    assert_eq!(kind(mobility::MOVED), [2, 3, 4, 5, 6, 7, 8, 9]);
}

#[test]
fn multipath_options_are_valid_on_data_but_for_those_of_handshake_and_closing() {
    let mp_opt = |mp_opt| types_where_it_counts(&DccpOption::Multipath(OptionBytes::from_slice(&[mp_opt])));
    for either in [multipath::JOIN, multipath::KEY] {
        assert_eq!(mp_opt(either), [0, 1]);
    }
    assert_eq!(mp_opt(multipath::FAST_CLOSE), [7]);
    assert_eq!(mp_opt(multipath::CLOSE), [5, 6]);
    // RFC 9897, Section 3: the column "DCCP-Data?" of option 46 is Y.
    for other in
        [multipath::CONFIRM, multipath::SEQ, multipath::HMAC, multipath::ADD_ADDRESS, multipath::PRIORITY]
    {
        assert_eq!(mp_opt(other), EVERYWHERE);
    }
}

#[test]
fn options_are_valid_as_in_the_tables_of_ccids_3_and_4() {
    let kind = |kind| types_where_it_counts(&DccpOption::CcidSpecific { kind, data: OptionBytes::new() });
    assert_eq!(kind(tfrc::RTT_ESTIMATE), EVERYWHERE);
    assert_eq!(kind(tfrc::LOSS_EVENT_RATE), NOT_ON_DATA);
    assert_eq!(kind(tfrc::LOSS_INTERVALS), WITH_ACK);
    assert_eq!(kind(tfrc::RECEIVE_RATE), NOT_ON_DATA);
    assert_eq!(kind(tfrc::DROPPED_PACKETS), NOT_ON_DATA);
    assert_eq!(kind(tfrc::RESTORING), EVERYWHERE);
    assert_eq!(kind(tfrc::PROBING), EVERYWHERE);
    assert_eq!(kind(tfrc::UNFROZEN), WITH_ACK);
    assert_eq!(kind(tfrc::ECN_COUNTS), WITH_ACK);
}
