use super::*;
use std::string::ToString;

fn class_at(radio: &Radio, distance: f64) -> SignalClass {
    radio.classify(LinkBudget::new(&PathLoss::TwoRayGround, radio, radio).power(distance * distance))
}

#[test]
fn ns2s_default_radio_decodes_to_250_m_and_senses_to_550_m() {
    assert_eq!(class_at(&Radio::NS2, 250.0), SignalClass::Decodable);
    assert_eq!(class_at(&Radio::NS2, 251.0), SignalClass::Sensed);
    assert_eq!(class_at(&Radio::NS2, 550.0), SignalClass::Sensed);
    assert_eq!(class_at(&Radio::NS2, 551.0), SignalClass::Undetected);
    let ranges = LinkBudget::new(&PathLoss::TwoRayGround, &Radio::NS2, &Radio::NS2).ranges();
    assert!((ranges.receive - 250.011).abs() < 0.001, "{ranges:?}");
    assert!((ranges.carrier_sense - 550.021).abs() < 0.001, "{ranges:?}");
}

#[test]
fn the_radio_of_the_freeze_paper_decodes_to_400_m() {
    let ranges = LinkBudget::new(&PathLoss::TwoRayGround, &Radio::FREEZE, &Radio::FREEZE).ranges();
    assert!((ranges.receive - 400.0).abs() < 0.001, "{ranges:?}");
}

#[test]
fn thresholds_follow_from_ranges() {
    let wanted = Ranges { receive: 250.0, carrier_sense: 500.0 };
    for law in [PathLoss::Friis, PathLoss::TwoRayGround] {
        let radio = Radio::NS2.with_ranges(&law, wanted);
        let ranges = LinkBudget::new(&law, &radio, &radio).ranges();
        assert!((ranges.receive - 250.0).abs() < 1e-9 && (ranges.carrier_sense - 500.0).abs() < 1e-9);
        // A node exactly at the range decodes.
        let power = LinkBudget::new(&law, &radio, &radio).power(250.0 * 250.0);
        assert_eq!(radio.classify(power), SignalClass::Decodable);
    }
}

#[test]
fn capture_needs_ten_decibels() {
    assert!(Radio::NS2.captures(1.0e-9, 1.0e-10));
    assert!(!Radio::NS2.captures(0.999e-9, 1.0e-10));
}

#[test]
fn impossible_radios_are_refused_with_the_field() {
    assert_eq!(Radio::NS2.check(), Ok(()));
    assert_eq!(Radio::FREEZE.check(), Ok(()));
    let cases: [(&str, Radio); 5] = [
        ("transmit_power", Radio { transmit_power: 0.0, ..Radio::NS2 }),
        ("frequency", Radio { frequency: f64::NAN, ..Radio::NS2 }),
        ("antenna_height", Radio { antenna_height: -1.0, ..Radio::NS2 }),
        ("system_loss", Radio { system_loss: 0.5, ..Radio::NS2 }),
        ("carrier_sense_threshold", Radio { carrier_sense_threshold: 1e-9, ..Radio::NS2 }),
    ];
    for (field, radio) in cases {
        let error = radio.check().unwrap_err();
        assert_eq!(error.field, field);
        assert!(error.to_string().contains("expected"), "{error}");
    }
}

#[test]
fn the_medium_of_the_default_radio_is_that_of_ns2() {
    assert_eq!(Radio::NS2.medium(CaptureRule::FirstFrame), MediumConfig::ns2());
    // The single precision of the medium's powers does not move a threshold past the ranges.
    let budget = LinkBudget::new(&PathLoss::TwoRayGround, &Radio::NS2, &Radio::NS2);
    let power = |distance: f64| budget.power(distance * distance) as f32;
    let medium = Radio::NS2.medium(CaptureRule::FirstFrame);
    assert!(power(250.0) >= medium.receive_threshold && power(250.02) < medium.receive_threshold);
    assert!(power(550.0) >= medium.carrier_sense_threshold && power(550.04) < medium.carrier_sense_threshold);
}
