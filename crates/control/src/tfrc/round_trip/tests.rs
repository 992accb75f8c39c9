use super::*;

fn estimate(samples: &[u64]) -> RoundTripEstimate {
    let mut estimate = RoundTripEstimate::new(true);
    for &ms in samples {
        estimate.on_sample(Duration::from_millis(ms));
    }
    estimate
}

#[test]
fn the_first_sample_is_the_estimate() {
    assert_eq!(estimate(&[]).smoothed(), None);
    assert_eq!(estimate(&[80]).smoothed(), Some(Duration::from_millis(80)));
}

#[test]
fn later_samples_have_a_weight_of_a_tenth() {
    // 0.9 80 + 0.1 180 = 90; then 0.9 90 + 0.1 40 = 85.
    assert_eq!(estimate(&[80, 180]).smoothed(), Some(Duration::from_millis(90)));
    assert_eq!(estimate(&[80, 180, 40]).smoothed(), Some(Duration::from_millis(85)));
}

/// A queue of 400 ms has left.
#[test]
fn two_samples_of_less_than_half_the_estimate_halve_it() {
    // 0.9 400 + 0.1 40 = 364; one of 200 interrupts the row.
    assert_eq!(estimate(&[400, 40]).smoothed(), Some(Duration::from_millis(364)));
    assert_eq!(estimate(&[400, 40, 200, 40]).smoothed(), Some(Duration::from_micros(316_840)));
    let mut empty = estimate(&[400, 40, 40]);
    assert_eq!(empty.smoothed(), Some(Duration::from_millis(182)));
    // sqrt(182/40): the long-term average begins anew, too.
    assert!((empty.damping() - 2.133).abs() < 1e-3, "{}", empty.damping());
    // 0.9 182 + 0.1 40 = 167.8, which the next one halves again.
    empty.on_sample(Duration::from_millis(40));
    empty.on_sample(Duration::from_millis(40));
    assert_eq!(empty.smoothed(), Some(Duration::from_micros(83_900)));
}

/// RFC 5348, Section 4.5: a sample of twice the long-term average slows the sender to about 0.7.
#[test]
fn a_doubled_round_trip_damps_to_about_seven_tenths() {
    let steady = [100; 200];
    assert!((estimate(&steady).damping() - 1.0).abs() < 1e-9);
    let mut doubled = estimate(&steady);
    doubled.on_sample(Duration::from_millis(200));
    // R_sqmean = 0.9 sqrt(0.1) + 0.1 sqrt(0.2) = 0.3293; over sqrt(0.2) = 0.4472: 0.7364.
    assert!((doubled.damping() - 0.7364).abs() < 1e-4, "{}", doubled.damping());
}

#[test]
fn a_sample_of_zero_is_raised_to_the_minimum() {
    assert_eq!(estimate(&[0]).smoothed(), Some(MIN_RTT));
}

#[test]
fn after_a_path_change_the_next_sample_replaces_the_estimate() {
    let mut estimate = RoundTripEstimate::default();
    estimate.expect_other_path();
    estimate.on_sample(Duration::from_millis(100));
    estimate.expect_other_path();
    assert_eq!(estimate.smoothed(), Some(Duration::from_millis(100)), "until then the estimate is kept");
    // The radio wakes up for the first packet. The average of 20 and 30 ms follows.
    for (sample, expected) in [(300, 300), (20, 20), (30, 21)] {
        estimate.on_sample(Duration::from_millis(sample));
        assert_eq!(estimate.smoothed(), Some(Duration::from_millis(expected)));
    }
}

/// A radio that wakes up delays the handshake and the first data.
#[test]
fn the_first_samples_of_data_correct_that_of_the_handshake() {
    let mut estimate = RoundTripEstimate::default();
    estimate.on_preliminary_sample(Duration::from_millis(300));
    assert_eq!(estimate.smoothed(), Some(Duration::from_millis(300)));
    // 0.9 300 + 0.1 200 = 290; two thirds of that are 193.
    for (sample, expected, is_corrected) in
        [(200, 290, false), (170, 170, true), (40, 40, true), (30, 39, false), (25, 37, false)]
    {
        let sample = Duration::from_millis(sample);
        assert_eq!(estimate.is_corrected_by(sample), is_corrected, "{sample:?}");
        estimate.on_sample(sample);
        assert_eq!(estimate.smoothed().map(|rtt| rtt.as_millis()), Some(expected));
        assert!(
            !is_corrected || (estimate.damping() - 1.0).abs() < 1e-9,
            "there is no long-term average yet"
        );
    }
    assert!(!estimate.is_corrected_by(MIN_RTT), "not after the first four");
}

#[test]
fn a_sample_over_a_silence_is_limited_to_twice_the_estimate() {
    let mut estimate = RoundTripEstimate::default();
    estimate.on_sample_over_silence(Duration::from_millis(100));
    assert_eq!(estimate.smoothed(), Some(Duration::from_millis(100)));
    estimate.on_sample_over_silence(Duration::from_secs(20));
    assert_eq!(estimate.smoothed(), Some(Duration::from_millis(110)));
    estimate.on_sample_over_silence(Duration::from_millis(110));
    assert_eq!(estimate.smoothed(), Some(Duration::from_millis(110)));
    // The first sample of another path is not limited.
    estimate.expect_other_path();
    estimate.on_sample_over_silence(Duration::from_secs(1));
    assert_eq!(estimate.smoothed(), Some(Duration::from_secs(1)));
}

#[test]
fn the_latest_sample_can_replace_the_estimate() {
    let mut estimate = RoundTripEstimate::default();
    estimate.trust_latest();
    assert_eq!(estimate.smoothed(), None);
    estimate.on_sample(Duration::from_millis(100));
    estimate.on_sample(Duration::from_millis(300));
    assert_eq!(estimate.smoothed(), Some(Duration::from_millis(120)));
    estimate.trust_latest();
    assert_eq!(estimate.smoothed(), Some(Duration::from_millis(300)));
    estimate.on_sample(Duration::from_millis(200));
    assert_eq!(estimate.smoothed(), Some(Duration::from_millis(290)));
}
