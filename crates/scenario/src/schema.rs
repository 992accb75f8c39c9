//! The JSON schema of scenarios, for editors and for programs that write scenarios.

use serde_json::{Map, Value, json};

use schemars::generate::SchemaSettings;

use super::Scenario;
use super::transport::Transports;

/// The JSON schema of scenarios with these transports.
///
/// The schema is derived from the types that decode a scenario, and then allows what decoding allows besides:
/// `"$NAME"` in the place of any value, and a plain string for a variant that needs nothing else.
pub fn schema(transports: &impl Transports) -> Value {
    let mut generator = SchemaSettings::default().into_generator();
    let mut keys = Map::new();
    for kind in transports.kinds() {
        let mut of_kind = kind.schema(&mut generator).to_value();
        if let Some(Value::Object(properties)) = of_kind.get_mut("properties") {
            keys.append(properties);
        }
    }
    let mut schema = generator.into_root_schema_for::<Scenario>().to_value();
    if let Some(definitions) = schema.get_mut("$defs").and_then(Value::as_object_mut) {
        let variant = |name: &str, description: &str| json!({ "description": description, "type": "string", "const": name });
        let variants: Vec<Value> =
            transports.kinds().iter().map(|kind| variant(kind.name(), kind.description())).collect();
        let transport = json!({ "description": "The transport of a flow.", "oneOf": variants });
        definitions.insert("Transport".to_owned(), transport);
        if let Some(Value::Object(properties)) =
            definitions.get_mut("Flow").and_then(|flow| flow.get_mut("properties"))
        {
            properties.append(&mut keys);
            let description = properties["transport"].get("description").cloned().unwrap_or_default();
            properties["transport"] = json!({ "$ref": "#/$defs/Transport", "description": description });
        }
    }
    allow(&mut schema);
    if let Some(definitions) = schema.get_mut("$defs").and_then(Value::as_object_mut) {
        definitions.insert(
            "Variable".to_owned(),
            json!({ "type": "string", "pattern": "^\\$.+", "description": "The value of that name in [variables]." }),
        );
    }
    schema
}

fn allow(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(allow),
        Value::Object(table) => {
            table.values_mut().for_each(allow);
            if let Some(Value::Object(properties)) = table.get_mut("properties") {
                for (key, property) in properties.iter_mut() {
                    // Tags are constants, and variables do not refer to each other.
                    if property.get("const").is_none() && key != "variables" {
                        or_variable(property);
                    }
                }
            }
            if let Some(items) = table.get_mut("items") {
                or_variable(items);
            }
            if let Some(Value::Array(variants)) = table.get_mut("oneOf") {
                let plain: Vec<Value> = variants.iter().filter_map(shorthand).collect();
                variants.extend(plain);
            }
        }
        _ => {}
    }
}

/// The same schema, or a variable; a description stays outside, where editors look for it.
fn or_variable(schema: &mut Value) {
    let mut original = std::mem::take(schema);
    let mut wrapped = Map::new();
    if let Some(description) = original.as_object_mut().and_then(|table| table.remove("description")) {
        wrapped.insert("description".to_owned(), description);
    }
    wrapped.insert("anyOf".to_owned(), json!([original, { "$ref": "#/$defs/Variable" }]));
    *schema = Value::Object(wrapped);
}

/// The plain string that stands for a variant of which only the tag is required.
fn shorthand(variant: &Value) -> Option<Value> {
    let [tag] = variant.get("required")?.as_array()?.as_slice() else { return None };
    let name = variant.get("properties")?.get(tag.as_str()?)?.get("const")?;
    Some(json!({ "const": name, "description": variant.get("description")? }))
}
