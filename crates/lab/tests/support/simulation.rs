//! A scenario with changes, run, and what a test reads off its record.

#![allow(dead_code, reason = "not every test needs all of it")]

use std::path::{Path, PathBuf};

use whimbrel_lab::record::Table;
use whimbrel_lab::{Document, Record, run};

/// A path in the repository.
pub(crate) fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// The scenario with other values for some keys.
pub(crate) fn document(toml: &str, changes: &[(&str, &str)]) -> Document {
    changed(Document::from_toml(toml).unwrap(), changes)
}

/// The same of one in `examples`.
pub(crate) fn example(name: &str, changes: &[(&str, &str)]) -> Document {
    changed(Document::from_file(in_repository("examples").join(name)).unwrap(), changes)
}

fn changed(mut document: Document, changes: &[(&str, &str)]) -> Document {
    for (key, value) in changes {
        document.set(key, value).unwrap();
    }
    document
}

/// The record of its run with seed 1.
pub(crate) fn run_once(document: &Document) -> Record {
    run(&document.plan().unwrap_or_else(|error| panic!("{error}")), 1)
}

/// The record of the scenario's run with other values for some keys.
pub(crate) fn simulate(toml: &str, changes: &[(&str, &str)]) -> Record {
    run_once(&document(toml, changes))
}

/// A number of the first flow.
pub(crate) fn number(record: &Record, column: &str) -> f64 {
    record.table("flows").and_then(|flows| flows.number(column, 0)).expect("a column of numbers")
}

/// The rows that have these words.
pub(crate) fn rows_with<'a>(table: &'a Table, words: &'a [(&str, &str)]) -> impl Iterator<Item = usize> + 'a {
    let matches = |row: &usize| words.iter().all(|(column, word)| table.text(column, *row) == Some(word));
    (0..table.rows()).filter(matches)
}

/// A number of a flow by its name.
pub(crate) fn number_of(record: &Record, flow: &str, column: &str) -> f64 {
    let flows = record.table("flows").unwrap();
    let row = rows_with(flows, &[("flow", flow)]).next().expect("a flow");
    flows.number(column, row).expect("a number")
}

/// RFC 5348, Section 3.1, in byte/s, with b = 1 and t_RTO = 4 R.
pub(crate) fn equation(s: f64, r: f64, p: f64) -> f64 {
    s / (r * (libm::sqrt(2.0 * p / 3.0) + 12.0 * libm::sqrt(3.0 * p / 8.0) * p * (1.0 + 32.0 * p * p)))
}
