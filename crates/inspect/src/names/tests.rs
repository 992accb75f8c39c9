use whimbrel_wire::option::{Elapsed, OptionBytes, tfrc};

use super::*;

#[test]
fn resets_have_descriptions() {
    let describe = |code: u8, data| reset_description(Reset::with_data(code.into(), data));
    assert_eq!(describe(1, [0; 3]), "closed normally");
    assert_eq!(describe(4, [2, 0, 0]), "did not expect a Data packet");
    assert_eq!(describe(4, [14, 0, 0]), "did not expect a type 14 packet");
    assert_eq!(describe(5, [32, 1, 9]), "found an error in Change L of CCID");
    assert_eq!(describe(5, [1, 0, 0]), "found an error in Mandatory (data begin with 00 00)");
    assert_eq!(describe(6, [34, 6, 1]), "could not honour the mandatory Change R of Send Ack Vector");
    assert_eq!(describe(7, [0; 3]), "refused the connection");
    assert_eq!(describe(8, [0; 3]), "does not serve that Service Code on that port");
    assert_eq!(
        describe(12, [0, 0x19, 0x6f]),
        "has another connection on UDP port 6511 (reported by a Request)"
    );
    assert_eq!(describe(77, [1, 2, 3]), "reset with the reserved code 77 (data 1 2 3)");
    assert_eq!(describe(200, [1, 2, 3]), "reset by its congestion control (code 200, data 1 2 3)");
    // Every code has a name.
    for code in 0..=u8::MAX {
        assert!(!describe(code, [0; 3]).is_empty() && !reset_code_name(code.into()).is_empty());
    }
}

#[test]
fn options_are_described_with_their_contents() {
    let feature = |feature: FeatureOption| option_description(&DccpOption::Feature(feature));
    assert_eq!(feature(FeatureOption::preferences(FeatureAction::ChangeL, 1, &[3, 2])), "Change L(CCID 3 2)");
    assert_eq!(
        feature(FeatureOption::number(FeatureAction::ConfirmR, 3, 800)),
        "Confirm R(Sequence Window 800)"
    );
    assert_eq!(feature(FeatureOption::empty(FeatureAction::ConfirmL, 77)), "Confirm L(feature 77 empty)");
    let cells = OptionBytes::from_slice(&[0x02, 0xc0, 0x41]);
    assert_eq!(option_description(&DccpOption::AckVector { nonce: false, cells }), "Ack Vector 3+ 1- 2*");
    let echo = DccpOption::TimestampEcho { timestamp: 5, elapsed: Elapsed::Short(250) };
    assert_eq!(option_description(&echo), "Timestamp Echo 5 after 2.50 ms");
    assert_eq!(option_description(&tfrc::loss_event_rate(54)), "Loss Event Rate 1/54");
    assert_eq!(option_description(&tfrc::loss_event_rate(NO_LOSS_EVENT)), "Loss Event Rate 0");
    assert_eq!(option_description(&tfrc::receive_rate(1000)), "Receive Rate 1000 B/s");
    let moved =
        |echo| option_description(&MobilityOption::Move(Move { identifier: 255, echo, tag: 1 }).into());
    assert_eq!(moved(None), "Move 00000000000000ff");
    assert_eq!(moved(Some(16)), "Move 00000000000000ff answers 0000000000000010");
    assert_eq!(option_description(&MobilityOption::Challenge(16).into()), "Move Challenge 0000000000000010");
    assert_eq!(option_description(&DccpOption::Freeze), "Freeze");
    assert_eq!(
        option_description(&tfrc::probing(ProbeRule::Settle { rtt_micros: 40_000 })),
        "Probing over, 40000 us"
    );
    assert_eq!(option_description(&tfrc::unfrozen()), "Unfrozen");
    let counts = tfrc::EcnCounts { marked: 2, received: 30 };
    assert_eq!(option_description(&counts.to_option()), "ECN Counts 2 of 30 packets");
    let unknown = DccpOption::Unknown { kind: 99, data: OptionBytes::from_slice(&[1, 2]) };
    assert_eq!(option_description(&unknown), "option 99? (2 bytes)");
}

#[test]
fn the_numbers_of_multipath_dccp_have_names() {
    assert_eq!(feature_name(10), "Multipath Capable");
    assert_eq!(reset_code_name(ResetCode::from(13)), "Abrupt MP Termination");
    let unassigned = DccpOption::Unknown { kind: 46, data: OptionBytes::from_slice(&[12, 1]) };
    assert_eq!(option_description(&unassigned), "Multipath? MP_OPT 12 (2 bytes)");
    let short = DccpOption::Unknown { kind: 46, data: OptionBytes::from_slice(&[1; 4]) };
    assert_eq!(option_description(&short), "MP_JOIN invalid (6 bytes)");
}

#[test]
fn multipath_options_are_described_without_their_keys() {
    let describe = |data: &[u8]| option_description(&DccpOption::Multipath(OptionBytes::from_slice(data)));
    assert_eq!(describe(&[1, 2, 0, 0, 1, 0, 9, 9, 9, 9]), "MP_JOIN connection 00000100 address 2");
    assert_eq!(
        describe(&[3, 0, 0, 0, 1, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]),
        "MP_KEY connection 00000100 plain text"
    );
    assert_eq!(describe(&[2, 1, 2, 3, 4, 5, 6, 7, 8]), "MP_FAST_CLOSE");
    assert_eq!(describe(&[4, 0, 0, 0, 0, 1, 0]), "MP_SEQ 256");
    assert_eq!(describe(&[&[5][..], &[1; 20]].concat()), "MP_HMAC");
    assert_eq!(describe(&[6, 3, 0, 0, 0, 40, 0, 0, 0, 7]), "MP_RTT smoothed 40 ms, 7 ms ago");
    assert_eq!(
        describe(&[7, 2, 0, 0, 0, 1, 198, 51, 100, 7, 0x13, 0x91]),
        "MP_ADDADDR 2 198.51.100.7 port 5009"
    );
    assert_eq!(describe(&[8, 2]), "MP_REMOVEADDR 2 (draft: no nonce)");
    assert_eq!(
        describe(&[0, 46, 9, 4, 0, 0, 0, 0, 0, 12, 46, 4, 9, 1, 46, 8, 8, 2, 0, 0, 0, 1]),
        "MP_CONFIRM(12 MP_PRIO 1, 12 MP_REMOVEADDR 2)"
    );
}
