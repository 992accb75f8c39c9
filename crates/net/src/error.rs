//! Errors of sockets.

use std::io;

use thiserror::Error;
use whimbrel_proto::{ConnectionError, SendError};

use crate::dtls::SecurityError;

/// Errors of sockets.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NetError {
    /// The operating system refused.
    #[error("{action}: {source}")]
    Io {
        /// The action that failed.
        action: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// The connection is over.
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    /// The connection is over because it is not secured.
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
    pub(crate) fn io(action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, source }
    }

    /// The same error once more.
    #[cfg(unix)]
    pub(crate) fn repeated(&self) -> Self {
        match self {
            Self::Io { action, source } => {
                let code = source.raw_os_error().map(io::Error::from_raw_os_error);
                let source = code.unwrap_or_else(|| io::Error::new(source.kind(), source.to_string()));
                Self::Io { action, source }
            }
            Self::Connection(error) => Self::Connection(*error),
            Self::Security(error) => Self::Security(error.clone()),
            Self::Send(error) => Self::Send(*error),
            Self::Config(text) => Self::Config(text.clone()),
            Self::DriverStopped => Self::DriverStopped,
        }
    }
}
