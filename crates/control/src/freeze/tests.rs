use std::vec;

use super::*;
use crate::tfrc::loss_intervals::INTERVALS;

fn p(rate: f64) -> LossEventRate {
    LossEventRate::new(rate)
}

/// p of a full history.
fn full(rate: f64) -> PlainRate {
    PlainRate { rate: p(rate), intervals: INTERVALS }
}

#[test]
fn the_decrease_of_p_over_a_loss_free_report_follows_equation_9() {
    // 6/(10 + 6/0.01) - 0.01 = 6/610 - 0.01.
    let fall = delta_p_min(10.0, p(0.01), 8);
    assert!((fall - -1.639_344_262_295e-4).abs() < 1e-15, "{fall}");
    // Of one interval: 1/(10 + 1/0.01) - 0.01 = 1/110 - 0.01. Of five: 4.8/490 - 0.01.
    assert!((delta_p_min(10.0, p(0.01), 1) - (1.0 / 110.0 - 0.01)).abs() < 1e-15);
    assert!((delta_p_min(10.0, p(0.01), 5) - (4.8 / 490.0 - 0.01)).abs() < 1e-15);
    assert_eq!(delta_p_min(0.0, p(0.25), 8), 0.0);
    assert_eq!(delta_p_min(10.0, LossEventRate::ZERO, 0), 0.0);
}

#[test]
fn the_decrease_matches_a_history_of_any_number_of_equal_intervals() {
    use crate::tfrc::loss_intervals::loss_event_rate;
    // 100 packets in each interval, and then 40 more in the open one.
    for closed in 1..=INTERVALS + 2 {
        let mut lengths = vec![100.0; closed + 1];
        let before = loss_event_rate(&lengths);
        lengths[0] += 40.0;
        let change = loss_event_rate(&lengths).as_f64() - before.as_f64();
        assert!((change - delta_p_min(40.0, before, closed)).abs() < 1e-15, "{closed} intervals");
    }
}

#[test]
fn probing_goes_on_only_strictly_inside_the_range() {
    // Ten packets: p may fall from 0.01 to above 6/610.
    let left = |now: f64| has_left_range(10.0, full(0.01), p(now));
    let end = 6.0 / 610.0;
    assert!(!left(end + 1e-9));
    assert!(left(end - 1e-9), "the history was created for a higher rate");
    assert!(!left(0.01 - 1e-9));
    assert!(left(0.01), "losses keep p from changing");
    assert!(left(0.011), "losses raise p");
}

#[test]
fn no_loss_free_report_ends_probing_with_any_number_of_intervals() {
    use crate::tfrc::loss_intervals::loss_event_rate;
    for closed in 1..=INTERVALS {
        let mut lengths = vec![100.0; closed + 1];
        let mut before = loss_event_rate(&lengths);
        // At the first report the open interval is as long as the others. Rates double.
        for packets in [20.0, 40.0, 80.0, 160.0, 320.0] {
            lengths[0] += packets;
            let now = loss_event_rate(&lengths);
            let previous = PlainRate { rate: before, intervals: closed };
            // X R of the rate to which the sender has doubled by then.
            assert!(!has_left_range(2.0 * packets, previous, now), "{closed} intervals, {packets} packets");
            before = now;
        }
    }
}

#[test]
fn without_any_loss_probing_ends_with_the_first_report() {
    assert!(has_left_range(10.0, full(0.0), LossEventRate::ZERO));
    assert!(has_left_range(10.0, full(0.0), p(0.01)));
}

#[test]
fn in_the_authors_code_probing_ends_if_p_rises_or_falls_by_more_than_a_tenth() {
    let left = |now: f64| has_left_authors_range(p(0.01), p(now));
    assert!(left(0.010_001));
    assert!(!left(0.01), "p is constant as long as S0 < S1");
    assert!(!left(0.009_001));
    assert!(left(0.008_999));
    assert!(
        !has_left_authors_range(LossEventRate::ZERO, LossEventRate::ZERO),
        "the first slow start continues"
    );
}

#[test]
fn the_synthetic_history_yields_the_rate_it_was_created_for() {
    // p = 0.01 allows 11.2332 packets per round-trip time: 1/(0.0816497 + 0.0073720).
    let length = equivalent_interval(112.332, Duration::from_millis(100), 4.0);
    assert!((length - 100.0).abs() < 0.001, "{length}");
}
