//! Completion of a scenario's text by the schema of scenarios.
//!
//! Proposals are the keys of the table at the cursor, the values of an enumeration, and headers of tables.

use serde::Serialize;
use serde_json::Value;

use crate::schema::{self, Form};

mod cursor;

use cursor::{Cursor, Expected, Known};

/// Proposals for a part of the text.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize)]
pub struct Completion {
    /// Beginning and end of the part that a proposal replaces, in UTF-16 code units, as a browser counts.
    pub span: [usize; 2],
    /// The text behind a chosen proposal: an equals sign behind a key, if the text has none.
    pub after: &'static str,
    /// The proposals, in the order of their names.
    pub proposals: Vec<Proposal>,
}

/// A proposal.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Proposal {
    /// The key, value or table, as TOML.
    pub text: String,
    /// Its description or title in the schema; empty without one.
    pub about: String,
}

/// The proposals for a place of a text, in UTF-16 code units. The part of a word before the place selects.
///
/// The text need not be valid TOML.
pub fn completion(text: &str, place: usize, schema: &Value) -> Completion {
    let end = bytes(text, place);
    let Some(cursor) = Cursor::at(text, end) else { return Completion::default() };
    let mut proposals = match cursor.expected {
        Expected::Table => tables(schema),
        Expected::Key => keys(schema, &cursor),
        Expected::Value => values(schema, &cursor),
    };
    let written = text[cursor.start..end].trim_start_matches(['"', '\'']).to_lowercase();
    let is_open =
        |proposal: &Proposal| proposal.text.trim_start_matches('"').to_lowercase().starts_with(&written);
    proposals.retain(is_open);
    // Numbers by their value.
    proposals.sort_by_cached_key(|proposal| (proposal.text.parse::<u64>().ok(), proposal.text.clone()));
    proposals.dedup_by(|next, one| next.text == one.text);
    // The rest of a word behind the place is replaced as well.
    let rest = &text[end..];
    let rest = rest.find(|character: char| !is_of_word(character, cursor.expected)).unwrap_or(rest.len());
    let has_value = text[end + rest..].trim_start_matches(' ').starts_with('=');
    let after = if cursor.expected == Expected::Key && !has_value { " = " } else { "" };
    Completion { span: [units(&text[..cursor.start]), units(&text[..end + rest])], after, proposals }
}

fn is_of_word(character: char, expected: Expected) -> bool {
    let is_bracket = matches!(character, '[' | ']') && expected == Expected::Table;
    character.is_alphanumeric() || matches!(character, '_' | '-' | '"' | '\'') || is_bracket
}

/// Headers of tables.
fn tables(schema: &Value) -> Vec<Proposal> {
    let mut found = Vec::new();
    for (name, part) in schema::properties(schema, schema, &Known::new()) {
        let header = match schema::form(schema, part) {
            Some(Form::Tables) => format!("[[{name}]]"),
            Some(Form::Table) => format!("[{name}]"),
            None => continue,
        };
        found.push(Proposal { text: header, about: schema::about(part) });
    }
    found
}

/// Keys of the table that it has not yet.
fn keys(schema: &Value, cursor: &Cursor) -> Vec<Proposal> {
    let mut found = Vec::new();
    for table in schema::at(schema, &cursor.path, &cursor.known) {
        let known = cursor.known.last().cloned().unwrap_or_default();
        for (name, part) in schema::properties(schema, table, &known) {
            // A table that has a header of its own is not written as a key.
            let is_table = cursor.path.is_empty() && schema::form(schema, part).is_some();
            if !known.contains_key(name) && !is_table {
                found.push(Proposal { text: name.to_owned(), about: schema::about(part) });
            }
        }
    }
    found
}

/// Values of an enumeration.
fn values(schema: &Value, cursor: &Cursor) -> Vec<Proposal> {
    let mut found = Vec::new();
    for part in schema::at(schema, &cursor.path, &cursor.known) {
        schema::each(schema, part, &mut |part| {
            let values = schema::constants(part).map(Value::to_string);
            let is_boolean = part.get("type").and_then(Value::as_str) == Some("boolean");
            let booleans = ["true", "false"].map(str::to_owned).into_iter().filter(|_| is_boolean);
            found.extend(values.chain(booleans).map(|text| Proposal { text, about: schema::about(part) }));
        });
    }
    found
}

/// The bytes before a place in UTF-16 code units.
fn bytes(text: &str, place: usize) -> usize {
    let mut left = place;
    let before = text.chars().take_while(|character| {
        let fits = character.len_utf16() <= left;
        left = left.saturating_sub(character.len_utf16());
        fits
    });
    before.map(char::len_utf8).sum()
}

fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

#[cfg(test)]
mod tests;
