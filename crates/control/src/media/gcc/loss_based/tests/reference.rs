//! Assertions of libwebrtc's `loss_based_bwe_v2_test.cc`: reports on packets of 15,000 bytes, 250 ms apart.

use super::*;

const INFINITE: f64 = f64::INFINITY;

struct Reference {
    estimator: LossBased,
    sequence: u64,
}

impl Reference {
    /// An estimator of `window` observations that uses the first, with an estimate in kbit/s.
    fn new(window: usize, estimate: f64, adapt: impl FnOnce(&mut LossBasedConfig)) -> Self {
        let mut config = LossBasedConfig { window, least_observations: 1, ..LossBasedConfig::default() };
        adapt(&mut config);
        let mut estimator = LossBased::new(config, kbps(1.0), kbps(INFINITE));
        estimator.best.bandwidth = estimate * 1e3;
        estimator.estimate = estimate * 1e3;
        Self { estimator, sequence: 0 }
    }

    /// A report on packets by time of sending in ms, size and arrival.
    fn report(&mut self, packets: &[(u64, u64, bool)], delay_based: f64) {
        let packets: Vec<_> = packets
            .iter()
            .map(|(ms, size, arrived)| {
                self.sequence += 1;
                let sent_at = Instant::from_millis(1000 + ms);
                let size = ByteCount::new(*size);
                let sent =
                    SentPacket { sequence: self.sequence, sent_at, captured_at: sent_at, size, probe: None };
                let arrival = Reception::Arrived { at: sent_at, ecn: Ecn::NotEct };
                PacketReport { sent, reception: if *arrived { arrival } else { Reception::Missing } }
            })
            .collect();
        self.estimator.update(&packets, kbps(delay_based), false);
    }

    /// Two packets from `first` times 250 ms on; the first `lost` of the last are lost.
    fn pair(&mut self, first: u64, lost: usize, delay_based: f64) {
        let (from, to) = (250 * first, 250 * first + 250);
        self.report(&[(from, 15_000, lost < 2), (to, 15_000, lost < 1)], delay_based);
    }

    fn result(&self) -> (f64, LossState) {
        let (rate, state) = self.estimator.result().unwrap_or((DataRate::ZERO, LossState::DelayBased));
        (rate.as_bits_per_second() / 1e3, state)
    }

    #[track_caller]
    fn assert(&self, rate: f64, state: LossState) {
        let result = self.result();
        assert!((result.0 - rate).abs() < 1e-6 && result.1 == state, "{result:?}");
    }

    /// Reports pairs without loss from `first` on until the state is reached.
    #[track_caller]
    fn recover(&mut self, first: u64, delay_based: f64, state: LossState) {
        for report in first..first + 1000 {
            self.pair(report, 0, delay_based);
            if self.result().1 == state {
                return;
            }
        }
        panic!("{:?}", self.result());
    }
}

/// Ten packets of which the last, of `size` bytes, is lost.
fn tenth_lost(size: u64) -> [(u64, u64, bool); 10] {
    core::array::from_fn(|n| (250 * n as u64, if n == 9 { size } else { 15_000 }, n != 9))
}

#[test]
fn a_too_high_loss_caps_the_estimate() {
    let mut reference = Reference::new(15, 600.0, |config| {
        config.instant_balance = kbps(90.0);
        config.instant_loss_offset = 0.1;
    });
    reference.pair(0, 2, INFINITE);
    assert!((reference.result().0 - 100.0).abs() < 1e-6);
}

#[test]
fn the_delay_based_estimate_caps_the_estimate() {
    let mut reference = Reference::new(15, 600.0, |config| config.candidate_factors = [1.1, 1.0, 0.95]);
    reference.pair(0, 0, INFINITE);
    assert!(reference.result().0 > 600.0);
    reference.pair(2, 0, 500.0);
    assert!((reference.result().0 - 500.0).abs() < 1e-6);
}

#[test]
fn without_losses_the_estimate_is_the_delay_based_one() {
    let mut reference = Reference::new(15, 600.0, |_| {});
    for first in [0, 2] {
        reference.pair(first, 0, 5000.0);
        reference.assert(5000.0, LossState::DelayBased);
    }
}

#[test]
fn the_first_increase_after_losses_is_by_the_factor_in_hold() {
    let mut reference = Reference::new(2, 600.0, |_| {});
    reference.estimator.set_acknowledged(kbps(100.0));
    reference.pair(0, 2, 5000.0);
    let (at_loss, _) = reference.result();
    reference.recover(2, 5000.0, LossState::IncreasingWithPadding);
    assert!((reference.result().0 - 1.2 * at_loss).abs() < 1e-6, "{:?}", reference.result());
}

