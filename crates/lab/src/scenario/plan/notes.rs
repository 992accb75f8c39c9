//! What a reader of a run's results should know and would not ask for.

use whimbrel_units::Instant;

/// A line about a scenario or a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Note {
    /// When it became so; none of what holds throughout.
    pub at: Option<Instant>,
    /// The key of the scenario, or the link, that it is about.
    pub subject: String,
    /// What there is to know; without commas and quotes, as it is an entry of a table.
    pub text: String,
}

impl Note {
    /// What holds throughout.
    pub(crate) fn of_plan(subject: &str, text: impl Into<String>) -> Self {
        Self::new(None, subject, text)
    }

    /// What became so at a time.
    pub(crate) fn since(at: Instant, subject: &str, text: impl Into<String>) -> Self {
        Self::new(Some(at), subject, text)
    }

    fn new(at: Option<Instant>, subject: &str, text: impl Into<String>) -> Self {
        let text = text.into().replace(',', ";").replace('"', "'");
        Self { at, subject: subject.to_owned(), text }
    }
}
