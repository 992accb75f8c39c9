use std::vec::Vec;

use super::{Adaptation, SelectionRule, TEN_PERCENT, ns3_efficiency, ten_percent_point};
use crate::amc::lte::{Direction, LteMcs};
use crate::amc::{Cqi, CqiTable, Mcs, McsTable};
use crate::level::Decibels;

/// ns-3's points: dB, efficiency, CQI, MCS; CQI 0 is "no transmission".
const NS3: &str = include_str!("../../../tests/data/amc-ns3.csv");
const LTE: LteMcs = LteMcs { direction: Direction::Down, table: McsTable::Qam64 };

#[test]
fn the_rule_of_ns3_has_its_36_points() {
    let adaptation = Adaptation::lte(SelectionRule::Ns3, LTE);
    let mut points = 0;
    for line in NS3.lines().skip(1) {
        let fields: Vec<f64> = line.split(',').map(|field| field.parse().unwrap()).collect();
        let sinr = Decibels(fields[0]);
        assert!((ns3_efficiency(sinr) - fields[1]).abs() <= 5.001e-6, "{line}");
        let cqi = adaptation.cqi(sinr);
        assert_eq!(f64::from(cqi.map_or(0, |cqi| cqi.0)), fields[2], "{line}");
        assert_eq!(cqi.map_or(-1.0, |cqi| f64::from(adaptation.mcs(cqi).0)), fields[3], "{line}");
        points += 1;
    }
    assert_eq!(points, 36);
}

#[test]
fn nr_chooses_as_5g_lena_does() {
    let adaptation = Adaptation::nr(SelectionRule::Ns3, McsTable::Qam256);
    let cqi = adaptation.cqi(Decibels(14.7962)).unwrap();
    assert_eq!((cqi, adaptation.mcs(cqi)), (Cqi(6), Mcs(9)));
}

#[test]
fn each_threshold_begins_its_cqi() {
    let adaptation = Adaptation::nr(SelectionRule::TenPercent, McsTable::Qam64);
    for (below, threshold) in TEN_PERCENT.iter().enumerate() {
        let cqi = |sinr: f64| adaptation.cqi(Decibels(sinr)).map_or(0, |cqi| usize::from(cqi.0));
        assert_eq!(cqi(threshold + 0.01), below + 1);
        assert_eq!(cqi(threshold - 0.01), below);
    }
}

#[test]
fn schemes_of_256qam_need_more_than_the_last_of_64qam() {
    let points: Vec<f64> = CqiTable::Qam256.schemes()[10..]
        .iter()
        .map(|scheme| ten_percent_point(scheme.efficiency()).0)
        .collect();
    assert!((points[0] - 21.0).abs() < 1e-9 && (points[1] - 22.7).abs() < 1e-9, "{points:?}");
    // By hand: Shannon's bound at 7.40625 bit is 22.26 dB, 5.64 dB above its value at 5.5547 bit.
    assert!((points[4] - 28.34).abs() < 0.02, "{points:?}");
    assert!(points.is_sorted());
}

#[test]
fn a_better_channel_never_has_a_lower_scheme() {
    for adaptation in [
        Adaptation::lte(SelectionRule::TenPercent, LTE),
        Adaptation::lte(SelectionRule::Ns3, LteMcs { table: McsTable::Qam256, ..LTE }),
        Adaptation::nr(SelectionRule::TenPercent, McsTable::Qam256),
    ] {
        let schemes: Vec<Option<Mcs>> = (-100..400)
            .map(|tenth| adaptation.cqi(Decibels(f64::from(tenth) / 10.0)).map(|cqi| adaptation.mcs(cqi)))
            .collect();
        assert!(schemes.is_sorted());
        assert_eq!(schemes[0], None);
        let highest = adaptation.table.schemes().len() as u8 - 1;
        assert_eq!(*schemes.last().unwrap(), Some(Mcs(highest)));
    }
}
