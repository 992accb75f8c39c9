//! Work without the interpreter lock.

use std::ops::ControlFlow;

use pyo3::prelude::*;

/// Runs `work` while other Python threads run.
pub(crate) fn run<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    py.detach(work)
}

/// Number of checks that are answered without calling Python.
const PATIENCE: u32 = 32;

/// Checks for Ctrl-C in Python now and then, from detached work.
#[derive(Default)]
pub(crate) struct Signals {
    questions: u32,
    raised: Option<PyErr>,
}

impl Signals {
    /// Returns `Continue` unless interrupted. Python runs its signal handlers in its main thread only:
    /// elsewhere it always continues.
    pub(crate) fn check(&mut self) -> ControlFlow<()> {
        self.questions += 1;
        if !self.questions.is_multiple_of(PATIENCE) {
            return ControlFlow::Continue(());
        }
        match Python::attach(|py| py.check_signals()) {
            Ok(()) => ControlFlow::Continue(()),
            Err(raised) => {
                self.raised = Some(raised);
                ControlFlow::Break(())
            }
        }
    }

    /// The exception raised by the handler, usually `KeyboardInterrupt`.
    pub(crate) fn into_result(self) -> PyResult<()> {
        self.raised.map_or(Ok(()), Err)
    }
}
