use super::super::{
    Evidence, Guard, GuardConfig, LossClass, LossDifferentiation, LossGap, Omniscient, Overruled,
    RecordingClassifier, Scheme,
};
use super::{at, packet};
use std::boxed::Box;
use std::vec::Vec;
use whimbrel_units::Duration;

const LENIENT: GuardConfig =
    GuardConfig { young_packets: 0, young_time: Duration::ZERO, discounted_share: 1.0, discounted_loss: 1.0 };

fn gap(first: u64, count: u64, before_ms: f64, after_ms: f64) -> LossGap {
    LossGap { first, count, before: at(before_ms), after: at(after_ms) }
}

#[test]
fn a_result_contains_its_gap_and_evidence_once_the_packets_are_lost() {
    let mut recording = RecordingClassifier::new(Scheme::ModifiedBiaz.build());
    for sequence in 0..4 {
        recording.on_arrival(&packet(sequence, 10.0 * sequence as f64, 5.0));
    }
    // 4 and 5 are missing, and 6 arrives at its expected time: 30 ms after 3, with T_min = 10 ms.
    recording.on_arrival(&packet(6, 60.0, 5.0));
    let seen = gap(4, 2, 30.0, 60.0);
    assert_eq!(recording.classify(&seen), LossClass::Wireless);
    assert!(!recording.has_verdicts());
    for sequence in [4, 5] {
        assert_eq!(recording.final_class(sequence, LossClass::Wireless), LossClass::Wireless);
    }
    let results = recording.take().expect("a verdict");
    assert_eq!((results.first, results.count, results.gap, results.cause), (4, 2, seen, LossClass::Wireless));
    let (interval, minimum) = (Duration::from_millis(30), Duration::from_millis(10));
    assert_eq!(results.evidence, Evidence::InterArrival { interval, minimum, count: 2 });
    assert_eq!((results.overruled, recording.take()), (None, None));
}

#[test]
fn different_classes_within_a_gap_are_separate_results() {
    let mut recording = RecordingClassifier::new(Box::new(Omniscient::new()));
    for (sequence, cause) in [(4, LossClass::Wireless), (5, LossClass::Wireless), (6, LossClass::Congestion)]
    {
        recording.inform(sequence, cause);
    }
    recording.on_arrival(&packet(3, 30.0, 5.0));
    recording.on_arrival(&packet(7, 70.0, 5.0));
    let class = recording.classify(&gap(4, 3, 30.0, 70.0));
    for sequence in 4..7 {
        recording.final_class(sequence, class);
    }
    let results: Vec<_> =
        core::iter::from_fn(|| recording.take()).map(|v| (v.first, v.count, v.cause)).collect();
    assert_eq!(results, [(4, 2, LossClass::Wireless), (6, 1, LossClass::Congestion)]);
}

#[test]
fn an_overruled_result_is_kept_if_a_later_gap_opens_before_the_loss_is_declared() {
    let config = GuardConfig { young_packets: 4, ..LENIENT };
    let mut recording =
        RecordingClassifier::new(Box::new(Guard::new(config, Some(Scheme::ModifiedBiaz.build()))));
    for sequence in [0, 1, 3] {
        recording.on_arrival(&packet(sequence, 10.0 * sequence as f64, 5.0));
    }
    // The third arrival reveals a gap while the guard is young. The fourth reveals another, when it no longer
    // is.
    let first = recording.classify(&gap(2, 1, 10.0, 30.0));
    recording.on_arrival(&packet(5, 50.0, 5.0));
    let second = recording.classify(&gap(4, 1, 30.0, 50.0));
    assert_eq!((first, second), (LossClass::Congestion, LossClass::Wireless));
    recording.final_class(2, first);
    recording.final_class(4, second);
    let results: Vec<_> = core::iter::from_fn(|| recording.take()).map(|v| (v.first, v.overruled)).collect();
    assert_eq!(results, [(2, Some(Overruled::Young)), (4, None)]);
}

#[test]
fn results_that_are_never_taken_do_not_accumulate() {
    let mut recording = RecordingClassifier::new(Scheme::ModifiedBiaz.build());
    for round in 0..1000 {
        let first = 2 * round + 1;
        let class = recording.classify(&gap(first, 1, 0.0, 20.0));
        recording.final_class(first, class);
    }
    let results: Vec<u64> = core::iter::from_fn(|| recording.take()).map(|verdict| verdict.first).collect();
    assert_eq!((results.len(), results[0], results[255]), (256, 2 * 744 + 1, 2 * 999 + 1));
}
