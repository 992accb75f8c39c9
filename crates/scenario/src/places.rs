//! Places of keys in the TOML of a scenario, for editors.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::ScenarioError;

/// Places of the keys of a text.
#[derive(Debug)]
pub struct Places<'a> {
    root: Spanned<DeTable<'a>>,
}

/// A part of the document on the way to a key.
#[derive(Clone, Copy)]
enum Part<'a> {
    Table(&'a DeTable<'a>),
    Items(&'a [Spanned<DeValue<'a>>]),
    Plain,
}

impl<'a> Places<'a> {
    /// The places in a text; `None` if it is not TOML.
    pub fn parse(text: &'a str) -> Option<Self> {
        DeTable::parse(text).ok().map(|root| Self { root })
    }

    /// The bytes of the value of `key`, such as `link[0].rate` or `link.radio.rate`.
    pub fn value(&self, key: &str) -> Option<Range<usize>> {
        let (mut part, mut span) = (Part::Table(self.root.get_ref()), None);
        for name in names(key) {
            let (_, value) = step(part, name)?;
            (part, span) = (Part::of(value), Some(value.span()));
        }
        span
    }

    /// The first byte of `key`, or of the innermost table on the way to a missing one.
    fn start(&self, key: &str) -> usize {
        let (mut part, mut start) = (Part::Table(self.root.get_ref()), 0);
        for name in names(key) {
            let Some((place, value)) = step(part, name) else { break };
            (part, start) = (Part::of(value), place);
        }
        start
    }
}

/// The line of a text, from 1 on, that has an error.
pub fn line_of(text: &str, error: &ScenarioError) -> usize {
    let start = match DeTable::parse(text) {
        Ok(root) => Places { root }.start(&error.key),
        Err(error) => error.span().map_or(0, |span| span.start),
    };
    1 + text.bytes().take(start).filter(|byte| *byte == b'\n').count()
}

impl<'a> Part<'a> {
    fn of(value: &'a Spanned<DeValue<'a>>) -> Self {
        match value.get_ref() {
            DeValue::Table(table) => Self::Table(table),
            DeValue::Array(items) => Self::Items(items),
            _ => Self::Plain,
        }
    }
}

/// The parts of a key.
fn names(key: &str) -> impl Iterator<Item = &str> {
    key.split(['.', '['])
        .map(|part| part.trim_end_matches(']').trim_matches('"'))
        .filter(|part| !part.is_empty())
}

/// The entry of that name, or at that position, and its first byte.
fn step<'a>(part: Part<'a>, name: &str) -> Option<(usize, &'a Spanned<DeValue<'a>>)> {
    match part {
        Part::Table(table) => {
            let (key, value) = table.iter().find(|(key, _)| key.get_ref().as_ref() == name)?;
            Some((key.span().start, value))
        }
        Part::Items(items) => {
            let position = name.parse().ok().or_else(|| items.iter().position(|item| is_named(item, name)));
            let item = items.get(position?)?;
            Some((item.span().start, item))
        }
        Part::Plain => None,
    }
}

/// `true` if a table has that `name`.
fn is_named(item: &Spanned<DeValue<'_>>, name: &str) -> bool {
    let found = step(Part::of(item), "name").map(|(_, value)| value.get_ref());
    matches!(found, Some(DeValue::String(text)) if text.as_ref() == name)
}

#[cfg(test)]
mod tests;
