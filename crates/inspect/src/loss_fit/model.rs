//! The models, their parameters and their chains.

use super::chain::{Chain, Counts, Matrix};

/// A family of models.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[non_exhaustive]
pub enum ModelKind {
    /// Independent losses.
    Bernoulli,
    /// Two states; a packet is lost exactly in the bad one.
    SimpleGilbert,
    /// Two hidden states; no packet is lost in the good one.
    Gilbert,
    /// Two hidden states, each with a loss probability.
    GilbertElliott,
    /// NetEm's chain of four states.
    FourState,
}

impl ModelKind {
    /// All of them, in the order of their numbers of parameters.
    pub const ALL: [Self; 5] =
        [Self::Bernoulli, Self::SimpleGilbert, Self::Gilbert, Self::GilbertElliott, Self::FourState];

    /// Lower-case name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bernoulli => "bernoulli",
            Self::SimpleGilbert => "simple-gilbert",
            Self::Gilbert => "gilbert",
            Self::GilbertElliott => "gilbert-elliott",
            Self::FourState => "four-state",
        }
    }

    /// Number of parameters that are fitted.
    pub const fn fitted_parameters(self) -> usize {
        match self {
            Self::Bernoulli => 1,
            Self::SimpleGilbert => 2,
            Self::Gilbert => 3,
            Self::GilbertElliott => 4,
            Self::FourState => 5,
        }
    }

    /// The names of all parameters, as of the scenario's model, and whether each is fitted.
    pub(super) const fn names(self) -> &'static [(&'static str, bool)] {
        match self {
            Self::Bernoulli => &[("rate", true)],
            Self::SimpleGilbert => &[
                ("good_to_bad", true),
                ("bad_to_good", true),
                ("loss_in_good", false),
                ("loss_in_bad", false),
            ],
            Self::Gilbert => &[
                ("good_to_bad", true),
                ("bad_to_good", true),
                ("loss_in_good", false),
                ("loss_in_bad", true),
            ],
            Self::GilbertElliott => {
                &[("good_to_bad", true), ("bad_to_good", true), ("loss_in_good", true), ("loss_in_bad", true)]
            }
            Self::FourState => &[("p13", true), ("p31", true), ("p32", true), ("p23", true), ("p14", true)],
        }
    }

    /// The name of the scenario's loss model.
    pub const fn scenario_name(self) -> &'static str {
        match self {
            Self::Bernoulli => "bernoulli",
            Self::SimpleGilbert | Self::Gilbert | Self::GilbertElliott => "gilbert-elliott",
            Self::FourState => "four-state",
        }
    }
}

/// A model with its parameters: probabilities in the order of [`ModelKind`]'s names.
#[derive(Clone, PartialEq, Debug)]
pub struct LossModel {
    kind: ModelKind,
    values: Vec<f64>,
}

impl LossModel {
    /// The parameters are the scenario model's, in its order.
    pub(super) fn new(kind: ModelKind, values: Vec<f64>) -> Self {
        debug_assert_eq!(values.len(), kind.names().len());
        Self { kind, values }
    }

    /// The family.
    pub fn kind(&self) -> ModelKind {
        self.kind
    }

