//! Notes for a reader of a run's results.

use whimbrel_units::Instant;

/// A line about a scenario or a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Note {
    /// Time from which it holds; `None` if it holds throughout.
    pub at: Option<Instant>,
    /// The key of the scenario, or the link, concerned.
    pub subject: String,
    /// The text, without commas and quotes, as it is an entry of a table.
    pub text: String,
}

impl Note {
    /// A note that holds throughout.
    pub fn of_plan(subject: &str, text: impl Into<String>) -> Self {
        Self::new(None, subject, text)
    }

    /// A note that holds from a time on.
    pub fn since(at: Instant, subject: &str, text: impl Into<String>) -> Self {
        Self::new(Some(at), subject, text)
    }

    fn new(at: Option<Instant>, subject: &str, text: impl Into<String>) -> Self {
        let text = text.into().replace(',', ";").replace('"', "'");
        Self { at, subject: subject.to_owned(), text }
    }
}
