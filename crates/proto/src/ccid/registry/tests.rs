use super::*;
use crate::Config;
use crate::ccid::tfrc::TfrcConfig;
use crate::connection::tests::fixed_rate::FixedRate;

fn control(number: u8, interval: u64) -> FixedRate {
    FixedRate { ccid: Ccid(number), ..FixedRate::every(Duration::from_millis(interval)) }
}

#[test]
fn mechanisms_are_found_by_number() {
    let registry = Registry::empty().with(control(248, 1)).with(control(250, 1));
    assert_eq!(registry.ccids().collect::<Vec<_>>(), [Ccid(248), Ccid(250)]);
    assert_eq!(registry.mechanism(Ccid(250)).unwrap().ccid(), Ccid(250));
    assert!(registry.mechanism(Ccid(249)).is_none());
}

#[test]
fn a_ccid_is_found_by_its_number_or_name() {
    let registry = Registry::default().with_window_laws().with_delay_aware();
    for (text, ccid) in [
        ("2", Some(Ccid::TCP_LIKE)),
        ("tfrc", Some(Ccid::TFRC)),
        ("cubic", Some(Ccid::CUBIC)),
        ("248", Some(Ccid::CUBIC)),
        ("Veno", Some(Ccid::VENO)),
        ("westwood", Some(Ccid::WESTWOOD)),
        ("PRAGUE", Some(Ccid::PRAGUE)),
        ("delay-aware", Some(Ccid::DELAY_AWARE)),
        ("252", Some(Ccid::DELAY_AWARE)),
        ("250", None),
        ("5", None),
        ("bbr", None),
        ("", None),
    ] {
        assert_eq!(registry.parse(text), ccid, "{text}");
    }
    for experiment in ["cubic", "delay-aware"] {
        assert_eq!(Registry::default().parse(experiment), None, "experiments are registered on request only");
    }
}

#[test]
fn a_description_names_the_chosen_mechanisms_in_order() {
    let registry = Registry::default().with(control(248, 1));
    assert_eq!(registry.describe(|_| true), "2 (TCP-like), 3 (TFRC), 4 (TFRC-SP) or 248 (an experiment)");
    assert_eq!(
        registry.describe(|mechanism| mechanism.profile().classifies_losses),
        "3 (TFRC) or 4 (TFRC-SP)"
    );
    assert_eq!(registry.describe(|mechanism| mechanism.profile().needs_ack_vector), "2 (TCP-like)");
    assert_eq!(registry.describe(|_| false), "none");
}

#[test]
fn a_second_mechanism_with_a_number_takes_the_place_of_the_first() {
    let registry = Registry::empty().with(control(248, 1)).with(control(248, 2));
    assert_eq!(registry.ccids().count(), 1);
    assert!(format!("{:?}", registry.mechanism(Ccid(248)).unwrap()).contains("2ms"));
    assert_eq!(format!("{registry:?}"), "[CCID 248]");
}

#[test]
fn the_configuration_of_tfrc_is_that_of_its_mechanisms() {
    let changed = Config::default().tfrc(TfrcConfig::default().forgive_late(false));
    assert_eq!(changed.ccids.tfrc().map(|tfrc| tfrc.forgive_late), Some(false));
    assert_ne!(changed.ccids, Registry::default());
    assert_eq!(changed.ccids.describe(|_| true), Registry::default().describe(|_| true));
    let invalid = changed.tfrc(TfrcConfig::default().faster_restart(Some(Duration::ZERO)));
    let error = invalid.validate().expect_err("a decay time of zero");
    assert!(error.to_string().contains("tfrc.faster_restart"), "{error}");
}
