use whimbrel_units::random::{Random, SplitMix64};
use whimbrel_units::{Duration, Instant};

use super::OuterLoop;
use crate::amc::{Adaptation, McsTable, SelectionRule, ten_percent_point};
use crate::level::Decibels;
use crate::radio::error_curve::block_error_rate;
use crate::radio::{CqiReports, Cycles, DelayProfile, Fading, Hertz, doppler_shift};

/// The share of blocks that fail on a Rayleigh channel of 20 dB at 30 km/h, with reports that are 8 ms old.
fn failures(target: Option<f64>) -> f64 {
    let fading = Fading::new(DelayProfile::Flat, 3);
    let shift = doppler_shift(Hertz(2e9), 30.0 / 3.6).0;
    let channel = |time: Instant| {
        let gain = fading.response(Cycles(shift * time.as_secs_f64())).gain(Hertz(0.0));
        Decibels(20.0) + Decibels::from_ratio(gain)
    };
    let reports = CqiReports::new(Duration::from_millis(2), Duration::from_millis(8), Decibels::ZERO, 0);
    let adaptation = Adaptation::nr(SelectionRule::TenPercent, McsTable::Qam64);
    let mut outer = OuterLoop::new(target.unwrap_or(0.5), Decibels(0.5), Decibels(30.0));
    let mut random = SplitMix64::new(5);
    let (mut sent, mut failed) = (0, 0);
    for slot in 8..20_000 {
        let now = Instant::from_millis(slot);
        let margin = if target.is_some() { outer.margin() } else { Decibels::ZERO };
        let Some(cqi) = reports.cqi(now, &adaptation, |time| channel(time) + margin) else { continue };
        let point = ten_percent_point(adaptation.efficiency(adaptation.mcs(cqi)));
        let is_received = random.uniform() >= block_error_rate(channel(now) - point);
        outer.handle_outcome(is_received);
        sent += 1;
        failed += i32::from(!is_received);
    }
    assert!(sent > 10_000, "{sent}");
    f64::from(failed) / f64::from(sent)
}

#[test]
fn old_reports_fail_often_unless_acknowledgements_correct_them() {
    let blind = failures(None);
    assert!(blind > 0.3, "{blind}");
    for target in [0.1, 0.02] {
        let found = failures(Some(target));
        assert!((found - target).abs() < target * 0.15, "{found}, expected {target}");
    }
}
