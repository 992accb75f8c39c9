//! A Markov chain with two states for each verdict, and the expectation step over runs of equal verdicts.
//!
//! Every model here is such a chain: a hidden good or bad state with each verdict, or the two states of
//! NetEm's chain that deliver and the two that lose. Row vectors go forward, column vectors backward.

use super::LossRuns;

/// A matrix of two rows and columns.
pub(super) type Matrix = [[f64; 2]; 2];
/// A row or a column.
pub(super) type Vector = [f64; 2];

const IDENTITY: Matrix = [[1.0, 0.0], [0.0, 1.0]];

/// A chain over (verdict, state). Verdicts are 0 for delivery and 1 for loss.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Chain {
    /// Probabilities of transitions by verdict of the first and of the second packet.
    pub(super) blocks: [[Matrix; 2]; 2],
    /// Long-term shares of the states by verdict.
    pub(super) start: [Vector; 2],
}

/// Expected numbers of transitions, as [`Chain::blocks`].
pub(super) type Counts = [[Matrix; 2]; 2];

fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let cell = |i: usize, j: usize| a[i][0] * b[0][j] + a[i][1] * b[1][j];
    [[cell(0, 0), cell(0, 1)], [cell(1, 0), cell(1, 1)]]
}

fn row_times(row: &Vector, m: &Matrix) -> Vector {
    [row[0] * m[0][0] + row[1] * m[1][0], row[0] * m[0][1] + row[1] * m[1][1]]
}

fn times_column(m: &Matrix, column: &Vector) -> Vector {
    [m[0][0] * column[0] + m[0][1] * column[1], m[1][0] * column[0] + m[1][1] * column[1]]
}

/// Scales to a sum of 1; returns the sum.
fn normalize(vector: &mut Vector) -> f64 {
    let sum = vector[0] + vector[1];
    if sum > 0.0 {
        *vector = vector.map(|part| part / sum);
    }
    sum
}

/// The n-th power of A, and the sums over the packets of a run that has n transitions.
#[derive(Clone, Copy, Debug)]
struct Power {
    /// A^n, divided by the exponential of `log_scale`.
    power: Matrix,
    /// `visits[i][j][p][q]` is the sum over k < n of (A^k)_{pi} (A^{n-1-k})_{jq}, on the same scale.
    visits: [[Matrix; 2]; 2],
    log_scale: f64,
}

impl Power {
    /// The n transitions that follow `self`'s.
    fn then(&self, next: &Self, with_visits: bool) -> Self {
        let mut found = Self {
            power: product(&self.power, &next.power),
            visits: self.visits,
            log_scale: self.log_scale + next.log_scale,
        };
        if with_visits {
            for (i, row) in found.visits.iter_mut().enumerate() {
                for (j, visits) in row.iter_mut().enumerate() {
                    let last = product(&self.power, &next.visits[i][j]);
                    *visits = sum(&product(visits, &next.power), &last);
                }
            }
        }
        found.rescale();
        found
    }

    /// By doubling: the sums of m + n transitions are the first m's times A^n, and A^m times the last n's.
    fn of(a: &Matrix, n: u64, with_visits: bool) -> Self {
        let mut found = Self { power: IDENTITY, visits: [[[[0.0; 2]; 2]; 2]; 2], log_scale: 0.0 };
        for bit in (0..u64::BITS - n.leading_zeros()).rev() {
            if with_visits {
                for row in &mut found.visits {
                    for visits in row {
                        let first = product(visits, &found.power);
                        let last = product(&found.power, visits);
                        *visits = sum(&first, &last);
                    }
                }
            }
            found.power = product(&found.power, &found.power);
            found.log_scale *= 2.0;
            if n >> bit & 1 == 1 {
                if with_visits {
                    for (i, row) in found.visits.iter_mut().enumerate() {
                        for (j, visits) in row.iter_mut().enumerate() {
                            *visits = product(visits, a);
                            visits[0][j] += found.power[0][i];
                            visits[1][j] += found.power[1][i];
                        }
                    }
                }
                found.power = product(&found.power, a);
            }
            found.rescale();
        }
        found
    }

    fn rescale(&mut self) {
        let largest = self.power.iter().flatten().fold(0.0f64, |a, b| a.max(*b));
        if largest > 0.0 && largest < 1e-3 {
            let by = 1.0 / largest;
            self.power = self.power.map(|row| row.map(|cell| cell * by));
            for visits in self.visits.iter_mut().flatten() {
                *visits = visits.map(|row| row.map(|cell| cell * by));
            }
            self.log_scale += libm::log(largest);
        }
    }
}

fn sum(a: &Matrix, b: &Matrix) -> Matrix {
    [[a[0][0] + b[0][0], a[0][1] + b[0][1]], [a[1][0] + b[1][0], a[1][1] + b[1][1]]]
}

/// A sequence of packets, with an index of the lengths of its runs.
#[derive(Clone, Debug)]
pub(super) struct Sequence {
    /// Verdict and place of the length.
    runs: Vec<(usize, usize)>,
    /// The numbers of transitions within the runs of each verdict, ascending.
    within: [Vec<u64>; 2],
}

impl Sequence {
    pub(super) fn new(runs: &LossRuns) -> Self {
        let lengths = |verdict: bool| {
            let mut found: Vec<u64> =
                runs.iter().filter(|(lost, _)| *lost == verdict).map(|(_, length)| length - 1).collect();
            found.sort_unstable();
            found.dedup();
            found
        };
        let within = [lengths(false), lengths(true)];
        let runs = runs
            .iter()
            .map(|(lost, length)| {
                let verdict = usize::from(lost);
                (verdict, within[verdict].partition_point(|other| *other < length - 1))
            })
            .collect();
        Self { runs, within }
    }

