//! Why a socket could not do what it was asked.

use std::io;

use thiserror::Error;
use whimbrel_proto::{ConnectionError, SendError};

/// Why a socket could not do what it was asked.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NetError {
    /// The operating system refused.
    #[error("{action}: {source}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The connection is over.
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    /// The datagram was not taken.
    #[error(transparent)]
    Send(#[from] SendError),
    /// The configuration makes no sense.
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
