//! Errors in scenarios: the key, the value found and the value expected.

use std::fmt;
use std::path::PathBuf;

use serde::de::{Expected, Unexpected};

use crate::text::{excerpt, excerpt_of_lines};

/// Reason for refusing a scenario. It prints as
/// ``FILE: link[0].rate = "fast": expected a rate with its unit ...``.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ScenarioError {
    /// The scenario's file, if it came from one.
    pub file: Option<PathBuf>,
    /// The key at fault, such as `flow[2].traffic.rate`; empty for the document as a whole.
    pub key: String,
    /// The problem with it.
    pub problem: Problem,
}

/// A problem with a key.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Problem {
    /// There is no such key.
    UnknownKey {
        /// The keys there are.
        expected: Vec<String>,
    },
    /// An unused variable.
    UnusedVariable {
        /// The variables that are used.
        used: Vec<String>,
    },
    /// A required key is missing.
    Missing {
        /// The value expected, if known.
        expected: String,
    },
    /// The value of a key is invalid.
    Invalid {
        /// The value, as JSON; empty until it is known.
        value: String,
        /// The value expected.
        expected: String,
    },
    /// The text is neither TOML nor JSON, or the file cannot be read.
    Unreadable {
        /// The message of the parser or the operating system.
        message: String,
    },
}

impl ScenarioError {
    /// The value of `key` is invalid.
    pub fn invalid(key: impl Into<String>, value: impl fmt::Display, expected: impl Into<String>) -> Self {
        let problem = Problem::Invalid { value: excerpt(&value.to_string()), expected: expected.into() };
        Self { file: None, key: key.into(), problem }
    }

    /// The variable of that name is unused; `used` are those in use.
    pub fn unused_variable(name: &str, used: Vec<String>) -> Self {
        Self { file: None, key: format!("variables.{name}"), problem: Problem::UnusedVariable { used } }
    }

    /// `key` is missing.
    pub fn missing(key: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { file: None, key: key.into(), problem: Problem::Missing { expected: expected.into() } }
    }

    /// The text or the file cannot be read.
    pub fn unreadable(message: impl fmt::Display) -> Self {
        Self {
            file: None,
            key: String::new(),
            problem: Problem::Unreadable { message: excerpt_of_lines(message.to_string().trim_end()) },
        }
    }

    /// The same, in a scenario file.
    pub fn in_file(mut self, file: Option<PathBuf>) -> Self {
        self.file = self.file.or(file);
        self
    }

    /// The same, with the key prefixed by `outer`.
    pub fn within(mut self, outer: &str) -> Self {
        if self.key.is_empty() {
            self.key = outer.to_owned();
        } else if self.key.starts_with('[') {
            self.key = format!("{outer}{}", self.key);
        } else {
            self.key = format!("{outer}.{}", self.key);
        }
        self
    }

    /// The same, with the value that caused it unless one is known already.
    pub fn with_value(mut self, found: &serde_json::Value) -> Self {
        if let Problem::Invalid { value, .. } = &mut self.problem
            && value.is_empty()
        {
            *value = excerpt(&found.to_string());
        }
        self
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(file) = &self.file {
            write!(f, "{}: ", file.display())?;
        }
        let key = if self.key.is_empty() { "the scenario".to_owned() } else { excerpt(&self.key) };
        match &self.problem {
            Problem::UnknownKey { expected } => {
                write!(f, "{key}: unknown key, ")?;
                let last = key.rsplit('.').next().unwrap_or(&key);
                match nearest(last, expected) {
                    Some(guess) => write!(f, "did you mean `{guess}`? Expected {}", Alternatives(expected)),
                    None => write!(f, "expected {}", Alternatives(expected)),
                }
            }
            Problem::UnusedVariable { used } => {
                write!(f, "{key}: nothing uses this variable, ")?;
                let last = key.rsplit('.').next().unwrap_or(&key);
                match nearest(last, used) {
                    Some(guess) => write!(f, "did you mean `{guess}`? Expected {}", Alternatives(used)),
                    None if used.is_empty() => write!(f, "expected \"${last}\" somewhere in the scenario"),
                    None => {
                        write!(f, "expected {}, or \"${last}\" somewhere in the scenario", Alternatives(used))
                    }
                }
            }
            Problem::Missing { expected } if expected.is_empty() => write!(f, "{key}: missing"),
            Problem::Missing { expected } => write!(f, "{key}: missing, expected {expected}"),
            Problem::Invalid { value, expected } => write!(f, "{key} = {value}: expected {expected}"),
            Problem::Unreadable { message } => f.write_str(message),
        }
    }
}

impl std::error::Error for ScenarioError {}

/// A list of alternatives in an error message.
pub(crate) fn one_of(alternatives: &[String]) -> String {
    Alternatives(alternatives).to_string()
}

struct Alternatives<'a>(&'a [String]);

impl fmt::Display for Alternatives<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [] => f.write_str("nothing here"),
            [only] => write!(f, "`{only}`"),
            many => write!(f, "one of {}", many.join(", ")),
        }
    }
}

/// The alternative that differs from `word` by at most two edits, if there is one.
fn nearest<'a>(word: &str, alternatives: &'a [String]) -> Option<&'a String> {
    alternatives
        .iter()
        .map(|candidate| (edit_distance(word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= 2 && *distance < candidate.len())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Levenshtein's distance: insertions, deletions and replacements of one character.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replace = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replace.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

fn owned(names: &'static [&'static str]) -> Vec<String> {
    names.iter().filter(|name| !name.starts_with('$')).map(|name| (*name).to_owned()).collect()
}

impl serde::de::Error for ScenarioError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::invalid("", "", message.to_string())
    }

    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::custom(expected)
    }

    fn invalid_value(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::custom(expected)
    }

    fn invalid_length(_: usize, expected: &dyn Expected) -> Self {
        Self::custom(expected)
    }

    fn unknown_variant(_: &str, expected: &'static [&'static str]) -> Self {
        let quoted: Vec<String> = owned(expected).iter().map(|name| format!("\"{name}\"")).collect();
        Self::custom(Alternatives(&quoted))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        Self { file: None, key: field.to_owned(), problem: Problem::UnknownKey { expected: owned(expected) } }
    }

    fn missing_field(field: &'static str) -> Self {
        Self::missing(field, "")
    }
}
