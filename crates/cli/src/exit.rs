//! Failures of commands.

/// Failures of commands.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Ctrl-C was pressed; all output has been printed.
    Interrupted,
    /// A program that the command ran has ended with this code.
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
