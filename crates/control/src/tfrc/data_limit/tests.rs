use super::*;

const RTT: Duration = Duration::from_millis(100);

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

#[test]
fn a_sender_that_always_uses_its_allowance_is_not_data_limited() {
    let mut limit = DataLimit::default();
    for now in (0..2000).step_by(10) {
        limit.on_allowance_used(ms(now));
        // Feedback once per round-trip time on packets sent a round-trip time ago.
        if now >= 100 && now % 100 == 0 {
            assert!(!limit.on_feedback(ms(now), ms(now - 100), RTT), "at {now} ms");
        }
    }
}

#[test]
fn a_sender_that_never_uses_its_allowance_is_data_limited() {
    let mut limit = DataLimit::default();
    for now in (100..1000).step_by(100) {
        assert!(limit.on_feedback(ms(now), ms(now - 100), RTT));
    }
}

/// A single use within the interval is sufficient, and counts for that interval only.
#[test]
fn one_use_of_the_allowance_counts_for_the_feedback_that_covers_it() {
    let mut limit = DataLimit::default();
    limit.on_feedback(ms(300), ms(200), RTT);
    limit.on_allowance_used(ms(350));
    assert!(limit.on_feedback(ms(400), ms(300), RTT), "covers 200 to 300 ms");
    assert!(!limit.on_feedback(ms(500), ms(400), RTT), "covers 300 to 400 ms");
    assert!(limit.on_feedback(ms(600), ms(500), RTT), "covers 400 to 500 ms");
}

#[test]
fn a_use_after_the_interval_counts_for_the_next() {
    let mut limit = DataLimit::default();
    limit.on_feedback(ms(300), ms(200), RTT);
    // The first falls into the interval of the next feedback, the second after it.
    limit.on_allowance_used(ms(250));
    limit.on_allowance_used(ms(320));
    assert!(!limit.on_feedback(ms(400), ms(300), RTT));
    assert!(!limit.on_feedback(ms(500), ms(400), RTT));
    assert!(limit.on_feedback(ms(600), ms(500), RTT));
}

#[test]
fn the_first_packet_at_the_epoch_of_the_clock_counts() {
    let mut limit = DataLimit::default();
    limit.on_allowance_used(Instant::ZERO);
    assert!(!limit.on_feedback(ms(100), Instant::ZERO, RTT));
}
