use super::*;

fn at(seconds: u64) -> Instant {
    Instant::from_secs(seconds)
}

#[test]
fn timers_fire_once_and_not_before_their_time() {
    let mut timers = Timers::new();
    assert_eq!(timers.next(), Instant::FAR_FUTURE);
    timers.set(Timer::Close, at(5));
    timers.set(Timer::Idle, at(3));
    timers.set(Timer::Connect, at(4));
    timers.stop(Timer::Connect);
    assert_eq!(timers.next(), at(3));
    assert_eq!(timers.take_due(at(2)), None);
    assert_eq!(timers.take_due(at(9)), Some(Timer::Close));
    assert_eq!(timers.take_due(at(9)), Some(Timer::Idle));
    assert_eq!(timers.take_due(at(9)), None);
    assert_eq!(timers.next(), Instant::FAR_FUTURE);
}

#[test]
fn a_backoff_doubles_up_to_64_seconds() {
    let mut backoff = Backoff::new(Duration::from_secs(24));
    let intervals: Vec<_> = (0..4).map(|_| backoff.take().as_millis() / 1000).collect();
    assert_eq!(intervals, [24, 48, 64, 64]);
    assert_eq!(Backoff::new(Duration::MAX).take(), Duration::from_secs(64));
}
