use super::*;

fn estimate(samples: &[u64]) -> RoundTripEstimate {
    let mut estimate = RoundTripEstimate::default();
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
fn after_a_path_change_the_next_samples_replace_the_estimate() {
    let mut estimate = RoundTripEstimate::default();
    estimate.expect_other_path();
    estimate.on_sample(Duration::from_millis(100));
    estimate.expect_other_path();
    assert_eq!(estimate.smoothed(), Some(Duration::from_millis(100)), "until then the estimate is kept");
    for sample in [300, 25, 22, 20].map(Duration::from_millis) {
        estimate.on_sample(sample);
        assert_eq!(estimate.smoothed(), Some(sample));
    }
    // 0.9 20 + 0.1 30.
    estimate.on_sample(Duration::from_millis(30));
    assert_eq!(estimate.smoothed(), Some(Duration::from_millis(21)));
}

/// A radio that wakes up delays the handshake and the first data.
#[test]
fn the_first_samples_of_data_replace_that_of_the_handshake() {
    let mut estimate = RoundTripEstimate::default();
    estimate.on_preliminary_sample(Duration::from_millis(300));
    assert_eq!(estimate.smoothed(), Some(Duration::from_millis(300)));
    for sample in [300, 170, 40, 44] {
        estimate.on_sample(Duration::from_millis(sample));
        assert_eq!(estimate.smoothed(), Some(Duration::from_millis(sample)));
        assert!((estimate.damping() - 1.0).abs() < 1e-9, "there is no long-term average yet");
    }
    estimate.on_sample(Duration::from_millis(54));
    assert_eq!(estimate.smoothed(), Some(Duration::from_millis(45)));
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