#[test]
fn the_acknowledged_rate_is_a_lower_bound() {
    let mut reference = Reference::new(2, 600.0, |_| {});
    reference.estimator.set_acknowledged(kbps(500.0));
    reference.pair(0, 2, INFINITE);
    assert!((reference.result().0 - 500.0).abs() < 1e-6);
}

#[test]
fn the_upper_bound_decreases_the_estimate() {
    let mut reference = Reference::new(2, 500.0, |config| {
        config.candidate_factors = [1.0; 3];
        config.instant_balance = kbps(10.0);
    });
    reference.estimator.set_acknowledged(kbps(100.0));
    reference.report(&tenth_lost(15_000), INFINITE);
    reference.assert(200.0, LossState::Decreasing);
}

#[test]
fn the_lower_bound_increases_the_estimate() {
    let mut reference = Reference::new(2, 500.0, |config| {
        config.candidate_factors = [1.0; 3];
        config.acknowledged_factor = 10.0;
    });
    reference.estimator.set_acknowledged(kbps(1.0));
    reference.pair(0, 1, INFINITE);
    assert_eq!(reference.result().1, LossState::Decreasing);
    reference.estimator.set_acknowledged(kbps(200.0));
    reference.pair(2, 1, INFINITE);
    reference.assert(2000.0, LossState::IncreasingWithPadding);
}

#[test]
fn an_estimate_at_the_greatest_rate_is_not_limited_by_losses() {
    let mut reference = Reference::new(2, INFINITE, |_| {});
    reference.estimator.max = 1e6;
    reference.pair(0, 0, 2000.0);
    reference.assert(1000.0, LossState::DelayBased);
    reference.pair(1, 1, 2000.0);
    assert_eq!(reference.result().1, LossState::Decreasing);
    assert!(reference.result().0 < 1000.0);
    reference.recover(2, 2000.0, LossState::DelayBased);
    reference.assert(1000.0, LossState::DelayBased);
}

#[test]
fn a_delay_based_estimate_near_the_rate_ends_the_hold() {
    let mut reference = Reference::new(2, 2500.0, |_| {});
    reference.pair(0, 1, INFINITE);
    let (estimate, state) = reference.result();
    assert_eq!(state, LossState::Decreasing);
    reference.pair(1, 0, estimate + 10.0);
    reference.pair(2, 0, estimate + 10.0);
    reference.assert(estimate + 10.0, LossState::DelayBased);
}

#[test]
fn losses_are_counted_in_bytes() {
    let mut reference = Reference::new(2, 500.0, |_| {});
    // A tenth of the packets, and more than half of the bytes.
    reference.report(&tenth_lost(300_000), INFINITE);
    assert_eq!(reference.result().1, LossState::Decreasing);
    assert!(reference.result().0 < 160.0, "{:?}", reference.result());
}

#[test]
fn one_observation_of_many_losses_is_an_outlier_and_two_are_not() {
    let mut reference = Reference::new(5, 500.0, |config| config.least_observations = 3);
    for first in 0..5 {
        reference.pair(first, 0, 500.0);
    }
    reference.pair(5, 2, 500.0);
    reference.pair(6, 0, 500.0);
    reference.assert(500.0, LossState::DelayBased);
    reference.pair(7, 2, 500.0);
    assert_eq!(reference.result().1, LossState::Decreasing);
    assert!(reference.result().0 < 500.0);
}

#[test]
fn losses_of_a_sender_that_sends_much_more_are_no_outlier() {
    let mut reference = Reference::new(5, 500.0, |config| config.least_observations = 3);
    for first in 0..5 {
        reference.pair(first, 0, 500.0);
    }
    let burst = [1250, 1260, 1270, 1280, 1500].map(|ms| (ms, 15_000, false));
    reference.report(&burst, 500.0);
    assert_eq!(reference.result().1, LossState::Decreasing);
    assert!(reference.result().0 <= 500.0);
}

#[test]
fn packets_that_are_reordered_between_reports_are_not_lost() {
    let mut reference = Reference::new(2, 2500.0, |_| {});
    reference.report(&[(0, 15_000, true), (0, 15_000, false), (0, 15_000, true)], 2500.0);
    // The second packet of the report before.
    reference.sequence = 1;
    reference.report(&[(0, 15_000, true)], 2500.0);
    reference.sequence = 3;
    reference.report(&[(250, 15_000, true), (250, 15_000, true)], 2500.0);
    assert!((reference.result().0 - 2500.0).abs() < 1e-6, "{:?}", reference.result());
}

#[test]
fn of_two_equal_candidates_the_higher_is_chosen() {
    let mut reference = Reference::new(2, 1000.0, |_| {});
    reference.pair(0, 0, 1000.0);
    reference.pair(1, 0, 1020.008);
    assert!((reference.result().0 - 1020.008).abs() < 1e-6, "{:?}", reference.result());
}
