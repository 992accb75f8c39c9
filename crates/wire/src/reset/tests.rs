use alloc::string::ToString;

use super::*;
use crate::{
    OptionBytes,
    option::{FeatureAction, FeatureNumber, FeatureOption},
};

#[test]
fn codes_keep_their_number() {
    for code in 0..=255 {
        assert_eq!(u8::from(ResetCode::from(code)), code);
    }
    assert_eq!(ResetCode::from(11), ResetCode::AggressionPenalty);
    assert_eq!(ResetCode::from(14), ResetCode::Other(14));
}

#[test]
fn errors_of_options_show_type_and_first_data() {
    // The answer of Linux without a common CCID: 20 01 02.
    let change = FeatureOption::preferences(FeatureAction::ChangeL, FeatureNumber::Ccid, &[2]);
    let reset = Reset::option_error(&DccpOption::Feature(change));
    assert_eq!(reset, Reset::with_data(ResetCode::OptionError, [0x20, 1, 2]));
    let data = |option| Reset::mandatory_error(&option).data;
    assert_eq!(data(DccpOption::Mandatory), [1, 0, 0]);
    assert_eq!(data(DccpOption::Unknown { kind: 99, data: OptionBytes::from_slice(&[7]) }), [99, 7, 0]);
    assert_eq!(data(DccpOption::Malformed(OptionBytes::from_slice(&[41, 9, 1, 2, 3]))), [41, 1, 2]);
    assert_eq!(data(DccpOption::Malformed(OptionBytes::from_slice(&[41]))), [41, 0, 0]);
}

#[test]
fn other_errors_contain_the_received_packet() {
    assert_eq!(Reset::packet_error(PacketType::Data).data, [2, 0, 0]);
    assert_eq!(Reset::encapsulated_port_reuse(PacketType::Request, 0x1234).data, [0, 0x12, 0x34]);
}

#[test]
fn resets_are_displayed_with_the_meaning_of_their_data() {
    let text = |code: u8, data| Reset::with_data(code.into(), data).to_string();
    assert_eq!(text(1, [0; 3]), "closed");
    assert_eq!(text(4, [2, 0, 0]), "packet error on account of a Data packet");
    assert_eq!(text(4, [12, 0, 0]), "packet error on account of a packet of type 12");
    assert_eq!(text(6, [99, 1, 2]), "mandatory error on account of option 99 with data 1 2");
    assert_eq!(text(12, [0, 0x12, 0x34]), "encapsulated port reuse by UDP port 4660");
    assert_eq!(text(13, [0; 3]), "abrupt multipath termination");
    assert_eq!(text(14, [0; 3]), "code 14");
    assert_eq!(text(200, [1, 2, 3]), "code 200 of the congestion control, data 1 2 3");
}
