//! The `[sweep]` of a scenario, as far as one run can check it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::error::ScenarioError;
use super::text::is_printable;

/// The settings of one value of a sweep: keys of the scenario and values.
type Settings = Vec<(String, Value)>;

/// The settings of each value of each key, with its key in `[sweep]`.
///
/// A key is the path of a value: `"link.radio.rate" = ["1 Mbit/s", "2 Mbit/s"]`. One without a dot is a name
/// for several that change together: `transport = [{ name = "tfrc", "flow.call.ccid" = 3 }, ...]`.
pub(super) fn settings(sweep: &BTreeMap<String, Value>) -> Result<Vec<(String, Settings)>, ScenarioError> {
    let lengths = sweep.values().map(|values| values.as_array().map_or(1, Vec::len));
    let combinations = lengths.fold(1, usize::saturating_mul);
    if combinations > MAX_COMBINATIONS {
        let expected = format!("at most {MAX_COMBINATIONS} combinations of values");
        return Err(ScenarioError::invalid("sweep", combinations, expected));
    }
    let mut all = Vec::new();
    for (key, values) in sweep {
        let place = format!("sweep.{key}");
        let Some(values) = values.as_array().filter(|values| !values.is_empty()) else {
            return Err(ScenarioError::invalid(place, values, "a list of at least one value"));
        };
        for (index, value) in values.iter().enumerate() {
            let place = format!("{place}[{index}]");
            let settings = match key.contains(['.', '[']) {
                true if value.as_str().is_some_and(|text| !is_case(text)) => {
                    return Err(ScenarioError::invalid(place, value, CASE));
                }
                true => vec![(key.clone(), value.clone())],
                false => together(&place, value)?,
            };
            all.push((place, settings));
        }
    }
    Ok(all)
}

/// The most combinations of a sweep.
const MAX_COMBINATIONS: usize = 100_000;

/// The values that name combinations.
const CASE: &str = "a text without control characters that does not begin as formulas of spreadsheets do (=, @, + or - without a digit)";

/// `true` if a text that names a combination can be a cell of a table, in which it is quoted where necessary.
fn is_case(text: &str) -> bool {
    let is_formula = match text.strip_prefix(['+', '-']) {
        Some(rest) => !rest.starts_with(|first: char| first.is_ascii_digit() || first == '.'),
        None => text.starts_with(['=', '@']),
    };
    !is_formula && text.chars().all(is_printable)
}

/// Several settings under one name.
fn together(place: &str, value: &Value) -> Result<Settings, ScenarioError> {
    let table = value.as_object().filter(|table| table.get("name").is_some_and(Value::is_string));
    let name = table.and_then(|table| table["name"].as_str());
    if let Some(name) = name.filter(|name| !is_case(name)) {
        return Err(ScenarioError::invalid(format!("{place}.name"), Value::from(name), CASE));
    }
    let Some(table) = table else {
        let expected = "a table with a `name` and the keys that it sets, such as { name = \"tcp\", \
                        \"flow.call.transport\" = \"tcp\" }; a single key has a dot in it";
        return Err(ScenarioError::invalid(place, value, expected));
    };
    Ok(table
        .iter()
        .filter(|(key, _)| *key != "name")
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect())
}
