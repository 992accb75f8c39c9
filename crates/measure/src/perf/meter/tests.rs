use whimbrel_units::Instant;

use super::super::datagram::Kind;
use super::*;

fn head(sequence: u64, sent_ms: u64) -> Head {
    Head { token: 0, stream: 0, kind: Kind::Data, sequence, sent: sent_ms * 1_000_000 }
}

fn at(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

#[test]
fn a_gap_is_a_loss_until_the_late_datagram_comes() {
    let mut meter = Meter::new(at(0), None);
    for sequence in [0, 1, 4] {
        meter.record(head(sequence, 0), None, 100, at(10), false);
    }
    assert_eq!(meter.total(at(10)).lost, 2);
    meter.record(head(2, 0), None, 100, at(11), false);
    meter.record(head(2, 0), None, 100, at(12), false);
    let total = meter.total(at(1000));
    assert_eq!((total.datagrams, total.lost, total.out_of_order, total.duplicates), (4, 1, 1, 1));
    assert_eq!(total.goodput(), 3200.0);
}

#[test]
fn jitter_follows_rfc_3550() {
    let mut meter = Meter::new(at(0), None);
    // Transit times 5, 7, 4 ms: D = 2, 3 ms. J = 2/16 = 0.125 ms, then 0.125 + (3 - 0.125)/16.
    for (sequence, arrival) in [(0, 5), (1, 17), (2, 24)] {
        meter.record(head(sequence, sequence * 10), None, 1, at(arrival), false);
    }
    let jitter = meter.total(at(30)).jitter_s;
    assert!((jitter - 0.304_687_5e-3).abs() < 1e-12, "{jitter}");
}

#[test]
fn delay_variation_counts_from_the_least_delay_whatever_the_clocks_offset() {
    let mut meter = Meter::new(at(0), None);
    for (sequence, delay) in [(0, 30), (1, 20), (2, 24), (3, 24), (4, 24)] {
        // The sender's clock is 50 s ahead.
        meter.record(head(sequence, 50_000 + sequence * 100), None, 1, at(sequence * 100 + delay), false);
    }
    let total = meter.total(at(1000));
    assert!((total.delay_variation_p50_s - 4e-3).abs() < 1e-4, "{total:?}");
    assert!((total.delay_variation_p99_s - 10e-3).abs() < 1e-4, "{total:?}");
}

#[test]
fn a_jump_over_the_whole_window_forgets_what_was_seen() {
    let mut meter = Meter::new(at(0), None);
    meter.record(head(5, 0), None, 1, at(1), false);
    meter.record(head(5 + 10 * WINDOW as u64, 0), None, 1, at(2), false);
    // Just below, never seen: late, not a duplicate.
    meter.record(head(4 + 10 * WINDOW as u64, 0), None, 1, at(3), false);
    let total = meter.total(at(4));
    assert_eq!((total.out_of_order, total.duplicates), (1, 0));
    assert_eq!(total.lost, 5 + 10 * WINDOW as i64 - 2);
}

#[test]
fn intervals_add_up_to_the_total() {
    let mut meter = Meter::new(at(0), None);
    let mut sum = ReceiverFigures::default();
    for sequence in 0..100 {
        if sequence % 10 != 3 {
            meter.record(head(sequence, sequence), None, 10, at(sequence + 2), sequence % 7 == 0);
        }
        if sequence % 20 == 19 {
            sum.add(&meter.take_interval(at(sequence + 2)));
        }
    }
    let total = meter.total(at(101));
    assert_eq!(
        (sum.datagrams, sum.bytes, sum.lost, sum.ecn_marked),
        (total.datagrams, total.bytes, total.lost, total.ecn_marked)
    );
    assert_eq!((total.datagrams, total.lost), (90, 10));
}

#[test]
fn arrivals_after_the_end_prolong_the_span_and_silence_does_not() {
    let mut meter = Meter::new(at(0), None);
    meter.record(head(0, 0), None, 1000, at(500), false);
    assert_eq!(meter.total(at(1000)).goodput(), 8000.0);
    meter.record(head(1, 0), None, 1000, at(2000), false);
    assert_eq!(meter.take_interval(at(1000)).seconds, 2.0);
    assert_eq!(meter.take_interval(at(1000)).seconds, 0.0);
    assert_eq!(meter.total(at(1000)).goodput(), 8000.0);
}

#[test]
fn late_datagrams_after_a_higher_quantile_of_earlier_ones_keep_their_order() {
    let mut meter = Meter::new(at(0), None);
    // Of 100 delays, one is 7 ms above the least, the others 1 ms: the first is the greatest.
    meter.record(head(0, 0), None, 1, at(107), false);
    meter.record(head(1, 200), None, 1, at(300), false);
    for sequence in 2..100 {
        meter.record(head(sequence, sequence * 200), None, 1, at(sequence * 200 + 101), false);
    }
    let total = meter.total(at(60_000));
    assert!((total.delay_variation_p50_s - 1e-3).abs() < 1e-5, "{total:?}");
    assert!((total.delay_variation_p99_s - 1e-3).abs() < 1e-5, "{total:?}");
}
