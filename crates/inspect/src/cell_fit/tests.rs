use super::*;

/// A stream of a packet every `spacing` whose waits a function of its number and send time gives.
fn stream(count: u32, spacing: f64, wait: impl Fn(u32, f64) -> f64) -> Vec<Crossing> {
    let packet = |number: u32| {
        let sent_s = f64::from(number) * spacing;
        Crossing {
            sent_s,
            received_s: Some(sent_s + 0.02 + wait(number, sent_s)),
            size: 100,
            met_full_queue: false,
        }
    };
    (0..count).map(packet).collect()
}

/// Uniform in 0 to 1, without correlation to a period.
fn even(number: u32) -> f64 {
    (f64::from(number) * 0.618_033_988_749).fract()
}

fn near(estimate: Option<Estimate>, value: f64, most: f64) {
    let found = estimate.expect("an estimate");
    let (low, high) = found.interval.expect("an interval");
    assert!((found.value - value).abs() < most, "{found:?}, {value}");
    assert!(low <= found.value && found.value <= high, "{found:?}");
}

#[test]
fn a_gap_lies_within_its_interval() {
    let wait = |_, sent: f64| if (3.0..3.1).contains(&sent) { 3.1 - sent } else { 0.0 };
    let fit = fit(&stream(1_000, 0.009, wait));
    let [gap] = fit.gaps[..] else { panic!("{fit:?}") };
    let (low, high) = gap.length_s.interval.unwrap();
    assert!(low <= 0.1 && 0.1 <= high && high - low < 0.0091, "{gap:?}");
    assert!((gap.until_s - 3.12).abs() < 1e-6, "{gap:?}");
}

#[test]
fn the_step_of_repetitions_is_the_most_frequent_wait() {
    for step in [0.008, 0.0035] {
        let repetitions = |number: u32| match number % 97 {
            0..9 => 1.0,
            9 => 2.0,
            _ => 0.0,
        };
        let wait = |number, _| 0.001 * even(number) + step * repetitions(number * 31);
        let fit = fit(&stream(5_000, 0.0213, wait));
        near(fit.step_s, step, 0.0005);
        assert!(fit.request_period_s.is_none() && fit.gaps.is_empty(), "{fit:?}");
    }
}

#[test]
fn waits_for_requests_have_their_period() {
    for period in [0.01, 0.04] {
        let wait =
            |number: u32, _| period * even(number) + if number.is_multiple_of(10) { 0.008 } else { 0.0 };
        let fit = fit(&stream(3_000, 0.0537, wait));
        // A tenth of the waits is longer by a repetition, which widens the middle half.
        near(fit.request_period_s, period, 0.15 * period);
        assert!(fit.step_s.is_none(), "{fit:?}");
    }
}

#[test]
fn a_full_queue_shows_its_size() {
    // 100 bytes a millisecond enter a queue of 10 kB that 50 bytes leave in a millisecond.
    let mut packets = Vec::new();
    let mut leaves = 0.0_f64;
    for number in 0..2_000 {
        let sent_s = f64::from(number) * 0.001;
        let waiting = ((leaves - sent_s).max(0.0) / 0.002) as u32;
        let is_full = waiting >= 100;
        if !is_full {
            leaves = leaves.max(sent_s) + 0.002;
        }
        let received_s = (!is_full).then_some(leaves + 0.02);
        packets.push(Crossing { sent_s, received_s, size: 100, met_full_queue: is_full });
    }
    let fit = fit(&packets);
    near(fit.queue_bytes, 10_000.0, 250.0);
    assert!(fit.step_s.is_none() && fit.request_period_s.is_none());
}

#[test]
fn a_stream_that_shows_nothing_has_no_estimate() {
    assert_eq!(fit(&stream(1_000, 0.01, |_, _| 0.0)), CellFit::default());
    assert_eq!(fit(&[]), CellFit::default());
    assert_eq!(fit(&stream(19, 0.01, |number, _| f64::from(number))), CellFit::default());
}
