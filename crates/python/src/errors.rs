//! Rust's errors as Python's exceptions.

use pyo3::PyErr;
use pyo3::exceptions::PyValueError;
use whimbrel_lab::ScenarioError;

/// A mistake in a scenario: `ValueError` with the whole message, which `whimbrel.run` turns into
/// `whimbrel.ScenarioError`.
pub(crate) fn scenario(error: ScenarioError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// An invalid argument: `ValueError`.
pub(crate) fn argument(message: impl Into<String>) -> PyErr {
    PyValueError::new_err(message.into())
}
