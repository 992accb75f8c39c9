//! Each law while reports are lost, overtaken or duplicated: its rate equals the rate with undisturbed
//! reports.

use alloc::boxed::Box;
use alloc::vec::Vec;

use whimbrel_units::{DataRate, Duration, Instant};

use super::path::{Path, ReportFate, mean, queue_ms, run};
use super::{
    Bbr, BbrConfig, Copa, CopaConfig, DelayAwareTfrc, DelayAwareTfrcConfig, Gcc, GccConfig, MediaController,
    Nada, NadaConfig, RateLimits, Scream, ScreamConfig, ScreamEcn,
};

const REPORT_INTERVAL: Duration = Duration::from_millis(20);
/// Later than the next report.
const LATE: ReportFate = ReportFate::Late(Duration::from_millis(25));

fn laws() -> Vec<Box<dyn MediaController>> {
    let limits = RateLimits {
        min: DataRate::from_kilobits_per_second(150.0),
        start: DataRate::from_kilobits_per_second(300.0),
        max: DataRate::from_megabits_per_second(20.0),
    };
    let scream = ScreamConfig { ecn: ScreamEcn::Off, ..ScreamConfig::new(limits) };
    alloc::vec![
        Box::new(Bbr::new(BbrConfig::new(limits))),
        Box::new(Copa::new(CopaConfig::new(limits))),
        Box::new(Scream::new(scream)),
        Box::new(Gcc::new(GccConfig::new(limits))),
        Box::new(Nada::new(NadaConfig::new(limits))),
        Box::new(DelayAwareTfrc::new(DelayAwareTfrcConfig::new(limits))),
    ]
}

/// Received rate in bit/s and queueing delay in ms from 20 to 40 s over 6 Mbit/s; `fate` maps a report's
/// number to its fate.
fn steady(law: &dyn MediaController, fate: fn(u64) -> ReportFate) -> (f64, f64) {
    let number = |at: Instant| at.as_nanos() / REPORT_INTERVAL.as_nanos();
    let path = Path {
        report_every: REPORT_INTERVAL,
        report_fate: Box::new(move |at| fate(number(at))),
        ..Path::new(6e3, 20, 300)
    };
    let samples = run(&mut *law.clone_box(), &path, 40, 3);
    (mean(&samples[200..], |sample| sample.received), mean(&samples[200..], queue_ms))
}

/// Asserts that the rate with `fate` is at least `share` of the undisturbed one, and the queue at most
/// `more_ms` longer.
fn assert_undisturbed(fate: fn(u64) -> ReportFate, share: f64, more_ms: f64) {
    for law in laws() {
        let (clean, short) = steady(&*law, |_| ReportFate::Arrives);
        let (rate, queue) = steady(&*law, fate);
        assert!(rate >= share * clean, "{}: {rate} of {clean} bit/s", law.name());
        assert!(queue <= short + more_ms, "{}: {queue} after {short} ms", law.name());
    }
}

#[test]
fn every_hundredth_report_lost_costs_no_law_its_rate() {
    let fate = |number| if number % 100 == 0 { ReportFate::Lost } else { ReportFate::Arrives };
    assert_undisturbed(fate, 0.98, 3.0);
}

#[test]
fn every_twentieth_report_overtaken_costs_no_law_its_rate() {
    let fate = |number| if number % 20 == 0 { LATE } else { ReportFate::Arrives };
    assert_undisturbed(fate, 0.93, 10.0);
}

#[test]
fn copies_of_reports_change_nothing() {
    assert_undisturbed(|_| ReportFate::Twice(Duration::from_millis(3)), 1.0, 0.0);
}
