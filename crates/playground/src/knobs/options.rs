//! The values that the schema of scenarios has for a key.

use serde_json::Value;

use super::Choice;
use crate::schema;

/// The values of a key; empty if there are no fixed ones.
pub(super) fn options(schema: &Value, path: &[&str]) -> Vec<Choice> {
    let mut found: Vec<Choice> = Vec::new();
    for place in schema::at(schema, path, &[]) {
        schema::each(schema, place, &mut |part| {
            for value in schema::constants(part) {
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
