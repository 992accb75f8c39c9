use proptest::prelude::*;
use whimbrel_netsim::Impairment;
use whimbrel_netsim::impairment::{FourStateTransitions, LossProcess};
use whimbrel_netsim::random::RandomStreams;
use whimbrel_units::Instant;

use super::chain::Chain;
use super::*;

/// Verdicts of the simulator's own model.
fn drawn(impairment: &Impairment, packets: u64, seed: u64) -> LossRuns {
    let stream = RandomStreams::new(seed, 0).stream("link", "loss");
    let mut process = LossProcess::new(impairment, stream).unwrap();
    (0..packets).map(|packet| process.loses(Instant::from_millis(packet), 1000)).collect()
}

fn gilbert_elliott(values: [f64; 4]) -> Impairment {
    let [good_to_bad, bad_to_good, loss_in_good, loss_in_bad] = values;
    Impairment::GilbertElliott { good_to_bad, bad_to_good, loss_in_good, loss_in_bad }
}

fn four_state(values: [f64; 5]) -> Impairment {
    let [p13, p31, p32, p23, p14] = values;
    Impairment::FourState(FourStateTransitions { p13, p31, p32, p23, p14 })
}

fn model(fit: &LossFit, kind: ModelKind) -> &FittedModel {
    fit.models.iter().find(|model| model.kind == kind).unwrap()
}

/// Each true parameter lies within four standard deviations of the fitted one, and those are known to within
/// a factor of 1.8.
#[track_caller]
fn assert_recovered(fitted: &FittedModel, truth: &[f64]) {
    let mut fitted_ones = fitted.parameters.iter().filter(|parameter| parameter.is_fitted);
    for truth in truth {
        let parameter = fitted_ones.next().unwrap();
        let (low, high) = parameter.estimate.interval.unwrap_or_else(|| panic!("{parameter:?}"));
        let odds = |p: f64| libm::log(p / (1.0 - p));
        let deviation = (odds(high) - odds(low)) / (2.0 * 1.96);
        let distance = (odds(parameter.estimate.value) - odds(*truth)).abs() / deviation;
        assert!(distance < 4.0, "{} deviations: {parameter:?}, in truth {truth}", distance);
        assert!(high / low < 1.8, "{parameter:?} is not known well");
    }
}

#[test]
fn the_parameters_of_gilbert_elliott_losses_are_recovered() {
    for (values, seed) in [([0.01, 0.2, 0.001, 0.6], 1), ([0.002, 0.05, 0.01, 0.3], 2)] {
        let fit = fit(&drawn(&gilbert_elliott(values), 400_000, seed)).unwrap();
        assert_eq!(fit.best().kind, ModelKind::GilbertElliott, "{:?}", fit.models);
        assert_recovered(fit.best(), &values);
    }
}

#[test]
fn the_parameters_of_four_state_losses_are_recovered() {
    let values = [0.01, 0.25, 0.2, 0.3, 0.02];
    let fit = fit(&drawn(&four_state(values), 400_000, 3)).unwrap();
    assert_eq!(fit.best().kind, ModelKind::FourState, "{:?}", fit.models);
    assert_recovered(fit.best(), &values);
}

#[test]
fn the_simplest_model_that_holds_is_preferred() {
    for seed in 0..6 {
        let losses = drawn(&Impairment::Bernoulli { loss: 0.03 }, 20_000, seed);
        let found = fit(&losses).unwrap();
        assert_eq!(found.best().kind, ModelKind::Bernoulli, "seed {seed}: {:?}", found.models);
        let gilbert = fit(&drawn(&gilbert_elliott([0.01, 0.3, 0.0, 1.0]), 20_000, seed)).unwrap();
        assert_eq!(gilbert.best().kind, ModelKind::SimpleGilbert, "seed {seed}: {:?}", gilbert.models);
        assert_recovered_within(gilbert.best(), &[0.01, 0.3], 5.0);
        let hidden = fit(&drawn(&gilbert_elliott([0.01, 0.1, 0.0, 0.5]), 100_000, seed)).unwrap();
        assert_eq!(hidden.best().kind, ModelKind::Gilbert, "seed {seed}: {:?}", hidden.models);
    }
}

