//! Columns of numpy as a file in the Parquet format.

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use whimbrel_lab::record::Column;

use crate::{detached, errors};

/// The bytes of a Parquet file of columns of equal length: arrays of float64 or uint64, or lists of strings.
#[pyfunction]
pub(crate) fn parquet<'py>(
    py: Python<'py>,
    name: &str,
    columns: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyBytes>> {
    let mut taken: Vec<(String, Column)> = Vec::new();
    for (name, values) in columns {
        taken.push((name.extract()?, column(&values)?));
    }
    let rows = taken.first().map_or(0, |(_, first)| first.len());
    if taken.iter().any(|(_, column)| column.len() != rows) {
        return Err(errors::argument("the columns of a table have one length"));
    }
    let written = detached::run(py, || whimbrel_cli::parquet_table(name, &taken));
    Ok(PyBytes::new(py, &written.map_err(|error| errors::argument(format!("{error:#}")))?))
}

fn column(values: &Bound<'_, PyAny>) -> PyResult<Column> {
    if let Ok(numbers) = values.extract::<PyReadonlyArray1<'_, f64>>() {
        return Ok(Column::Float(numbers.as_slice()?.to_vec()));
    }
    if let Ok(counts) = values.extract::<PyReadonlyArray1<'_, u64>>() {
        return Ok(Column::Integer(counts.as_slice()?.to_vec()));
    }
    let words: Vec<String> = values.extract()?;
    Ok(Column::Text(words.iter().map(String::as_str).collect()))
}
