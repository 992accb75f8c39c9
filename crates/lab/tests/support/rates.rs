//! Rates of flows and the use of links in a record.

#![allow(dead_code, reason = "not every test needs all of it")]

use core::ops::Range;

use whimbrel_lab::Record;

use super::simulation::{number_of, rows_with};

/// A number of a link by its name.
pub(crate) fn link(record: &Record, name: &str, column: &str) -> f64 {
    let links = record.table("links").unwrap();
    let row = rows_with(links, &[("link", name)]).next().expect("a link");
    links.number(column, row).expect("a number")
}

/// Sum of a column over all links.
pub(crate) fn total(record: &Record, column: &str) -> f64 {
    let links = record.table("links").unwrap();
    (0..links.rows()).filter_map(|row| links.number(column, row)).sum()
}

/// Goodputs of the flows `f0`, `f1`, ... in bit/s.
pub(crate) fn rates(record: &Record, flows: Range<usize>) -> Vec<f64> {
    flows.map(|flow| number_of(record, &format!("f{flow}"), "goodput_bps")).collect()
}

/// Jain's fairness index.
pub(crate) fn jain(rates: &[f64]) -> f64 {
    let (sum, squares) = rates.iter().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    sum * sum / (rates.len() as f64 * squares)
}
