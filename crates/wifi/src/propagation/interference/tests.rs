use super::*;
use crate::propagation::success_probability;
use whimbrel_units::Duration;

#[test]
fn powers_add_and_leave_no_residue() {
    let mut air = Interference::new();
    air.begin(1, 1e-13);
    air.begin(2, 1.0);
    air.begin(3, 2e-13);
    assert!((air.total_without(2) - 3e-13).abs() < 1e-25);
    assert_eq!(air.end(2), Some(1.0));
    // A running sum would have lost the weak signals to rounding.
    assert!((air.total() - 3e-13).abs() < 1e-25);
    assert_eq!(air.end(2), None);
    assert_eq!(air.end(1), Some(1e-13));
    assert_eq!(air.end(3), Some(2e-13));
    assert_eq!(air.total(), 0.0);
    assert!(air.is_empty());
}

fn micros(n: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(n)
}

#[test]
fn a_frame_without_interference_has_the_success_of_its_parts() {
    let parts = [(micros(192), Rate::Dsss1), (micros(1_192), Rate::Hr11)];
    let (signal, noise) = (2.7e-12, 7e-13);
    let mut frame = FrameReception::new(micros(0), signal, noise, 0.0, &parts);
    let ratio = signal / noise;
    let expected =
        success_probability(Rate::Dsss1, ratio, 192.0) * success_probability(Rate::Hr11, ratio, 11_000.0);
    let measured = frame.success_probability(micros(1_192));
    assert!(expected > 0.01 && expected < 0.99, "{expected}");
    assert!((measured - expected).abs() < 1e-9, "{measured} for {expected}");
}

#[test]
fn only_the_bits_under_interference_suffer_from_it() {
    let parts = [(micros(1_000), Rate::Dsss2)];
    let (signal, noise, interference) = (1e-11, 1e-12, 2e-11);
    let mut frame = FrameReception::new(micros(0), signal, noise, 0.0, &parts);
    frame.handle_interference(micros(400), interference);
    frame.handle_interference(micros(405), 0.0);
    let measured = frame.success_probability(micros(1_000));
    let expected = success_probability(Rate::Dsss2, signal / (noise + interference), 10.0)
        * success_probability(Rate::Dsss2, signal / noise, 1_990.0);
    assert!((measured - expected).abs() < 1e-9, "{measured} for {expected}");
    assert!(measured > 0.05 && measured < 0.999, "{measured}");
}

#[test]
fn changes_of_interference_split_chunks_and_nothing_else() {
    let parts = [(micros(192), Rate::Dsss1), (micros(900), Rate::Hr5_5)];
    let whole = FrameReception::new(micros(0), 1e-12, 8e-13, 0.0, &parts).success_probability(micros(900));
    let mut split = FrameReception::new(micros(0), 1e-12, 8e-13, 0.0, &parts);
    for step in 1..90 {
        split.handle_interference(micros(step * 10), 0.0);
        split.handle_interference(micros(step * 10), 0.0);
    }
    let split = split.success_probability(micros(900));
    assert!((split - whole).abs() < 1e-12, "{split} for {whole}");
}
