//! Errors of sockets.

use std::io;

use thiserror::Error;
use whimbrel_dtls::SecurityError;
use whimbrel_proto::{ConnectionError, SendError};

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
}
