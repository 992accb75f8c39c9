use super::*;

fn p(rate: f64) -> LossEventRate {
    LossEventRate::new(rate)
}

#[test]
fn the_fall_of_p_over_a_loss_free_report_is_that_of_equation_9() {
    // 6/(10 + 6/0.01) - 0.01 = 6/610 - 0.01.
    let fall = delta_p_min(10.0, p(0.01));
    assert!((fall - -1.639_344_262_295e-4).abs() < 1e-15, "{fall}");
    assert_eq!(delta_p_min(0.0, p(0.25)), 0.0);
    assert_eq!(delta_p_min(10.0, LossEventRate::ZERO), 0.0);
}

#[test]
fn it_is_what_a_history_of_equal_intervals_does() {
    use crate::tfrc::loss_intervals::loss_event_rate;
    // 100 packets in each of nine intervals, and then 40 more in the open one.
    let mut lengths = [100.0; 9];
    let before = loss_event_rate(&lengths);
    lengths[0] += 40.0;
    let change = loss_event_rate(&lengths).as_f64() - before.as_f64();
    assert!((change - delta_p_min(40.0, before)).abs() < 1e-15);
}

#[test]
fn probing_goes_on_only_strictly_inside_the_range() {
    // 100 packets/s over 100 ms are ten packets: p may fall from 0.01 to above 6/610.
    let left = |now: f64| has_left_range(100.0, Duration::from_millis(100), p(0.01), p(now));
    let end = 6.0 / 610.0;
    assert!(!left(end + 1e-9));
    assert!(left(end - 1e-9), "the history was made up for a higher rate");
    assert!(!left(0.01 - 1e-9));
    assert!(left(0.01), "losses keep p from changing");
    assert!(left(0.011), "losses raise p");
}

#[test]
fn without_any_loss_probing_ends_with_the_first_report() {
    let rtt = Duration::from_millis(100);
    assert!(has_left_range(100.0, rtt, LossEventRate::ZERO, LossEventRate::ZERO));
    assert!(has_left_range(100.0, rtt, LossEventRate::ZERO, p(0.01)));
}

#[test]
fn the_made_up_history_stands_for_the_rate_it_was_made_for() {
    // 11.2332 packets per round-trip time are what p = 0.01 allows: 1/(0.0816497 + 0.0073720).
    let length = equivalent_interval(112.332, Duration::from_millis(100), 4.0);
    assert!((length - 100.0).abs() < 0.001, "{length}");
}