    /// The parameters by the keys of scenarios.
    pub fn parameters(&self) -> impl Iterator<Item = (&'static str, f64)> + '_ {
        self.kind.names().iter().map(|(name, _)| *name).zip(self.values.iter().copied())
    }

    /// The model as a value of a scenario's `loss`, in TOML.
    pub fn toml(&self) -> String {
        let keys: Vec<String> = self
            .parameters()
            // The constraints of the four-state chain survive this rounding: its sums may exceed 1 by 1e-9.
            .map(|(name, value)| format!("{name} = {:?}", (value * 1e10).round() / 1e10))
            .collect();
        format!("{{ model = \"{}\", {} }}", self.kind.scenario_name(), keys.join(", "))
    }

    /// Probabilities of bursts of 1, 2, ... `longest` lost packets, and of longer ones.
    pub fn burst_lengths(&self, longest: u64) -> (Vec<f64>, f64) {
        self.chain().burst_lengths(longest)
    }

    pub(super) fn values(&self) -> &[f64] {
        &self.values
    }

    /// `true` if all are probabilities that the model allows.
    pub(super) fn is_valid(&self) -> bool {
        let probabilities = self.values.iter().all(|value| (0.0..=1.0).contains(value));
        let values = &self.values;
        probabilities
            && match self.kind {
                ModelKind::Bernoulli => true,
                ModelKind::SimpleGilbert | ModelKind::Gilbert | ModelKind::GilbertElliott => {
                    values[0] + values[1] > 0.0
                }
                ModelKind::FourState => {
                    values[0] + values[4] <= 1.0
                        && values[1] + values[2] <= 1.0
                        && values[0] + values[1] > 0.0
                }
            }
    }

    /// The chain over verdicts and states.
    pub(super) fn chain(&self) -> Chain {
        match (self.kind, self.values.as_slice()) {
            (ModelKind::Bernoulli, &[rate]) => two_states([0.0, 1.0], [rate, rate]),
            (ModelKind::FourState, &[p13, p31, p32, p23, p14]) => four_states(p13, p31, p32, p23, p14),
            (_, &[good_to_bad, bad_to_good, loss_in_good, loss_in_bad]) => {
                two_states([good_to_bad, bad_to_good], [loss_in_good, loss_in_bad])
            }
            // `new` has as many values as the model has parameters.
            (_, _) => two_states([0.0, 1.0], [0.0, 0.0]),
        }
    }

    /// The likeliest parameters given expected numbers of transitions of the model's chain.
    pub(super) fn maximized(&self, counts: &Counts) -> Self {
        let share = |part: f64, rest: f64, kept: f64| {
            if part + rest > 0.0 { part / (part + rest) } else { kept }
        };
        let old = &self.values;
        let values = if self.kind == ModelKind::FourState {
            let from_gap = counts[0][0][0][0] + counts[0][1][0][0] + counts[0][1][0][1];
            let from_loss = counts[1][1][1][1] + counts[1][0][1][0] + counts[1][0][1][1];
            let of = |part: f64, whole: f64, kept: f64| share(part, whole - part, kept);
            vec![
                of(counts[0][1][0][1], from_gap, old[0]),
                of(counts[1][0][1][0], from_loss, old[1]),
                of(counts[1][0][1][1], from_loss, old[2]),
                share(counts[0][1][1][1], counts[0][0][1][1], old[3]),
                of(counts[0][1][0][0], from_gap, old[4]),
            ]
        } else {
            let mut hidden: Matrix = [[0.0; 2]; 2];
            // By state and verdict of the second packet of each pair.
            let mut verdicts = [[0.0; 2]; 2];
            for of_first in counts {
                for (verdict, block) in of_first.iter().enumerate() {
                    for (i, row) in block.iter().enumerate() {
                        for (j, count) in row.iter().enumerate() {
                            hidden[i][j] += count;
                            verdicts[j][verdict] += count;
                        }
                    }
                }
            }
            vec![
                share(hidden[0][1], hidden[0][0], old[0]),
                share(hidden[1][0], hidden[1][1], old[1]),
                share(verdicts[0][1], verdicts[0][0], old[2]),
                share(verdicts[1][1], verdicts[1][0], old[3]),
            ]
        };
        Self::new(self.kind, values)
    }

    /// With the states in order: the bad one is that with more losses.
    pub(super) fn in_order(mut self) -> Self {
        if matches!(self.kind, ModelKind::GilbertElliott) && self.values[2] > self.values[3] {
            self.values.swap(0, 1);
            self.values.swap(2, 3);
        }
        self
    }

    /// Variance of the share of lost packets of long sequences, relative to independent losses of the same
    /// rate.
    ///
    /// With the fundamental matrix Z of the chain (J. G. Kemeny, J. L. Snell, "Finite Markov chains", 1960,
    /// Theorem 4.6.3).
    pub fn variance_inflation(&self) -> f64 {
        let chain = self.chain();
        let share = |state: usize| chain.start[state / 2][state % 2];
        let step = |from: usize, to: usize| chain.blocks[from / 2][to / 2][from % 2][to % 2];
        let rate = share(2) + share(3);
        let variance = rate * (1.0 - rate);
        if variance == 0.0 || self.kind == ModelKind::Bernoulli {
            return 1.0;
        }
        // (I - P + 1 share) y = f for the centred indicator f of losses gives the sum over k >= 0 of P^k f.
        let mut rows: Vec<[f64; 5]> = (0..4)
            .map(|from| {
                let mut row = [0.0; 5];
                for (to, cell) in row.iter_mut().take(4).enumerate() {
                    *cell = f64::from(u8::from(from == to)) - step(from, to) + share(to);
                }
                row[4] = f64::from(u8::from(from >= 2)) - rate;
                row
            })
            .collect();
        match super::interval::solve(&mut rows) {
            Some(sums) => {
                let weighted: f64 =
                    (0..4).map(|s| share(s) * (f64::from(u8::from(s >= 2)) - rate) * sums[s]).sum();
                (2.0 * weighted - variance) / variance
            }
            None => 1.0,
        }
    }
}

/// Hidden good and bad states: probabilities of leaving each, and of loss in each.
fn two_states(leave: [f64; 2], loss: [f64; 2]) -> Chain {
    let hidden: Matrix = [[1.0 - leave[0], leave[0]], [leave[1], 1.0 - leave[1]]];
    let verdict = |state: usize| [1.0 - loss[state], loss[state]];
    let block = |second: usize| {
        let cell = |i: usize, j: usize| hidden[i][j] * verdict(j)[second];
        [[cell(0, 0), cell(0, 1)], [cell(1, 0), cell(1, 1)]]
    };
    let shares = [leave[1] / (leave[0] + leave[1]), leave[0] / (leave[0] + leave[1])];
    let start = |of: usize| [shares[0] * verdict(0)[of], shares[1] * verdict(1)[of]];
    Chain { blocks: [[block(0), block(1)], [block(0), block(1)]], start: [start(0), start(1)] }
}

/// NetEm's chain: deliveries are in the states 1 and 2, losses in 4 and 3.
fn four_states(p13: f64, p31: f64, p32: f64, p23: f64, p14: f64) -> Chain {
    let weights = if p32 > 0.0 {
        [p31 * p23, p13 * p32, p31 * p23 * p14, p13 * p23]
    } else {
        [p31, 0.0, p31 * p14, p13]
    };
    let sum: f64 = weights.iter().sum();
    let [gap, in_burst, isolated, burst] = weights.map(|weight| weight / sum);
    let stay = |left: f64| (1.0 - left).max(0.0);
    Chain {
        blocks: [
            [[[stay(p13 + p14), 0.0], [0.0, stay(p23)]], [[p14, p13], [0.0, p23]]],
            [[[1.0, 0.0], [p31, p32]], [[0.0, 0.0], [0.0, stay(p31 + p32)]]],
        ],
        start: [[gap, in_burst], [isolated, burst]],
    }
}
