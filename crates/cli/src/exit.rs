//! How a command ends when it does not succeed.

/// How a command ends when it does not succeed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Somebody pressed Ctrl-C; what there was to say has been said.
    Interrupted,
    /// It could not be done.
    Because(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Because(error.into())
    }
}
