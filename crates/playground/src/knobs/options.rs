//! The values that the schema of scenarios has for a key.

use serde_json::Value;

use super::Choice;

/// The values of a key; empty if there are no fixed ones.
pub(super) fn options(schema: &Value, path: &[&str]) -> Vec<Choice> {
    let mut places = vec![schema];
    for name in path {
        let mut next = Vec::new();
        for place in places {
            each(schema, place, &mut |part| {
                next.extend(part.get("properties").and_then(|all| all.get(name)))
            });
        }
        places = next;
    }
    let mut found: Vec<Choice> = Vec::new();
    for place in places {
        each(schema, place, &mut |part| {
            let values = part.get("enum").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            for value in values.iter().chain(part.get("const")).filter(|value| !value.is_null()) {
                // A string or an integer of JSON is one of TOML.
                let title = part.get("title").or(Some(value)).and_then(Value::as_str);
                let choice = Choice(value.to_string(), title.unwrap_or_default().to_owned());
                if !found.contains(&choice) {
                    found.push(choice);
                }
            }
        });
    }
    found
}

/// Calls `visit` for a part of a schema, what it refers to, its alternatives and the items of its lists.
fn each<'a>(schema: &'a Value, part: &'a Value, visit: &mut impl FnMut(&'a Value)) {
    visit(part);
    if let Some(target) = part.get("$ref").and_then(Value::as_str)
        && let Some(found) = schema.pointer(target.trim_start_matches('#'))
    {
        each(schema, found, visit);
    }
    for key in ["anyOf", "oneOf"] {
        for alternative in part.get(key).and_then(Value::as_array).into_iter().flatten() {
            each(schema, alternative, visit);
        }
    }
    if let Some(items) = part.get("items") {
        each(schema, items, visit);
    }
}
