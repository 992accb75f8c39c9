//! The search for the likeliest parameters.

use super::chain::Sequence;
use super::{LossModel, LossRuns, ModelKind};

/// Steps from each start before the best ones are chosen.
const SCOUTING: usize = 12;
/// Extrapolated steps from each of those.
const MOST_STEPS: usize = 400;
/// Starts that are followed to their summit.
const FOLLOWED: usize = 3;
/// A gain in nats below which a step has arrived.
const SETTLED: f64 = 1e-7;

/// The likeliest model of each kind that the sequence supports, with the logarithm of its likelihood, the
/// simplest first.
pub(super) fn likeliest(runs: &LossRuns, sequence: &Sequence) -> Vec<(LossModel, f64)> {
    let (packets, lost) = (runs.packets() as f64, runs.lost() as f64);
    let rate = lost / packets;
    // 0 ln 0 is 0.
    let entropy = |count: f64, share: f64| if count > 0.0 { count * libm::log(share) } else { 0.0 };
    let bernoulli = entropy(lost, rate) + entropy(packets - lost, 1.0 - rate);
    let mut found = vec![(LossModel::new(ModelKind::Bernoulli, vec![rate]), bernoulli)];
    let pairs = runs.transitions();
    let (to_bad, to_good) =
        (pairs[0][1] / (pairs[0][0] + pairs[0][1]), pairs[1][0] / (pairs[1][0] + pairs[1][1]));
    // A chain needs transitions in both directions.
    if !(to_bad > 0.0 && to_good > 0.0) {
        return found;
    }
    let simple = LossModel::new(ModelKind::SimpleGilbert, vec![to_bad, to_good, 0.0, 1.0]);
    let likelihood = simple.chain().log_likelihood(sequence);
    found.push((simple.clone(), likelihood));
    for kind in [ModelKind::Gilbert, ModelKind::GilbertElliott, ModelKind::FourState] {
        found.extend(summit(sequence, starts(kind, rate, to_bad, to_good)));
    }
    found
}

/// Points from which to climb; `to_bad` and `to_good` are the simple Gilbert model's.
fn starts(kind: ModelKind, rate: f64, to_bad: f64, to_good: f64) -> Vec<LossModel> {
    let mut found = Vec::new();
    let mut add = |values: Vec<f64>| {
        let values = values.into_iter().map(|value: f64| value.clamp(0.0, 1.0)).collect();
        let model = LossModel::new(kind, values);
        if model.is_valid() {
            found.push(model);
        }
    };
    if kind == ModelKind::FourState {
        for isolated in [0.05, 0.5] {
            for (leave, pause, resume) in
                [(0.3, 0.3, 0.3), (0.05, 0.3, 0.5), (0.02, 0.5, 0.1), (0.5, 0.1, 0.1), (0.1, 0.05, 0.02)]
            {
                add(vec![to_bad * (1.0 - isolated), leave, pause, resume, to_bad * isolated]);
            }
        }
        // The simple Gilbert model, with a little of the rest.
        add(vec![to_bad * 0.98, to_good * 0.9, to_good * 0.1, 0.5, to_bad * 0.02]);
        return found;
    }
    let in_good = if kind == ModelKind::Gilbert { [0.0, 0.0] } else { [0.1 * rate, 0.6 * rate] };
    for loss_in_good in in_good.into_iter().take(if kind == ModelKind::Gilbert { 1 } else { 2 }) {
        for loss_in_bad in [0.95, 0.7, 0.4, 2.0 * rate] {
            for leave in [to_good * 0.9, 0.2, 0.03, 0.004] {
                // The share of the bad state that gives the observed rate.
                let share = (rate - loss_in_good) / (loss_in_bad - loss_in_good);
                if (1e-9..0.999).contains(&share) {
                    add(vec![leave * share / (1.0 - share), leave, loss_in_good, loss_in_bad]);
                }
            }
        }
    }
    found
}

/// The highest summit above the starts, if one of them can produce the sequence.
fn summit(sequence: &Sequence, starts: Vec<LossModel>) -> Option<(LossModel, f64)> {
    let mut scouted: Vec<(LossModel, f64)> = starts
        .into_iter()
        .filter_map(|mut model| {
            for _ in 0..SCOUTING {
                model = step(&model, sequence)?;
            }
            let likelihood = model.chain().log_likelihood(sequence);
            likelihood.is_finite().then_some((model, likelihood))
        })
        .collect();
    scouted.sort_by(|a, b| b.1.total_cmp(&a.1));
    scouted
        .into_iter()
        .take(FOLLOWED)
        .map(|(model, likelihood)| climb(sequence, model, likelihood))
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(model, likelihood)| (model.in_order(), likelihood))
}

/// A step of Baum and Welch's algorithm. The likelihood of the first packet's state is left out of the
/// maximization: it is one term of thousands, and the best point passed is what counts.
fn step(model: &LossModel, sequence: &Sequence) -> Option<LossModel> {
    Some(model.maximized(&model.chain().expected(sequence)?))
}

/// Climbs by extrapolated steps (SQUAREM, scheme S3) until a step gains nothing.
fn climb(sequence: &Sequence, model: LossModel, likelihood: f64) -> (LossModel, f64) {
    let mut best = (model, likelihood);
    let mut arrived = 0;
    for _ in 0..MOST_STEPS {
        let Some(first) = step(&best.0, sequence) else { break };
        let Some(second) = step(&first, sequence) else { break };
        let extrapolated = extrapolate(&best.0, &first, &second).and_then(|model| step(&model, sequence));
        let candidates = [extrapolated, Some(second)];
        let next = candidates
            .into_iter()
            .flatten()
            .map(|model| {
                let likelihood = model.chain().log_likelihood(sequence);
                (model, likelihood)
            })
            .max_by(|a, b| a.1.total_cmp(&b.1));
        let Some(next) = next else { break };
        let gain = next.1 - best.1;
        if gain > 0.0 {
            best = next;
        }
        // Extrapolations alternate in size: one small gain is not the summit.
        arrived = if gain < SETTLED { arrived + 1 } else { 0 };
        if gain <= 0.0 || arrived > 3 {
            break;
        }
    }
    best
}

/// The point to which two steps point; `None` if they do not move, or it is no model.
fn extrapolate(origin: &LossModel, first: &LossModel, second: &LossModel) -> Option<LossModel> {
    let change = |a: &LossModel, b: &LossModel| -> Vec<f64> {
        b.values().iter().zip(a.values()).map(|(b, a)| b - a).collect()
    };
    let length = |vector: &[f64]| vector.iter().map(|part| part * part).sum::<f64>().sqrt();
    let (r, next) = (change(origin, first), change(first, second));
    let v: Vec<f64> = next.iter().zip(&r).map(|(next, r)| next - r).collect();
    if length(&v) < 1e-14 {
        return None;
    }
    let alpha = -(length(&r) / length(&v)).max(1.0);
    let values: Vec<f64> = origin
        .values()
        .iter()
        .zip(r.iter().zip(&v))
        .map(|(value, (r, v))| value - 2.0 * alpha * r + alpha * alpha * v)
        .collect();
    let model = LossModel::new(origin.kind(), values);
    // A value of exactly 0 or 1 would stay there.
    let inside =
        model.values().iter().zip(second.values()).all(|(new, old)| (*new > 0.0 && *new < 1.0) || new == old);
    (inside && model.is_valid()).then_some(model)
}
