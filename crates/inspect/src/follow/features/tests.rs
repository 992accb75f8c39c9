use whimbrel_wire::option::FeatureAction::{ChangeL, ChangeR, ConfirmL, ConfirmR};

use super::*;

fn feature(option: FeatureOption) -> DccpOption {
    DccpOption::Feature(option)
}

fn preferences(action: FeatureAction, number: u8, values: &[u8]) -> DccpOption {
    feature(FeatureOption::preferences(action, number, values))
}

/// Features after these packets: (sending end, type, options).
fn after(packets: &[(Side, PacketType, Vec<DccpOption>)]) -> (Features, Vec<AnomalyKind>) {
    let (mut features, mut anomalies) = (Features::default(), Anomalies::default());
    for (number, (by, kind, options)) in (1..).zip(packets) {
        features.on_options(*by, number, *kind, options, &mut anomalies);
    }
    (features, anomalies.into_list().into_iter().map(|anomaly| anomaly.kind).collect())
}

#[test]
fn a_ccid_is_negotiated() {
    let (features, anomalies) = after(&[
        (Side::Client, PacketType::Request, vec![DccpOption::Mandatory, preferences(ChangeL, 1, &[3, 2])]),
        (Side::Server, PacketType::Response, vec![preferences(ConfirmR, 1, &[2, 2, 3])]),
    ]);
    assert_eq!(anomalies, []);
    assert_eq!(features.value(Side::Client, FeatureNumber::Ccid), Some(2));
    let [ccid] = &features.of_half(Side::Client)[..] else { panic!() };
    assert_eq!((ccid.value, ccid.initial, ccid.name.as_str()), (Some(2), Some(2), "CCID"));
    let steps: Vec<_> =
        ccid.steps.iter().map(|step| (step.by, step.action, &step.values[..], step.mandatory)).collect();
    assert_eq!(steps, [(Side::Client, "Change L", "3 2", true), (Side::Server, "Confirm R", "2 2 3", false)]);
    assert_eq!(features.of_half(Side::Server), []);
}

#[test]
fn numbers_are_in_force_when_they_are_confirmed() {
    let window = |action, value| feature(FeatureOption::number(action, 3, value));
    let (features, _) = after(&[
        (Side::Server, PacketType::Ack, vec![window(ChangeL, 800)]),
        (Side::Server, PacketType::Ack, vec![window(ChangeL, 800)]),
    ]);
    assert_eq!(features.sequence_window(Side::Server), 100);
    let (features, _) = after(&[
        (Side::Server, PacketType::Ack, vec![window(ChangeL, 800)]),
        (Side::Client, PacketType::Ack, vec![window(ConfirmR, 800)]),
    ]);
    assert_eq!((features.sequence_window(Side::Server), features.sequence_window(Side::Client)), (800, 100));
}

#[test]
fn features_of_the_receiver_are_listed_with_the_data_it_receives() {
    let (features, _) = after(&[
        (
            Side::Client,
            PacketType::Request,
            vec![preferences(ChangeR, 6, &[1]), preferences(ChangeR, 192, &[1])],
        ),
        (Side::Server, PacketType::Response, vec![preferences(ConfirmL, 6, &[1, 1])]),
    ]);
    let names: Vec<_> = features.of_half(Side::Client).into_iter().map(|one| (one.name, one.value)).collect();
    assert_eq!(
        names,
        [("Send Ack Vector".to_owned(), Some(1)), ("Send Loss Event Rate".to_owned(), Some(0))]
    );
}

#[test]
fn refusals_repetitions_and_unsolicited_confirms_are_recorded() {
    let (features, anomalies) = after(&[
        (Side::Client, PacketType::Ack, vec![preferences(ChangeL, 77, &[1])]),
        (Side::Client, PacketType::Ack, vec![preferences(ChangeL, 77, &[1])]),
        // RFC 4340, Section 6: on Data they are ignored.
        (Side::Client, PacketType::Data, vec![preferences(ChangeL, 77, &[9])]),
        (Side::Server, PacketType::Ack, vec![feature(FeatureOption::empty(ConfirmR, 77))]),
        (Side::Server, PacketType::Ack, vec![preferences(ConfirmR, 5, &[0, 2])]),
    ]);
    let [ratio, unknown] = &features.of_half(Side::Client)[..] else { panic!() };
    assert!(unknown.refused && !ratio.refused);
    assert_eq!((unknown.steps.len(), unknown.steps[0].times, unknown.steps_total), (2, 2, 2));
    assert_eq!(anomalies, [AnomalyKind::UnaskedConfirm]);
}
