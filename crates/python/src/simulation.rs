//! One run: a scenario's text in, numpy columns out.

use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value;
use whimbrel_lab::record::Column;
use whimbrel_lab::{Document, Plan, Record, Run};

use crate::detached::{self, Signals};
use crate::errors;

/// Simulates a scenario and returns its tables: table name to column name to column.
///
/// `scenario` is TOML text, or JSON text (its first character is then an opening brace); `set` are changes,
/// `key=value` each; `packets` requests a row per packet; relative file names start at `base`.
#[pyfunction]
#[pyo3(signature = (scenario, seed, set = Vec::new(), packets = false, base = String::new()))]
pub(crate) fn run<'py>(
    py: Python<'py>,
    scenario: &str,
    seed: u64,
    set: Vec<String>,
    packets: bool,
    base: String,
) -> PyResult<Bound<'py, PyDict>> {
    let plan = detached::run(py, || plan(scenario, &set, packets, base))?;
    let (record, signals) = detached::run(py, || {
        let mut signals = Signals::default();
        let mut run = Run::new(&plan, seed);
        run.execute(|_| signals.check());
        (run.into_record(), signals)
    });
    signals.into_result()?;
    tables(py, record)
}

/// Checks a scenario as far as is possible without running it.
///
/// Returns `flows` and `background`, a word and a flag for each flow, `metrics`, the numeric columns of the
/// table `flows`, `is_random`, `true` if runs with different seeds may differ, and `fixed_recordings`, the
/// keys of recordings that every run meets from their beginning. `case` says that the scenario is one
/// combination of its sweep, whose other values are not checked. The other arguments are the same as of
/// [`run`].
#[pyfunction]
#[pyo3(signature = (scenario, set = Vec::new(), base = String::new(), case = false))]
pub(crate) fn examine<'py>(
    py: Python<'py>,
    scenario: &str,
    set: Vec<String>,
    base: String,
    case: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let (plan, record) = detached::run(py, || {
        let document = document(scenario, &set, false, base)?;
        let document = if case { document.without_sweep() } else { document };
        let plan = document.plan().map_err(errors::scenario)?;
        // A run that has not begun has the tables of one that has ended.
        let record = Run::new(&plan, plan.seed).into_record();
        Ok::<_, PyErr>((plan, record))
    })?;
    let is_number = |column: &Column| !matches!(column, Column::Text(_));
    let metrics: Vec<&str> = record
        .table("flows")
        .into_iter()
        .flat_map(|table| table.columns())
        .filter(|(_, column)| is_number(column))
        .map(|(name, _)| *name)
        .collect();
    let found = PyDict::new(py);
    found.set_item("flows", plan.flows.iter().map(|flow| flow.name.as_str()).collect::<Vec<_>>())?;
    found.set_item("background", plan.flows.iter().map(|flow| flow.background).collect::<Vec<_>>())?;
    found.set_item("metrics", metrics)?;
    found.set_item("is_random", plan.is_random())?;
    found.set_item("fixed_recordings", plan.fixed_recordings.clone())?;
    Ok(found)
}

/// The plan of a scenario, which is one run: its `[sweep]` does not matter.
pub(crate) fn plan(scenario: &str, set: &[String], packets: bool, base: String) -> PyResult<Plan> {
    document(scenario, set, packets, base)?.without_sweep().plan().map_err(errors::scenario)
}

fn document(scenario: &str, set: &[String], packets: bool, base: String) -> PyResult<Document> {
    let json = scenario.trim_start().starts_with('{');
    let document = if json { Document::from_json(scenario) } else { Document::from_toml(scenario) };
    let mut document = document.map_err(errors::scenario)?.relative_to(base);
    for change in set {
        let (key, value) = change
            .split_once('=')
            .ok_or_else(|| errors::argument(format!("{change:?} is not a setting: expected key=value")))?;
        document.set(key.trim(), value.trim()).map_err(errors::scenario)?;
    }
    if packets {
        document.set_value("record.packets", Value::Bool(true)).map_err(errors::scenario)?;
    }
    Ok(document)
}

pub(crate) fn tables(py: Python<'_>, record: Record) -> PyResult<Bound<'_, PyDict>> {
    let tables = PyDict::new(py);
    for table in record.into_tables() {
        let name = table.name();
        let columns = PyDict::new(py);
        for (column, values) in table.into_columns() {
            match values {
                Column::Float(values) => columns.set_item(column, values.into_pyarray(py))?,
                Column::Integer(values) => columns.set_item(column, values.into_pyarray(py))?,
                Column::Text(words) => {
                    let (codes, categories) = words.into_parts();
                    columns.set_item(column, (codes.into_pyarray(py), categories))?;
                }
            }
        }
        tables.set_item(name, columns)?;
    }
    Ok(tables)
}
