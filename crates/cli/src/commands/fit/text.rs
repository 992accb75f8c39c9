//! The report as text.

use std::fmt::Write as _;

use whimbrel_inspect::loss_fit::{Estimate, FittedModel, LossFit};

use super::burst_rows;
use super::source::Source;
use crate::table::Table;

/// The longest burst that has a row.
const ROWS: u64 = 12;

pub(super) fn report(source: &Source, fitted: &LossFit, chosen: &FittedModel) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = write_report(&mut out, source, fitted, chosen);
    out
}

fn write_report(
    out: &mut String,
    source: &Source,
    fitted: &LossFit,
    chosen: &FittedModel,
) -> std::fmt::Result {
    writeln!(out, "{}", source.stream.as_ref().unwrap_or(&source.name))?;
    let rate = &fitted.loss_rate;
    write!(out, "{} packets, {} lost: {:.3} %", fitted.packets, fitted.lost, 100.0 * rate.value)?;
    if let Some((low, high)) = rate.interval {
        write!(out, " [{:.3}, {:.3}]", 100.0 * low, 100.0 * high)?;
    }
    match source.mean_burst() {
        Some(mean) => writeln!(out, ", bursts of {mean:.2} packets on average")?,
        None => writeln!(out)?,
    }
    let best = fitted.best().bic;
    let mut table = Table::new(&["model", "ln likelihood", "BIC", "less best", "parameters"], &[0, 4]);
    for one in &fitted.models {
        let fitted = one.parameters.iter().filter(|parameter| parameter.is_fitted);
        let parameters: Vec<String> =
            fitted.map(|parameter| format!("{} {}", parameter.name, estimate(&parameter.estimate))).collect();
        table.row([
            one.kind.name().to_owned(),
            format!("{:.2}", one.log_likelihood),
            format!("{:.2}", one.bic),
            format!("{:.2}", one.bic - best),
            parameters.join(" "),
        ]);
    }
    write!(out, "\n{}", table.for_stdout())?;
    let (rows, rest) = burst_rows(&source.runs, chosen, ROWS);
    if let Some(rest) = rest {
        let mut table = Table::new(&["burst length", "observed", chosen.kind.name()], &[]);
        for row in &rows {
            let expected = format!("{:.1}", row.expected);
            table.row([row.length.to_string(), row.observed.to_string(), expected]);
        }
        let expected = format!("{:.1}", rest.expected);
        table.row([format!("{} or more", rest.length), rest.observed.to_string(), expected]);
        write!(out, "\n{}", table.for_stdout())?;
    }
    let by = if chosen.kind == fitted.best().kind { "the lowest BIC" } else { "as chosen" };
    writeln!(out, "\n# {} ({by}); for a link of a scenario:", chosen.kind.name())?;
    writeln!(out, "loss = {}", chosen.model.toml())
}

/// A value with its interval.
fn estimate(estimate: &Estimate) -> String {
    match estimate.interval {
        Some((low, high)) => {
            format!("{} [{}, {}]", digits(estimate.value), digits(low), digits(high))
        }
        None => digits(estimate.value),
    }
}

/// Four significant digits, of a probability.
fn digits(value: f64) -> String {
    if !(5e-7..1.0 - 5e-7).contains(&value) {
        return format!("{value:.0}");
    }
    let magnitude = first_digit(value);
    let places = usize::try_from(3 - magnitude).unwrap_or(0).min(9);
    format!("{value:.places$}")
}

/// The exponent of the first significant digit.
fn first_digit(value: f64) -> i32 {
    let mut exponent = 0;
    let mut scaled = value.abs();
    while scaled < 1.0 && exponent > -12 {
        scaled *= 10.0;
        exponent -= 1;
    }
    exponent
}
