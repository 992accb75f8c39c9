//! Errors of sockets.

use std::io;

use thiserror::Error;
use whimbrel_proto::{ConnectionError, SendError};

use crate::dtls::SecurityError;

/// Errors of sockets. The system's own error, where there is one, is the
/// [`source`](std::error::Error::source), and no part of the text: [`NetError::chain`] has both.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NetError {
    /// The operating system refused.
    #[error("{action}")]
    Io {
        /// The action that failed.
        action: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The addresses of a host are unknown.
    #[error("{name} cannot be resolved")]
    Name {
        /// The host's name.
        name: String,
        /// The system's error.
        source: io::Error,
    },
    /// The connection has ended.
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    /// The connection has ended because it is not secured.
    #[error(transparent)]
    Security(#[from] SecurityError),
    /// The datagram was refused.
    #[error(transparent)]
    Send(#[from] SendError),
    /// The configuration is invalid.
    #[error("{0}")]
    Config(String),
    /// The socket's task has ended with its runtime.
    #[error("the socket's driver has stopped")]
    DriverStopped,
}

impl NetError {
    /// The error with what has caused it.
    pub fn chain(&self) -> String {
        let mut text = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            text = format!("{text}: {error}");
            cause = error.source();
        }
        text
    }

    pub(crate) fn io(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, source }
    }

    pub(crate) fn config(error: impl std::fmt::Display) -> Self {
        Self::Config(error.to_string())
    }

    /// The same error once more.
    #[cfg(unix)]
    pub(crate) fn repeated(&self) -> Self {
        match self {
            Self::Io { action, source } => Self::Io { action, source: again(source) },
            Self::Name { name, source } => Self::Name { name: name.clone(), source: again(source) },
            Self::Connection(error) => Self::Connection(*error),
            Self::Security(error) => Self::Security(error.clone()),
            Self::Send(error) => Self::Send(*error),
            Self::Config(text) => Self::Config(text.clone()),
            Self::DriverStopped => Self::DriverStopped,
        }
    }
}

#[cfg(unix)]
fn again(error: &io::Error) -> io::Error {
    let code = error.raw_os_error().map(io::Error::from_raw_os_error);
    code.unwrap_or_else(|| io::Error::new(error.kind(), error.to_string()))
}