#[track_caller]
fn assert_recovered_within(fitted: &FittedModel, truth: &[f64], deviations: f64) {
    for (parameter, truth) in fitted.parameters.iter().filter(|one| one.is_fitted).zip(truth) {
        let (low, high) = parameter.estimate.interval.unwrap();
        let allowed = deviations / 1.96 * (high - low) / 2.0;
        assert!((parameter.estimate.value - truth).abs() < allowed, "{parameter:?}, in truth {truth}");
    }
}

/// Of 60 intervals of 95 %, 57 hold the truth on average, with a standard deviation of 1.7.
#[test]
fn intervals_hold_the_truth_as_often_as_they_say() {
    let truth = [0.02, 0.2, 0.0, 0.7];
    let share = 0.02 / 0.22 * 0.7;
    let (mut held, mut rate_held) = ([0; 4], 0);
    for seed in 0..60 {
        let fit = fit(&drawn(&gilbert_elliott(truth), 10_000, 1000 + seed)).unwrap();
        let (low, high) = fit.loss_rate.interval.unwrap();
        rate_held += i32::from((low..high).contains(&share));
        for (index, parameter) in model(&fit, ModelKind::Gilbert).parameters.iter().enumerate() {
            let holds =
                parameter.estimate.interval.is_some_and(|(low, high)| (low..high).contains(&truth[index]));
            held[index] += i32::from(holds);
        }
    }
    for (index, count) in held.iter().enumerate().filter(|(index, _)| *index != 2) {
        assert!((51..=60).contains(count), "parameter {index}: {count} of 60");
    }
    assert!((51..=60).contains(&rate_held), "loss rate: {rate_held} of 60");
}

#[test]
fn sequences_without_structure_have_one_model() {
    let only = |losses: &LossRuns| {
        let fit = fit(losses).unwrap();
        assert_eq!(fit.models.len(), 1);
        fit
    };
    let mut none = LossRuns::new();
    none.push(false, 1_000_000_000_000);
    let found = only(&none);
    assert_eq!((found.lost, found.best().model.toml()), (0, "{ model = \"bernoulli\", rate = 0.0 }".into()));
    // Wilson's upper bound without an event: z^2 / (n + z^2).
    let (low, high) = found.loss_rate.interval.unwrap();
    assert!(low == 0.0 && (high * 1e12 - 3.841_458_8).abs() < 1e-3, "{high}");
    let mut all = LossRuns::new();
    all.push(true, 20);
    assert_eq!(only(&all).loss_rate.value, 1.0);
    let mut one_change = LossRuns::new();
    one_change.push(false, 50);
    one_change.push(true, 50);
    assert_eq!(only(&one_change).lost, 50);
    all.push(true, u64::MAX);
    assert_eq!(only(&all).packets, u64::MAX);
    assert_eq!(fit(&[true; 19].into_iter().collect()), Err(FitError::TooFewPackets(19)));
}

/// The closed forms of simple Gilbert: bursts are geometric, and the variance is inflated by (1 + c) / (1 -
/// c) for the correlation c = 1 - p - r of neighbours.
#[test]
fn a_simple_gilbert_chain_has_its_closed_forms() {
    let gilbert = LossModel::new(ModelKind::SimpleGilbert, vec![0.02, 0.25, 0.0, 1.0]);
    assert!((gilbert.variance_inflation() - 1.73 / 0.27).abs() < 1e-9);
    let (lengths, rest) = gilbert.burst_lengths(3);
    for (found, expected) in lengths.iter().chain([&rest]).zip([0.25, 0.1875, 0.140625, 0.421875]) {
        assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
    }
    let four = LossModel::new(ModelKind::FourState, vec![0.02, 0.25, 0.0, 1.0, 0.0]);
    assert!((four.variance_inflation() - 1.73 / 0.27).abs() < 1e-9);
    let losses = drawn(&gilbert_elliott([0.02, 0.25, 0.0, 1.0]), 5_000, 7);
    assert!(
        (four.chain().log_likelihood(&Sequence::new(&losses))
            - gilbert.chain().log_likelihood(&Sequence::new(&losses)))
        .abs()
            < 1e-6
    );
}

