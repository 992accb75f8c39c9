use super::*;

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

fn kilobytes(rate: f64) -> DataRate {
    DataRate::from_bytes_per_second(rate * 1000.0)
}

/// 1 MB/s over 100 ms on the old path; 40 kB/s initially.
fn resume() -> CarefulResume {
    CarefulResume::new(ms(0), kilobytes(1000.0), Duration::from_millis(100), kilobytes(40.0))
}

/// A report at `now` on a packet sent 100 ms before.
fn report(resume: &mut CarefulResume, now: u64, loss: bool, receive_rate: f64) -> (Phase, f64) {
    let sample = Duration::from_millis(100);
    resume.on_report(ms(now), ms(now - 100), loss, sample, kilobytes(receive_rate));
    (resume.phase(), resume.limit().as_bytes_per_second() / 1000.0)
}

#[test]
fn careful_resume_jumps_to_half_of_the_old_rate_and_validates_it() {
    let mut resume = resume();
    assert_eq!(resume.limit(), kilobytes(40.0));
    assert_eq!(report(&mut resume, 100, false, 0.0), (Phase::Unvalidated, 500.0));
    // Packets sent before the jump.
    assert_eq!(report(&mut resume, 150, false, 40.0), (Phase::Unvalidated, 500.0));
    // The first packet of the jump, sent at 100 ms.
    assert_eq!(report(&mut resume, 200, false, 40.0), (Phase::Validating, 500.0));
    assert_eq!(report(&mut resume, 299, false, 500.0), (Phase::Validating, 500.0));
    // All packets of the first round-trip time of the jump.
    assert_eq!(report(&mut resume, 300, false, 500.0).0, Phase::Done);
    assert_eq!(resume.limit(), DataRate::INFINITE);
}

#[test]
fn a_loss_causes_a_retreat_to_half_of_the_delivered_rate() {
    let mut resume = resume();
    report(&mut resume, 100, false, 0.0);
    report(&mut resume, 200, false, 40.0);
    assert_eq!(report(&mut resume, 250, true, 300.0), (Phase::SafeRetreat, 150.0));
    assert_eq!(
        report(&mut resume, 300, true, 300.0),
        (Phase::SafeRetreat, 150.0),
        "a single input is sufficient"
    );
    assert_eq!(report(&mut resume, 450, false, 150.0).0, Phase::Done);
}

#[test]
fn a_loss_at_the_initial_rate_or_another_round_trip_time_prevents_the_jump() {
    let mut lossy = resume();
    assert_eq!(report(&mut lossy, 100, true, 40.0).0, Phase::Done);
    for (sample, phase) in
        [(50, Phase::Done), (51, Phase::Unvalidated), (1000, Phase::Unvalidated), (1001, Phase::Done)]
    {
        let mut other = resume();
        other.on_report(ms(2000), ms(10), false, Duration::from_millis(sample), kilobytes(40.0));
        assert_eq!(other.phase(), phase, "{sample} ms");
    }
}

#[test]
fn the_jump_is_half_of_the_old_window() {
    for (sample, rate) in [(60, 500.0), (100, 500.0), (200, 250.0), (1000, 50.0)] {
        let mut resume = resume();
        resume.on_report(ms(2000), ms(10), false, Duration::from_millis(sample), kilobytes(40.0));
        assert_eq!(resume.limit(), kilobytes(rate), "{sample} ms");
    }
}

#[test]
fn a_report_on_packets_of_the_old_path_is_ignored() {
    let mut resume =
        CarefulResume::new(ms(1000), kilobytes(1000.0), Duration::from_millis(100), kilobytes(40.0));
    assert_eq!(report(&mut resume, 1050, false, 900.0), (Phase::Reconnaissance, 40.0));
}
