use super::*;

#[test]
fn numbers_and_properties_of_table_4() {
    use Reconciliation::{NonNegotiable, ServerPriority};
    let rows = [
        (1, FeatureNumber::Ccid, ServerPriority, 1, 2, true),
        (2, FeatureNumber::AllowShortSequenceNumbers, ServerPriority, 1, 0, true),
        (3, FeatureNumber::SequenceWindow, NonNegotiable, 6, 100, true),
        (4, FeatureNumber::EcnIncapable, ServerPriority, 1, 0, false),
        (5, FeatureNumber::AckRatio, NonNegotiable, 2, 2, false),
        (6, FeatureNumber::SendAckVector, ServerPriority, 1, 0, false),
        (7, FeatureNumber::SendNdpCount, ServerPriority, 1, 0, false),
        (8, FeatureNumber::MinimumChecksumCoverage, ServerPriority, 1, 0, false),
        (9, FeatureNumber::CheckDataChecksum, ServerPriority, 1, 0, false),
        (10, FeatureNumber::MultipathCapable, ServerPriority, 1, 0, false),
        (128, FeatureNumber::SendRttEstimate, ServerPriority, 1, 0, false),
        (184, FeatureNumber::SendTimestamps, ServerPriority, 1, 0, false),
        (192, FeatureNumber::SendLossEventRate, ServerPriority, 1, 0, false),
    ];
    for (number, feature, reconciliation, len, initial, required) in rows {
        assert_eq!(FeatureNumber::from(number), feature);
        assert_eq!(feature.reconciliation(), Some(reconciliation));
        assert_eq!(feature.value_len(), Some(len));
        assert_eq!(feature.initial_value(), Some(initial));
        assert_eq!(feature.is_required(), required);
        assert_eq!(feature.is_ccid_specific(), number >= 128);
    }
    for number in 0..=255 {
        assert_eq!(u8::from(FeatureNumber::from(number)), number);
    }
    assert_eq!(FeatureNumber::Other(11).reconciliation(), None);
    assert!(FeatureNumber::Other(200).is_ccid_specific());
}

#[test]
fn confirms_answer_changes_from_the_other_end() {
    assert_eq!(FeatureAction::ChangeL.reply(), Some(FeatureAction::ConfirmR));
    assert_eq!(FeatureAction::ChangeR.reply(), Some(FeatureAction::ConfirmL));
    assert_eq!(FeatureAction::ConfirmL.reply(), None);
    for kind in 32..=35 {
        let action = FeatureAction::from_kind(kind).unwrap();
        assert_eq!(action as u8, kind);
        assert_eq!(action.is_change(), kind % 2 == 0);
        assert_eq!(action.is_local(), kind < 34);
    }
    assert_eq!(FeatureAction::from_kind(36), None);
}

#[test]
fn preference_lists_are_bytes_in_order() {
    let change = FeatureOption::preferences(FeatureAction::ChangeR, FeatureNumber::Ccid, &[3, 2]);
    assert_eq!((change.feature, &change.values[..]), (1, &[3, 2][..]));
    assert_eq!(change.feature_number(), FeatureNumber::Ccid);
    // RFC 4340, Section 6.3.1: the chosen value, then the confirmer's list.
    let confirm = FeatureOption::confirmation(FeatureAction::ConfirmL, 1, 3, &[4, 3, 2]);
    assert_eq!(&confirm.values[..], [3, 4, 3, 2]);
    assert_eq!(confirm.as_confirmation(), Some((3, &[4, 3, 2][..])));
    let empty = FeatureOption::empty(FeatureAction::ConfirmL, FeatureNumber::Other(99));
    assert_eq!(empty.as_confirmation(), None);
}

#[test]
fn numbers_have_the_width_of_their_feature() {
    let window = FeatureOption::number(FeatureAction::ChangeL, FeatureNumber::SequenceWindow, 1024);
    assert_eq!(&window.values[..], [0, 0, 0, 0, 4, 0]);
    assert_eq!(window.as_number(), Some(1024));
    let ratio = FeatureOption::number(FeatureAction::ChangeL, FeatureNumber::AckRatio, 2);
    assert_eq!(&ratio.values[..], [0, 2]);
    assert_eq!(ratio.as_number(), Some(2));
    let other = FeatureOption::number(FeatureAction::ChangeL, 119, 0x01_0203);
    assert_eq!(&other.values[..], [1, 2, 3]);
    assert_eq!(other.as_number(), Some(0x01_0203));
}

#[test]
fn a_number_of_another_width_is_rejected() {
    let with = |feature: FeatureNumber, values: &[u8]| {
        FeatureOption::preferences(FeatureAction::ChangeL, feature, values).as_number()
    };
    assert_eq!(with(FeatureNumber::AckRatio, &[2]), None);
    assert_eq!(with(FeatureNumber::SequenceWindow, &[0; 5]), None);
    assert_eq!(with(FeatureNumber::Other(119), &[]), None);
    assert_eq!(with(FeatureNumber::Other(119), &[0; 7]), None);
}