    /// The powers for each verdict and length, each from the one before: neighbouring lengths differ by
    /// little.
    fn powers(&self, chain: &Chain, with_visits: bool) -> [Vec<Power>; 2] {
        [0, 1].map(|verdict| {
            let block = &chain.blocks[verdict][verdict];
            let mut found: Vec<Power> = Vec::with_capacity(self.within[verdict].len());
            let mut before = 0;
            for &within in &self.within[verdict] {
                let further = Power::of(block, within - before, with_visits);
                before = within;
                let power = match found.last() {
                    Some(last) => last.then(&further, with_visits),
                    None => further,
                };
                found.push(power);
            }
            found
        })
    }
}

impl Chain {
    /// Logarithm of the likelihood of a sequence, in nats; minus infinity if the chain cannot produce it.
    pub(super) fn log_likelihood(&self, sequence: &Sequence) -> f64 {
        let powers = sequence.powers(self, false);
        let mut log = 0.0;
        let mut state: Option<(usize, Vector)> = None;
        for &(verdict, place) in &sequence.runs {
            let mut entry = match &state {
                None => self.start[verdict],
                Some((last, exit)) => row_times(exit, &self.blocks[*last][verdict]),
            };
            let power = &powers[verdict][place];
            let entered = normalize(&mut entry);
            let mut exit = row_times(&entry, &power.power);
            let kept = normalize(&mut exit);
            log += libm::log(entered) + libm::log(kept) + power.log_scale;
            state = Some((verdict, exit));
        }
        if log.is_nan() { f64::NEG_INFINITY } else { log }
    }

    /// The expected numbers of transitions given a sequence that the chain can produce; `None` if it cannot.
    pub(super) fn expected(&self, sequence: &Sequence) -> Option<Counts> {
        let powers = sequence.powers(self, true);
        // Forward: the states of the first and of the last packet of each run, given the packets so far.
        let mut forward: Vec<(usize, usize, Vector, Vector)> = Vec::with_capacity(sequence.runs.len());
        for &(verdict, place) in &sequence.runs {
            let mut entry = match forward.last() {
                None => self.start[verdict],
                Some((last, _, _, exit)) => row_times(exit, &self.blocks[*last][verdict]),
            };
            let entered = normalize(&mut entry);
            let mut exit = row_times(&entry, &powers[verdict][place].power);
            let kept = normalize(&mut exit);
            // Also false for what is no number.
            if !(entered > 0.0 && kept > 0.0) {
                return None;
            }
            forward.push((verdict, place, entry, exit));
        }
        let mut counts = [[[[0.0; 2]; 2]; 2]; 2];
        let mut weights = [0, 1].map(|verdict: usize| vec![[[0.0; 2]; 2]; powers[verdict].len()]);
        // Backward: the likelihood of the packets from the next run on, by the state of its first packet.
        let mut next: Option<(usize, Vector)> = None;
        for (verdict, place, entry, exit) in forward.iter().rev() {
            let power = &powers[*verdict][*place];
            let after = match &next {
                None => [1.0, 1.0],
                Some((other, likelihood)) => {
                    let block = &self.blocks[*verdict][*other];
                    let after = times_column(block, likelihood);
                    let whole = exit[0] * after[0] + exit[1] * after[1];
                    for i in 0..2 {
                        for j in 0..2 {
                            counts[*verdict][*other][i][j] += exit[i] * block[i][j] * likelihood[j] / whole;
                        }
                    }
                    after
                }
            };
            let mut likelihood = times_column(&power.power, &after);
            let whole = entry[0] * likelihood[0] + entry[1] * likelihood[1];
            let weight: &mut Matrix = &mut weights[*verdict][*place];
            for p in 0..2 {
                for q in 0..2 {
                    weight[p][q] += entry[p] * after[q] / whole;
                }
            }
            normalize(&mut likelihood);
            next = Some((*verdict, likelihood));
        }
        for (verdict, weights) in weights.iter().enumerate() {
            for (power, weight) in powers[verdict].iter().zip(weights) {
                let visits = &power.visits;
                for i in 0..2 {
                    for j in 0..2 {
                        let both: f64 = (0..2)
                            .flat_map(|p| (0..2).map(move |q| (p, q)))
                            .map(|(p, q)| weight[p][q] * visits[i][j][p][q])
                            .sum();
                        counts[verdict][verdict][i][j] += self.blocks[verdict][verdict][i][j] * both;
                    }
                }
            }
        }
        Some(counts)
    }

    /// The probabilities of bursts of 1, 2, ... `longest` lost packets, and of longer ones.
    pub(super) fn burst_lengths(&self, longest: u64) -> (Vec<f64>, f64) {
        let mut state = row_times(&self.start[0], &self.blocks[0][1]);
        if normalize(&mut state) == 0.0 {
            return (vec![0.0; longest as usize], 0.0);
        }
        let mut found = Vec::new();
        for _ in 0..longest {
            let leaving = times_column(&self.blocks[1][0], &[1.0, 1.0]);
            found.push(state[0] * leaving[0] + state[1] * leaving[1]);
            state = row_times(&state, &self.blocks[1][1]);
        }
        (found, state[0] + state[1])
    }
}
