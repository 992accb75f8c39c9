//! Failures of emulations.

use std::io;

use thiserror::Error;

/// The reason why an emulation cannot be started, or broke off.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EmulateError {
    /// The system is not Linux.
    #[error("emulation needs Linux: network namespaces and TUN devices")]
    Unsupported,
    /// The ends are unsuitable.
    #[error("{0}")]
    Ends(String),
    /// The system does not allow namespaces to this user.
    #[error("{step}: {error}; {advice}")]
    Denied {
        /// The attempted step.
        step: String,
        /// The system's error.
        error: io::Error,
        /// A remedy.
        advice: String,
    },
    /// A command cannot be started.
    #[error("`{command}` at node \"{node}\": {error}")]
    Command {
        /// The command.
        command: String,
        /// Its node.
        node: String,
        /// The system's error.
        error: io::Error,
    },
    /// The system refused an operation.
    #[error("{doing}: {error}")]
    System {
        /// The operation.
        doing: &'static str,
        /// The system's error.
        error: io::Error,
    },
}

impl EmulateError {
    /// For `map_err`: the system refused this operation.
    #[cfg(target_os = "linux")]
    pub(crate) fn system<E: Into<io::Error>>(doing: &'static str) -> impl FnOnce(E) -> Self {
        move |error| Self::System { doing, error: error.into() }
    }
}
