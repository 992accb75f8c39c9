use whimbrel_units::{Duration, Instant};

use super::Alarm;
use crate::clock::Clock;

/// Lateness of an alarm set `ahead`: the least of some attempts, as machines are busy.
async fn lateness(ahead: Duration) -> Duration {
    let clock = Clock::start();
    let mut alarm = Alarm::new(clock);
    let mut least = Duration::MAX;
    for _ in 0..20 {
        let deadline = clock.now() + ahead;
        alarm.set(Some(deadline));
        alarm.ring().await;
        let now = clock.now();
        assert!(now >= deadline, "it rang early");
        least = least.min(now - deadline);
    }
    least
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn near_deadlines_are_met_within_a_fraction_of_a_millisecond() {
    for ahead in [Duration::from_micros(60), Duration::from_micros(300), Duration::from_millis(2)] {
        let late = lateness(ahead).await;
        assert!(late < Duration::from_micros(500), "{late} late");
    }
}

#[tokio::test]
async fn later_deadlines_are_met_within_milliseconds() {
    let late = lateness(Duration::from_millis(7)).await;
    assert!(late < Duration::from_millis(4), "{late} late");
}

#[tokio::test]
async fn the_last_deadline_set_is_the_one_that_counts() {
    let clock = Clock::start();
    let mut alarm = Alarm::new(clock);
    for (first, second) in [(1, 30), (2000, 1), (2, 4), (2000, 10)] {
        alarm.set(Some(clock.now() + Duration::from_millis(first)));
        tokio::time::sleep(std::time::Duration::from_millis(3)).await;
        let deadline = clock.now() + Duration::from_millis(second);
        alarm.set(Some(deadline));
        alarm.ring().await;
        assert!(clock.now() >= deadline, "{first} {second}: it rang early");
        assert!(clock.now() - deadline < Duration::from_secs(1), "{first} {second}: it rang late");
    }
}

#[tokio::test]
async fn without_a_deadline_it_never_expires() {
    let clock = Clock::start();
    let mut alarm = Alarm::new(clock);
    alarm.set(Some(clock.now() + Duration::from_millis(1)));
    alarm.set(None);
    let wait = tokio::time::timeout(std::time::Duration::from_millis(20), alarm.ring()).await;
    assert!(wait.is_err());
    alarm.set(Some(Instant::ZERO));
    alarm.ring().await;
}
