use super::*;

fn rate(kilobytes: f64) -> DataRate {
    DataRate::from_bytes_per_second(kilobytes * 1000.0)
}

fn trained() -> FasterRestart {
    let mut restart = FasterRestart::new(Instant::ZERO, DECAY_TIME);
    restart.on_feedback(Instant::ZERO, rate(100.0), false);
    restart
}

#[test]
fn a_sustained_rate_is_used_in_full_for_two_minutes_and_not_after_six() {
    let limit_after = |seconds| trained().fast_limit(Instant::from_secs(seconds));
    assert_eq!(limit_after(120), rate(100.0));
    assert_eq!(limit_after(240), rate(50.0));
    assert_eq!(limit_after(360), DataRate::ZERO);
    assert_eq!(limit_after(1000), DataRate::ZERO);
}

#[test]
fn the_limit_is_doubled_up_to_the_sustained_rate() {
    let now = Instant::from_secs(10);
    assert_eq!(trained().raise(now, rate(10.0)), rate(20.0));
    assert_eq!(trained().raise(now, rate(80.0)), rate(100.0));
    assert_eq!(trained().raise(now, rate(150.0)), rate(150.0));
}

#[test]
fn a_lower_rate_without_loss_has_no_effect() {
    let mut restart = trained();
    restart.on_feedback(Instant::from_secs(10), rate(10.0), false);
    assert_eq!(restart.fast_limit(Instant::from_secs(10)), rate(100.0));
}

#[test]
fn a_loss_below_the_sustained_rate_halves_it() {
    let mut restart = trained();
    restart.on_feedback(Instant::from_secs(10), rate(40.0), true);
    assert_eq!(restart.fast_limit(Instant::from_secs(10)), rate(20.0));
}
