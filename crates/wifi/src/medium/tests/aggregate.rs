//! A-MPDUs of which others damage a part.

use super::*;
use crate::phy::{Format, GuardInterval, Mode, Width};

/// An A-MPDU from 0 to 1000 us, whose preamble lasts 36 us, and another frame. Returns the reports.
fn receive_beside(other: (u64, u64, f32)) -> Vec<(u64, Report)> {
    let mode = Mode::new(Format::Ht, 7, 1, Width::Mhz20, GuardInterval::Ns800).ok();
    let aggregate = Frame { kind: FrameKind::Aggregate, mode, ..frame(0, 1_000) };
    let mut medium = Medium::new(MediumConfig::additive(), 10);
    let mut log = Log::default();
    medium.transmit(at(0), StationIndex(0), &aggregate, [link(STRONG)].into_iter());
    let (start, micros, power) = other;
    while let Some(next) = medium.poll_timeout().filter(|&next| next < at(start)) {
        medium.handle_timeout(next, &mut log);
    }
    medium.transmit(at(start), StationIndex(1), &frame(1, micros), [link(power)].into_iter());
    while let Some(next) = medium.poll_timeout() {
        medium.handle_timeout(next, &mut log);
    }
    log.of(RECEIVER)
}

#[test]
fn another_frame_damages_the_part_that_it_overlaps() {
    let lost = Lost(1, ReceptionLoss::Collision);
    let reports = receive_beside((400, 200, STRONG));
    assert_eq!(reports, [(0, Busy), (600, lost), (400, Damaged(600)), (1_000, Received(0)), (1_000, Idle)]);
    // Up to the end.
    let reports = receive_beside((900, 200, STRONG));
    assert_eq!(
        reports,
        [(0, Busy), (900, Damaged(1_000)), (1_000, Received(0)), (1_100, lost), (1_100, Idle)]
    );
}

#[test]
fn a_frame_in_the_preamble_destroys_the_whole() {
    let reports = receive_beside((30, 200, STRONG));
    assert!(reports.contains(&(1_000, Lost(0, ReceptionLoss::Collision))), "{reports:?}");
    assert!(!reports.iter().any(|(_, report)| matches!(report, Received(_) | Damaged(_))), "{reports:?}");
}

#[test]
fn a_weak_frame_damages_nothing() {
    let reports = receive_beside((400, 200, STRONG / 100.0));
    assert_eq!(reports.iter().filter(|(_, report)| matches!(report, Damaged(_))).count(), 0);
    assert!(reports.contains(&(1_000, Received(0))));
}
