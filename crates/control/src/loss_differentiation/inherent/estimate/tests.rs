use super::*;

fn history(newest_first: &[(u64, u64, f64)]) -> History {
    let mut history = History::default();
    for &(sent, lost, rate) in newest_first.iter().rev() {
        history.push(Window { sent, lost, rate });
    }
    history
}

fn after_limit(limit: f64) -> Option<Estimate> {
    Some(Estimate { loss: 0.1, limit: None, likeliest: Some(limit) })
}

#[track_caller]
fn assert_close(value: f64, expected: f64) {
    assert!((value - expected).abs() < 1e-9, "{value}, expected {expected}");
}

#[test]
fn without_a_limit_the_loss_is_the_weighted_share() {
    // (10 + 0.9 * 1) of (100 + 0.9 * 100) packets.
    let estimate = history(&[(100, 10, 1e5), (100, 1, 1e5)]).estimate(None);
    assert_close(estimate.loss, 10.9 / 190.0);
    assert_eq!(estimate.limit, None);
}

#[test]
fn the_window_before_the_last_fifteen_is_forgotten() {
    let mut windows = std::vec![(100, 2, 1e5); 15];
    windows.push((100, 90, 1e5));
    assert_close(history(&windows).estimate(None).loss, 0.02);
}

#[test]
fn the_inherent_loss_is_a_thousandth_at_least() {
    assert_close(history(&[(100, 0, 1e6)]).estimate(None).loss, 0.001);
    assert_close(history(&[(10_000, 1, 1e6)]).estimate(None).loss, 0.001);
}

/// A limit of 1.2 Mbit/s, received in the newest window, explains that window without any inherent loss. The
/// other was sent below it and would require p = 0.4, of which 0.05 + 0.1 / 1.2 is the maximum.
#[test]
fn the_inherent_loss_of_a_fast_path_is_bounded() {
    let estimate = history(&[(100, 40, 2e6), (100, 40, 1e6)]).estimate(None);
    assert_eq!(estimate.limit, Some(1.2e6));
    assert_close(estimate.loss, 0.05 + 0.1 / 1.2);
}

/// Half of the packets sent at twice the limit are lost: with B = 100 kbit/s the newer window is explained
/// completely, the older one, sent at B, has no loss. Without a limit p would be 50/190.
#[test]
fn losses_explained_by_a_limit_are_not_inherent() {
    let estimate = history(&[(100, 50, 2e5), (100, 0, 1e5)]).estimate(None);
    // The rate received in the newest window.
    assert_eq!(estimate.limit, Some(1e5));
    assert_close(estimate.loss, 0.001);
}

const SHARED_OUT: [(u64, u64, f64); 3] = [(100, 60, 2e5), (100, 20, 1e5), (100, 20, 5e4)];

/// With p = 0.2 and B = 100 kbit/s, 0.2 + 0.8 * 0.5 = 0.6 of the packets sent at 200 kbit/s are lost, and 0.2
/// of those sent at 100 kbit/s or less. The derivative by u = 0.8 agrees: received (40 + 0.9 * 80 + 0.81 *
/// 80) minus 60 * 0.4 / 0.6 + (0.9 + 0.81) * 20 * 0.8 / 0.2 = 40 + 72 + 64.8.
#[test]
fn loss_is_divided_between_the_limit_and_the_path() {
    let estimate = history(&SHARED_OUT).estimate(after_limit(1e5));
    assert_eq!(estimate.limit, Some(1e5));
    assert_close(estimate.loss, 0.2);
}

#[test]
fn the_search_steps_towards_a_limit() {
    let likeliest = |before| history(&SHARED_OUT).estimate(after_limit(before)).likeliest;
    assert_eq!(likeliest(1e5 / 1.02), Some(1e5 / 1.02 * 1.02));
    assert_eq!(likeliest(1e5 / 0.95), Some(1e5 / 0.95 * 0.95));
}

/// Always beyond 80 kbit/s: 80 kbit/s are received in both windows, for any u B = 80 kbit/s. The greatest of
/// the candidate limits is used.
#[test]
fn the_greatest_of_equally_likely_limits_is_used() {
    let estimate = history(&[(100, 60, 2e5), (100, 20, 1e5)]).estimate(after_limit(9e4));
    assert_eq!(estimate.likeliest, Some(9e4 * 1.02));
    assert_close(1.0 - estimate.loss, 0.8 / (0.9 * 1.02));
}

/// One packet in ten is lost at either rate: the slight excess at the higher one (11 of 100) does not justify
/// another parameter, and all loss is inherent.
#[test]
fn a_limit_that_explains_little_is_rejected() {
    let estimate = history(&[(100, 11, 1.05e5), (100, 10, 1e5)]).estimate(after_limit(1.04e5));
    assert_eq!(estimate.limit, None);
    assert_close(estimate.loss, (11.0 + 0.9 * 10.0) / 190.0);
    assert!(estimate.likeliest.is_some());
}

#[test]
fn the_most_likely_limit_persists_over_windows_without_loss() {
    let estimate = history(&[(100, 0, 1e5)]).estimate(after_limit(7e4));
    assert_eq!((estimate.limit, estimate.likeliest), (None, Some(7e4)));
}