/// The scenario's own check accepts what is printed, also at the bounds.
#[test]
fn fragments_keep_within_their_constraints() {
    let third = 1.0 / 3.0;
    let model = LossModel::new(ModelKind::FourState, vec![third, 2.0 * third, third, 1e-9, 2.0 * third]);
    assert_eq!(
        model.toml(),
        "{ model = \"four-state\", p13 = 0.3333333333, p31 = 0.6666666667, p32 = 0.3333333333, p23 = 1e-9, \
         p14 = 0.6666666667 }"
    );
    let values: Vec<f64> = model.parameters().map(|(_, value)| (value * 1e10).round() / 1e10).collect();
    assert_eq!(four_state([values[0], values[1], values[2], values[3], values[4]]).check(), Ok(()));
}

/// Likelihood and expected transitions, packet by packet.
fn by_packet(chain: &Chain, verdicts: &[bool]) -> (f64, chain::Counts) {
    let n = verdicts.len();
    let at = |k: usize| usize::from(verdicts[k]);
    let mut forward = vec![[0.0; 2]; n];
    forward[0] = chain.start[at(0)];
    for k in 1..n {
        let block = chain.blocks[at(k - 1)][at(k)];
        for j in 0..2 {
            forward[k][j] = forward[k - 1][0] * block[0][j] + forward[k - 1][1] * block[1][j];
        }
    }
    let mut backward = vec![[1.0; 2]; n];
    for k in (0..n - 1).rev() {
        let block = chain.blocks[at(k)][at(k + 1)];
        for i in 0..2 {
            backward[k][i] = block[i][0] * backward[k + 1][0] + block[i][1] * backward[k + 1][1];
        }
    }
    let whole = forward[n - 1][0] + forward[n - 1][1];
    let mut counts = [[[[0.0; 2]; 2]; 2]; 2];
    for k in 0..n - 1 {
        for i in 0..2 {
            for j in 0..2 {
                let block = &chain.blocks[at(k)][at(k + 1)];
                counts[at(k)][at(k + 1)][i][j] += forward[k][i] * block[i][j] * backward[k + 1][j] / whole;
            }
        }
    }
    (libm::log(whole), counts)
}

proptest! {
    /// The sums over runs are those over packets.
    #[test]
    fn runs_and_packets_give_the_same_expectation(
        runs in prop::collection::vec((any::<bool>(), 1u64..12), 2..12),
        values in prop::collection::vec(0.05f64..0.45, 5),
        four in any::<bool>(),
    ) {
        let mut losses = LossRuns::new();
        for (lost, length) in runs {
            losses.push(lost, length);
        }
        let verdicts: Vec<bool> =
            losses.iter().flat_map(|(lost, length)| vec![lost; length as usize]).collect();
        let model = if four {
            LossModel::new(ModelKind::FourState, values)
        } else {
            LossModel::new(ModelKind::GilbertElliott, values[..4].to_vec())
        };
        let chain = model.chain();
        let (likelihood, expected) = by_packet(&chain, &verdicts);
        prop_assert!((chain.log_likelihood(&Sequence::new(&losses)) - likelihood).abs() < 1e-9);
        let found = chain.expected(&Sequence::new(&losses)).unwrap();
        for (found, expected) in found.iter().flatten().flatten().flatten().zip(expected.iter().flatten().flatten().flatten()) {
            prop_assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
        }
        let total: f64 = found.iter().flatten().flatten().flatten().sum();
        prop_assert!((total - (verdicts.len() - 1) as f64).abs() < 1e-6);
    }

    /// No sequence stops the fit, and no fitted model is invalid.
    #[test]
    fn every_sequence_is_fitted(runs in prop::collection::vec((any::<bool>(), 1u64..1_000_000), 1..30)) {
        let mut losses = LossRuns::new();
        losses.push(false, MIN_PACKETS);
        for (lost, length) in runs {
            losses.push(lost, length);
        }
        for one in fit(&losses).unwrap().models {
            prop_assert!(one.log_likelihood <= 0.0 && one.model.is_valid(), "{one:?}");
            prop_assert!((one.model.burst_lengths(50).0.iter().sum::<f64>()) < 1.0 + 1e-9);
        }
    }
}
