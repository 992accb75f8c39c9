//! Failures of commands.

use whimbrel_relay::{Refused, Stop};

/// Failures of commands.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Ctrl-C was pressed; all output has been printed.
    Interrupted,
    /// A program that the command ran has ended with this code.
    #[cfg_attr(not(feature = "laboratory"), allow(dead_code, reason = "emulate runs programs"))]
    Code(i32),
    /// The command line is wrong in a way that only the command itself can see.
    Usage(String),
    /// The command failed.
    Because(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Because(error.into())
    }
}

impl Failure {
    /// The failure of an end that was to run until `stop`, or the interruption.
    pub(crate) fn of<T>(result: anyhow::Result<T>, stop: &Stop) -> Result<T, Self> {
        match result {
            Ok(_) if stop.is_raised() => Err(Self::Interrupted),
            Ok(value) => Ok(value),
            Err(error) => Err(match error.downcast() {
                Ok(Refused(message)) => Self::Usage(message),
                Err(error) => Self::Because(error),
            }),
        }
    }
}
