//! Reading the JSON schema of scenarios.

use std::collections::BTreeMap;

use serde_json::Value;

/// Calls `visit` for a part of a schema, what it refers to, its alternatives and the items of its lists.
pub(crate) fn each<'a>(schema: &'a Value, part: &'a Value, visit: &mut impl FnMut(&'a Value)) {
    each_that(schema, part, &|_| true, visit);
}

/// The same without the alternatives that `fits` refuses.
fn each_that<'a>(
    schema: &'a Value,
    part: &'a Value,
    fits: &impl Fn(&'a Value) -> bool,
    visit: &mut impl FnMut(&'a Value),
) {
    if !fits(part) {
        return;
    }
    visit(part);
    if let Some(target) = part.get("$ref").and_then(Value::as_str)
        && let Some(found) = schema.pointer(target.trim_start_matches('#'))
    {
        each_that(schema, found, fits, visit);
    }
    for key in ["anyOf", "oneOf"] {
        for alternative in part.get(key).and_then(Value::as_array).into_iter().flatten() {
            each_that(schema, alternative, fits, visit);
        }
    }
    if let Some(items) = part.get("items") {
        each_that(schema, items, fits, visit);
    }
}

/// The constant values of a part of a schema itself.
pub(crate) fn constants(part: &Value) -> impl Iterator<Item = &Value> {
    let values = part.get("enum").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    values.iter().chain(part.get("const")).filter(|value| !value.is_null())
}

/// The keys of a table with their parts of the schema.
///
/// Alternatives are left out if their constants differ from the `known` values of the table.
pub(crate) fn properties<'a>(
    schema: &'a Value,
    table: &'a Value,
    known: &BTreeMap<String, String>,
) -> Vec<(&'a str, &'a Value)> {
    let fits = |part: &'a Value| {
        known.iter().all(|(key, value)| {
            let Some(property) = part.get("properties").and_then(|all| all.get(key)) else { return true };
            property.get("const").and_then(Value::as_str).is_none_or(|constant| constant == value)
        })
    };
    let mut found = Vec::new();
    each_that(schema, table, &fits, &mut |part| {
        let properties = part.get("properties").and_then(Value::as_object);
        found.extend(properties.into_iter().flatten().map(|(name, part)| (name.as_str(), part)));
    });
    found
}

/// The parts of the schema at the end of a path.
///
/// `known` has the values of the tables on the way, the root first.
pub(crate) fn at<'a>(
    schema: &'a Value,
    path: &[impl AsRef<str>],
    known: &[BTreeMap<String, String>],
) -> Vec<&'a Value> {
    let nothing = BTreeMap::new();
    let mut places = vec![schema];
    for (depth, name) in path.iter().enumerate() {
        let known = known.get(depth).unwrap_or(&nothing);
        let all = places.into_iter().flat_map(|place| properties(schema, place, known));
        places = all.filter(|(key, _)| *key == name.as_ref()).map(|(_, part)| part).collect();
    }
    places
}

/// The form of a value that is written with a header.
pub(crate) enum Form {
    /// A table.
    Table,
    /// A list of tables.
    Tables,
}

/// The form of a part whose values are tables only; otherwise nothing.
pub(crate) fn form<'a>(schema: &'a Value, part: &'a Value) -> Option<Form> {
    let (mut is_table, mut is_list, mut is_plain) = (false, false, false);
    each(schema, part, &mut |part| match part.get("type").and_then(Value::as_str) {
        Some("array") => is_list = true,
        Some("object") => is_table = true,
        Some(_) => is_plain = part.get("pattern").is_none(),
        None => {}
    });
    match (is_list, is_table) {
        (true, true) => Some(Form::Tables),
        (false, true) if !is_plain => Some(Form::Table),
        _ => None,
    }
}

/// The first sentence of a part's description, or its title; empty without either.
pub(crate) fn about(part: &Value) -> String {
    let text = part.get("description").or(part.get("title")).and_then(Value::as_str).unwrap_or_default();
    let sentence = text.split_once(". ").map_or(text, |(sentence, _)| sentence);
    sentence.split("\n\n").next().unwrap_or_default().replace('\n', " ").trim_end_matches('.').to_owned()
}
