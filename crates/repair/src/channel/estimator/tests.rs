use std::vec::Vec;

use super::*;
use crate::tests_support::Path;

fn learn(estimator: &mut Estimator, channel: Channel, seed: u64, packets: u32) {
    let mut path = Path::new(channel, seed);
    for _ in 0..packets {
        estimator.record(path.loses().then_some(Cause::Radio));
    }
}

/// Quantities for decisions: the mean, and the probability that many of sixteen packets are lost.
fn tail(channel: &Channel, from: usize) -> f64 {
    channel.lost_up_to(16)[16][from..].iter().sum()
}

#[test]
fn channels_are_found_again() {
    let tambur = Channel { to_bad: 0.068, to_good: 0.852, loss_good: 0.04, loss_bad: 0.5 };
    for (channel, from) in [
        (Channel::independent(0.01), 2),
        (Channel::independent(0.08), 4),
        (Channel::independent(0.2), 7),
        (tambur, 4),
        (Channel::bursts(0.05, 8.0), 8),
        (Channel::bursts(0.01, 24.0), 12),
    ] {
        let mut estimator = Estimator::new();
        learn(&mut estimator, channel, 3, 60_000);
        let model = estimator.model();
        let ratio = model.mean() / channel.mean();
        assert!((ratio - 1.0).abs() < 0.2, "{channel:?} is taken for {model:?}, mean");
        let ratio = tail(&model, from) / tail(&channel, from);
        assert!((0.6..1.7).contains(&ratio), "{channel:?} is taken for {model:?}: {ratio}");
    }
}

/// Misses that grow with the sixth power of the loss rate: their mean for plans after few losses, relative to
/// a plan for the true rate, with the cautious model and with the estimated one.
#[test]
fn the_cautious_model_covers_what_few_losses_leave_open() {
    let rows = [(0.05, 1_000, 3.1, 5.0), (0.05, 2_000, 1.8, 2.2), (0.02, 5_000, 1.3, 1.5)];
    for (loss, packets, most, least) in rows {
        let (mut cautious, mut estimated) = (0.0, 0.0);
        for seed in 1..=100 {
            let mut estimator = Estimator::new();
            learn(&mut estimator, Channel::independent(loss), seed, packets);
            let misses = |channel: Channel| crate::channel::power(loss / channel.mean(), 6) / 100.0;
            cautious += misses(estimator.cautious());
            estimated += misses(estimator.model());
        }
        assert!(cautious < most && estimated > least, "{loss} {packets}: {cautious} {estimated}");
    }
    // Known losses cost nothing.
    let mut estimator = Estimator::new();
    learn(&mut estimator, Channel::independent(0.05), 1, 60_000);
    let ratio = estimator.cautious().mean() / estimator.model().mean();
    assert!((1.0..1.01).contains(&ratio), "{ratio}");
}

#[test]
fn a_change_is_followed_within_seconds() {
    let mut estimator = Estimator::new();
    learn(&mut estimator, Channel::independent(0.01), 1, 100_000);
    learn(&mut estimator, Channel::independent(0.1), 2, 1_500);
    let mean = estimator.model().mean();
    assert!((mean - 0.1).abs() < 0.03, "{mean}");
    learn(&mut estimator, Channel::independent(0.0), 3, 6_000);
    let mean = estimator.model().mean();
    assert!(mean < 0.01, "{mean}");
}

#[test]
fn losses_by_congestion_ask_for_no_parity() {
    let mut estimator = Estimator::new();
    let mut means = Vec::new();
    for n in 0..20_000 {
        let cause = if n % 3 == 0 { Cause::Congestion } else { Cause::Unknown };
        estimator.record((n % 5 == 0).then_some(cause));
        means.push(estimator.model().mean());
    }
    assert!(means.windows(2).all(|pair| pair[1] <= pair[0] + 1e-12));
}
