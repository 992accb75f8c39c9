//! Intervals of shares and of fitted parameters.

use super::chain::Sequence;
use super::{Estimate, LossModel, Parameter};

/// The quantile of the normal distribution for 95 %.
const QUANTILE: f64 = 1.959_963_984_540_054;
/// Step of the differences of second order, in log odds.
const STEP: f64 = 2e-3;
/// Closer to 0 or 1 than this, a parameter is at the boundary, where the likelihood has no such curvature.
const BOUNDARY: f64 = 1e-6;

/// A share of `n` independent trials with its interval (E. B. Wilson, Journal of the American Statistical
/// Association 22, 1927).
pub(super) fn wilson(share: f64, n: f64) -> Estimate {
    let square = QUANTILE * QUANTILE;
    let middle = (share + square / (2.0 * n)) / (1.0 + square / n);
    let half = QUANTILE / (1.0 + square / n) * (share * (1.0 - share) / n + square / (4.0 * n * n)).sqrt();
    Estimate { value: share, interval: Some(((middle - half).max(0.0), (middle + half).min(1.0))) }
}

/// The parameters of a model that is at the summit of its likelihood, with Wald's intervals of their log
/// odds.
pub(super) fn intervals(model: &LossModel, sequence: &Sequence) -> Vec<Parameter> {
    let names = model.kind().names();
    let free: Vec<usize> = (0..names.len())
        .filter(|&index| names[index].1 && (BOUNDARY..=1.0 - BOUNDARY).contains(&model.values()[index]))
        .collect();
    let deviations = deviations(model, sequence, &free);
    (0..names.len())
        .map(|index| {
            let value = model.values()[index];
            let place = free.iter().position(|&other| other == index);
            let deviation = place.and_then(|place| deviations.as_ref().map(|all| all[place]));
            let bounds = deviation.map(|deviation| {
                let at = |shift: f64| shifted(value, shift * deviation);
                (at(-QUANTILE), at(QUANTILE))
            });
            // An interval of everything says nothing.
            let interval = bounds.filter(|(low, high)| high - low < 0.999);
            Parameter {
                name: names[index].0,
                estimate: Estimate { value, interval },
                is_fitted: names[index].1,
            }
        })
        .collect()
}

/// The probability whose log odds are greater by `shift`.
fn shifted(probability: f64, shift: f64) -> f64 {
    let odds = probability / (1.0 - probability) * libm::exp(shift);
    if odds.is_finite() { odds / (1.0 + odds) } else { 1.0 }
}

/// Standard deviations of the log odds of the `free` parameters, from the observed information; `None` if the
/// summit is flat.
fn deviations(model: &LossModel, sequence: &Sequence, free: &[usize]) -> Option<Vec<f64>> {
    let at = |shifts: &[(usize, f64)]| {
        let mut values = model.values().to_vec();
        for &(place, shift) in shifts {
            values[free[place]] = shifted(values[free[place]], shift);
        }
        LossModel::new(model.kind(), values).chain().log_likelihood(sequence)
    };
    let n = free.len();
    let top = at(&[]);
    let second = |i: usize, j: usize| {
        if i == j {
            return -(at(&[(i, STEP)]) - 2.0 * top + at(&[(i, -STEP)])) / (STEP * STEP);
        }
        let corner = |a: f64, b: f64| at(&[(i, a * STEP), (j, b * STEP)]);
        let mixed = corner(1.0, 1.0) - corner(1.0, -1.0) - corner(-1.0, 1.0) + corner(-1.0, -1.0);
        -mixed / (4.0 * STEP * STEP)
    };
    let information: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| second(i, j)).collect()).collect();
    (0..n)
        .map(|column| {
            let mut rows: Vec<Vec<f64>> = information.clone();
            for (index, row) in rows.iter_mut().enumerate() {
                row.push(if index == column { 1.0 } else { 0.0 });
            }
            let variance = solve(&mut rows)?[column];
            (variance > 0.0 && variance.is_finite()).then(|| variance.sqrt())
        })
        .collect()
}

/// Solves linear equations by Gauss's elimination with pivots: a row has the coefficients and the right side.
/// `None` if they are singular.
pub(super) fn solve<R: AsMut<[f64]>>(rows: &mut [R]) -> Option<Vec<f64>> {
    let n = rows.len();
    for column in 0..n {
        let pivot = (column..n).max_by(|&a, &b| {
            let (x, y) = (rows[a].as_mut()[column].abs(), rows[b].as_mut()[column].abs());
            x.total_cmp(&y)
        })?;
        rows.swap(column, pivot);
        let (above, below) = rows.split_at_mut(column + 1);
        let leading = above[column].as_mut();
        if leading[column].abs() < 1e-12 {
            return None;
        }
        for row in below {
            let row = row.as_mut();
            let factor = row[column] / leading[column];
            for (cell, lead) in row.iter_mut().zip(leading.iter()).skip(column) {
                *cell -= factor * lead;
            }
        }
    }
    let mut found = vec![0.0; n];
    for row in (0..n).rev() {
        let cells = rows[row].as_mut();
        let known: f64 = (row + 1..n).map(|column| cells[column] * found[column]).sum();
        found[row] = (cells[n] - known) / cells[row];
    }
    Some(found)
}
