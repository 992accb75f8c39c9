//! Python bindings of Whimbrel: the module `whimbrel._core`.
//!
//! Conversion and the release of the interpreter lock, no logic: [`simulation`] turns arguments into a
//! run and its tables into numpy columns, [`session`] runs in steps, [`classification`] turns arrays into
//! verdicts, [`handover_model`] evaluates the equations, [`parquet`] writes columns, [`sockets`] never wait,
//! [`detached`] releases the lock, [`errors`] maps errors.

mod classification;
mod detached;
mod errors;
mod handover_model;
mod parquet;
mod session;
mod simulation;
mod sockets;

use pyo3::prelude::*;

/// Runs one of the commands written in Rust and returns its exit status; `argv` does not include the
/// program's name.
#[pyfunction]
fn cli(py: Python<'_>, argv: Vec<String>) -> i32 {
    let arguments = std::iter::once("whimbrel".to_owned()).chain(argv).collect();
    detached::run(py, move || whimbrel_cli::run(arguments))
}

/// A quantity as on the command line, in seconds, bit/s or a part of 1; `kind` is `time`, `rate` or `share`.
#[pyfunction]
fn quantity(kind: &str, text: &str) -> PyResult<f64> {
    whimbrel_cli::parse_quantity(kind, text).map_err(errors::argument)
}

/// The JSON schema of scenarios, as JSON text.
#[pyfunction]
fn schema() -> String {
    whimbrel_lab::schema().to_string()
}

/// The compiled part of Whimbrel.
#[pymodule(gil_used = false)]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_function(wrap_pyfunction!(simulation::run, module)?)?;
    module.add_function(wrap_pyfunction!(simulation::examine, module)?)?;
    module.add_class::<session::Session>()?;
    module.add_function(wrap_pyfunction!(classification::classify_losses, module)?)?;
    module.add_function(wrap_pyfunction!(handover_model::handover_model, module)?)?;
    module.add_function(wrap_pyfunction!(handover_model::handover_networks, module)?)?;
    module.add_function(wrap_pyfunction!(parquet::parquet, module)?)?;
    module.add_function(wrap_pyfunction!(quantity, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add("FILE_KEYS", whimbrel_lab::scenario::FILE_KEYS)?;
    module.add("SocketError", module.py().get_type::<sockets::SocketError>())?;
    module.add_class::<sockets::SocketRuntime>()?;
    module.add_class::<sockets::PyProtection>()?;
    module.add_class::<sockets::SocketConfig>()?;
    module.add_class::<sockets::SocketListener>()?;
    module.add_class::<sockets::Socket>()?;
    module.add_function(wrap_pyfunction!(sockets::generate_key, module)?)?;
    module.add_function(wrap_pyfunction!(sockets::key_fingerprint, module)?)?;
    module.add_function(wrap_pyfunction!(cli, module)?)
}
