//! Work without the interpreter lock.

use std::ops::ControlFlow;

use pyo3::prelude::*;

/// Runs `work` while other Python threads run.
pub(crate) fn run<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    py.detach(work)
}

/// How many questions are answered without asking Python.
const PATIENCE: u32 = 32;

/// Asks Python now and then, from detached work, whether somebody pressed Ctrl-C.
#[derive(Default)]
pub(crate) struct Signals {
    questions: u32,
    raised: Option<PyErr>,
}

impl Signals {
    /// Whether to go on. Python runs its signal handlers in its main thread only: elsewhere always yes.
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

    /// What the handler raised: `KeyboardInterrupt`, mostly.
    pub(crate) fn into_result(self) -> PyResult<()> {
        self.raised.map_or(Ok(()), Err)
    }
}
