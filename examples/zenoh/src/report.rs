//! Lines on standard error.

use std::fmt::Display;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};

/// Letters of a peer's text that are shown.
const SHOWN: usize = 80;

/// Writes a line. A closed standard error is no reason to end.
#[allow(clippy::disallowed_methods, reason = "control characters are escaped")]
pub(crate) fn say(line: impl Display) {
    let mut text = String::from("whimbrel-zenoh: ");
    for letter in line.to_string().chars() {
        match letter.is_control() {
            true => text.extend(letter.escape_default()),
            false => text.push(letter),
        }
    }
    text.push('\n');
    let _ = std::io::stderr().write_all(text.as_bytes());
}

/// A text that may come from elsewhere, in quotation marks and of limited length.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}...", &text[..end]),
    }
}

/// A count of what is not carried. The first is reported, and then every power of two.
#[derive(Debug)]
pub(crate) struct Tally {
    what: &'static str,
    count: AtomicU64,
}

impl Tally {
    pub(crate) fn new(what: &'static str) -> Self {
        Self { what, count: AtomicU64::new(0) }
    }

    pub(crate) fn add(&self, reason: &anyhow::Error) {
        let count = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        if count.is_power_of_two() {
            say(format_args!("{}: {count} so far, the last one: {reason:#}", self.what));
        }
    }

    pub(crate) fn total(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_between_letters() {
        assert_eq!(shortened("a\n"), r#""a\n""#);
        let longest = "é".repeat(SHOWN);
        assert_eq!(shortened(&longest), format!("\"{longest}\""));
        assert_eq!(shortened(&format!("{longest}a")), format!("\"{longest}\"..."));
    }
}
