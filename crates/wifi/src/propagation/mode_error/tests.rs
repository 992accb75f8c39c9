use std::vec::Vec;

use super::{CONVOLUTIONAL, CURVE_BYTES, LDPC, loss_probability, lost};
use crate::phy::{Format, GuardInterval, Mode, Width};

/// The thresholds of the published tables: 90, 50, 10 and 1 % of the frames are lost.
#[test]
fn the_curves_pass_through_the_published_thresholds() {
    let mut rows = 0;
    for row in include_str!("../../../tests/data/today/per.csv").lines().skip(1) {
        let columns: Vec<&str> = row.split(',').collect();
        let mcs = columns[0].parse::<usize>().unwrap();
        let curve = if columns[1] == "bcc" { CONVOLUTIONAL[mcs] } else { LDPC[mcs] };
        let number = |column: usize| columns[column].parse::<f64>().unwrap();
        let mut worst: f64 = 0.0;
        for (column, expected) in [(2, 0.9), (3, 0.5), (4, 0.1), (5, 0.01)] {
            worst = worst.max((lost(curve, number(column), CURVE_BYTES) - expected).abs());
        }
        assert!((worst - number(8)).abs() < 2e-4, "{row}: {worst}");
        rows += 1;
    }
    assert_eq!(rows, 22);
}

fn mode(format: Format, mcs: u8, streams: u8, width: Width) -> Mode {
    Mode::new(format, mcs, streams, width, GuardInterval::Ns800).unwrap()
}

#[test]
fn longer_frames_and_more_streams_need_more_power() {
    let one = mode(Format::Vht, 7, 1, Width::Mhz20);
    let snr = crate::propagation::from_decibels(18.8731);
    assert!((loss_probability(one, snr, 1_458) - 0.5).abs() < 1e-9);
    assert!((loss_probability(one, snr, 2 * 1_458) - 0.75).abs() < 1e-9);
    let two = mode(Format::Vht, 7, 2, Width::Mhz20);
    assert!((loss_probability(two, 2.0 * snr, 1_458) - 0.5).abs() < 1e-9);
    assert!(loss_probability(two, snr, 1_458) > 0.99);
    // LDPC in wide channels of HE, the convolutional code in narrow ones.
    let fitting = crate::propagation::from_decibels(17.6645);
    assert!((loss_probability(mode(Format::He, 7, 1, Width::Mhz40), fitting, 1_458) - 0.5).abs() < 1e-9);
    assert!(loss_probability(mode(Format::He, 7, 1, Width::Mhz20), fitting, 1_458) > 0.9);
    // A tiny loss is not rounded away, and no signal loses everything.
    let far = loss_probability(one, crate::propagation::from_decibels(28.0), 1_538);
    assert!(far > 1e-13 && far < 1e-10, "{far}");
    assert_eq!(loss_probability(one, 0.0, 100), 1.0);
    assert_eq!(loss_probability(one, f64::NAN, 100), 1.0);
}
