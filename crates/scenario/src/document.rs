//! The text of a scenario: read, changed by overrides, and decoded.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::decode::decode;
use super::error::ScenarioError;
use super::files::Files;
use super::transport::{self, TransportKind, Transports};
use super::{Plan, Scenario, idle, sweep, text};

/// A scenario as tables of values, before decoding.
#[derive(Clone, Debug)]
pub struct Document<T> {
    transports: T,
    root: Value,
    file: Option<PathBuf>,
    /// The files that the scenario names.
    files: Files,
    /// The keys that were set, with positions for names.
    settings: BTreeSet<String>,
    /// The variables that the text used before any override.
    used_as_written: BTreeSet<String>,
}

impl<T: Transports> Document<T> {
    /// Reads a file: JSON where its name ends in `.json`, else TOML.
    pub fn from_file(file: impl AsRef<Path>) -> Result<Self, ScenarioError> {
        let file = file.as_ref();
        let named = |error: ScenarioError| error.in_file(Some(file.to_owned()));
        let text = text::read(file, text::MAX_SCENARIO_BYTES);
        let text = text.map_err(|error| named(ScenarioError::unreadable(error)))?;
        let json = file.extension().is_some_and(|extension| extension == "json");
        let mut document =
            if json { Self::from_json(&text) } else { Self::from_toml(&text) }.map_err(named)?;
        document.files = Files::on_disk().relative_to(file.parent().unwrap_or(Path::new("")));
        document.file = Some(file.to_owned());
        Ok(document)
    }

    /// Reads TOML. Relative file names in it start in the working directory, unless [`Document::relative_to`]
    /// says otherwise.
    pub fn from_toml(text: &str) -> Result<Self, ScenarioError> {
        let table: toml::Table = text.parse().map_err(ScenarioError::unreadable)?;
        let root = json_value(toml::Value::Table(table)).map_err(|error| error.in_file(None))?;
        Ok(Self::of(root))
    }

    /// Reads JSON. Relative file names in it start in the working directory, unless [`Document::relative_to`]
    /// says otherwise.
    pub fn from_json(text: &str) -> Result<Self, ScenarioError> {
        let root: Value = serde_json::from_str(text).map_err(ScenarioError::unreadable)?;
        if !root.is_object() {
            return Err(ScenarioError::invalid("", &root, "a table (a JSON object)"));
        }
        Ok(Self::of(root))
    }

    /// The scenario without its `[sweep]`, for one of the combinations.
    pub fn without_sweep(mut self) -> Self {
        if let Value::Object(tables) = &mut self.root {
            tables.remove("sweep");
        }
        self
    }

    fn of(root: Value) -> Self {
        let mut used_as_written = BTreeSet::new();
        find_variables(&root, &mut used_as_written);
        Self {
            transports: T::default(),
            root,
            file: None,
            files: Files::on_disk(),
            settings: BTreeSet::new(),
            used_as_written,
        }
    }

    /// The same text with these transports.
    pub fn with_transports(self, transports: T) -> Self {
        Self { transports, ..self }
    }

    /// Resolves relative file names in the scenario from `directory`.
    pub fn relative_to(self, directory: impl Into<PathBuf>) -> Self {
        Self { files: self.files.relative_to(directory), ..self }
    }

    /// Takes the files that the scenario names from there.
    pub fn with_files(self, files: Files) -> Self {
        Self { files, ..self }
    }

    /// Sets one value: `link.bottleneck.rate` or `link[0].rate`, `simulation.duration`, ...
    ///
    /// Tables in lists are named by position or by their `name`. `text` is a TOML value, or a plain
    /// string otherwise, so that `1 Mbit/s` needs no quotes.
    ///
    /// A flow that gets another `transport` loses the keys of the old one (`ccid`, `classifier`, `dccp` or
    /// `tcp`), except those set before.
    pub fn set(&mut self, key: &str, text: &str) -> Result<(), ScenarioError> {
        let value = match format!("value = {text}").parse::<toml::Table>() {
            Ok(mut table) if table.len() == 1 => match table.remove("value") {
                Some(value) => json_value(value).map_err(|error| error.within(key))?,
                None => Value::String(text.to_owned()),
            },
            _ => Value::String(text.to_owned()),
        };
        self.set_value(key, value)
    }

    /// Sets one value, like [`Document::set`], without parsing it.
    pub fn set_value(&mut self, key: &str, value: Value) -> Result<(), ScenarioError> {
        let file = self.file.clone();
        let (slot, place) = locate(&mut self.root, key).map_err(|error| error.in_file(file))?;
        if *slot != value
            && let Some(flow) = place.strip_suffix(".transport").filter(|place| place.starts_with("flow."))
        {
            let kinds = self.transports.kinds();
            let is_chosen = |kind: &&&dyn TransportKind<_>| value.as_str() == Some(kind.name());
            let own = kinds.iter().find(is_chosen).map_or(&[][..], |kind| kind.keys());
            let others = kinds.iter().flat_map(|kind| kind.keys()).filter(|key| !own.contains(key));
            let foreign: Vec<String> = others.map(|&key| key.to_owned()).collect();
            *slot = value;
            self.forget(flow, &foreign);
        } else {
            *slot = value;
        }
        self.settings.insert(place);
        Ok(())
    }

    /// Removes keys of a table, unless they were set.
    fn forget(&mut self, table: &str, keys: &[String]) {
        for key in keys {
            let place = format!("{table}.{key}");
            let within = format!("{place}.");
            if self.settings.iter().any(|set| *set == place || set.starts_with(&within)) {
                continue;
            }
            if let Ok((Value::Object(table), _)) = locate(&mut self.root, table) {
                table.remove(key);
            }
        }
    }

    /// The values, with variables still by name.
    pub fn as_json(&self) -> &Value {
        &self.root
    }

    /// The values of one run, with variables substituted and without `[variables]` and `[sweep]`.
    ///
    /// # Errors
    /// Names the variable that is unknown or unused.
    pub fn resolved(&self) -> Result<Value, ScenarioError> {
        let mut root = self.substituted().map_err(|error| error.in_file(self.file.clone()))?;
        if let Value::Object(tables) = &mut root {
            tables.remove("variables");
            tables.remove("sweep");
        }
        Ok(root)
    }

    /// Decodes the values.
    ///
    /// # Errors
    /// Names the key at fault, which may be one of `[sweep]`, whose settings are tried one by one, or an
    /// unused variable.
    pub fn scenario(&self) -> Result<Scenario, ScenarioError> {
        let scenario = self.decoded().map_err(|error| error.in_file(self.file.clone()))?;
        // Each setting is tried on a copy, which need not contain all of them.
        let one = Self { file: None, ..self.clone() }.without_sweep();
        for (key, settings) in
            sweep::settings(&scenario.sweep).map_err(|error| error.in_file(self.file.clone()))?
        {
            let mut changed = one.clone();
            let tried = settings.into_iter().try_for_each(|(key, value)| changed.set_value(&key, value));
            tried
                .and_then(|()| changed.decoded().map(drop))
                .map_err(|error| error.within(&key).in_file(self.file.clone()))?;
        }
        Ok(scenario)
    }

    fn decoded(&self) -> Result<Scenario, ScenarioError> {
        let mut root = self.substituted()?;
        let settings = transport::split(&self.transports, &mut root);
        let decoded = decode::<Scenario>(&root);
        let mut scenario = decoded.map_err(|error| transport::explain(&self.transports, error))?;
        for (index, (flow, settings)) in scenario.flow.iter_mut().zip(settings).enumerate() {
            transport::check(&self.transports, &flow.transport, &settings)
                .map_err(|error| error.within(&format!("flow[{index}]")))?;
            flow.settings = settings;
        }
        Ok(scenario)
    }

    /// The values, with variables substituted.
    fn substituted(&self) -> Result<Value, ScenarioError> {
        let mut root = self.root.clone();
        let variables = match root.get("variables") {
            Some(Value::Object(variables)) => variables.clone(),
            _ => Map::new(),
        };
        let mut used = BTreeSet::new();
        substitute(&mut root, &variables, &mut used)?;
        // An override may have removed the only use of a variable, which is no error.
        let is_unused = |name: &&String| !used.contains(*name) && !self.used_as_written.contains(*name);
        match variables.keys().find(is_unused) {
            Some(unused) => Err(ScenarioError::unused_variable(unused, used.into_iter().collect())),
            None => Ok(root),
        }
    }

    /// Decodes and checks the values and reads the files that they name.
    pub fn plan(&self) -> Result<Plan<T::Plan>, ScenarioError> {
        let scenario = self.scenario()?;
        let mut plan = Plan::new(&self.transports, &scenario, &self.files)
            .map_err(|error| error.in_file(self.file.clone()))?;
        plan.notes.extend(idle::notes(&self.transports, &self.substituted()?));
        Ok(plan)
    }
}

/// Converts a TOML value to JSON; dates are refused.
fn json_value(value: toml::Value) -> Result<Value, ScenarioError> {
    Ok(match value {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => serde_json::Number::from_f64(number)
            .map(Value::Number)
            .ok_or_else(|| ScenarioError::invalid("", number, "a finite number"))?,
        toml::Value::Boolean(value) => Value::Bool(value),
        toml::Value::Datetime(date) => {
            return Err(ScenarioError::invalid("", date, "a number, a string or a table, not a date"));
        }
        toml::Value::Array(items) => items
            .into_iter()
            .enumerate()
            .map(|(index, item)| json_value(item).map_err(|error| error.within(&format!("[{index}]"))))
            .collect::<Result<_, _>>()?,
        toml::Value::Table(table) => table
            .into_iter()
            .map(|(key, item)| match json_value(item) {
                Ok(item) => Ok((key, item)),
                Err(error) => Err(error.within(&key)),
            })
            .collect::<Result<Map<_, _>, _>>()?
            .into(),
    })
}

/// Replaces every string `"$NAME"` by the variable of that name, and adds these names to `used`.
fn substitute(
    value: &mut Value,
    variables: &Map<String, Value>,
    used: &mut BTreeSet<String>,
) -> Result<(), ScenarioError> {
    match value {
        Value::String(text) => {
            if let Some(name) = text.strip_prefix('$') {
                let Some(replacement) = variables.get(name) else {
                    let known: Vec<&str> = variables.keys().map(String::as_str).collect();
                    let expected = if known.is_empty() {
                        "the scenario to have [variables]".to_owned()
                    } else {
                        format!("a variable: {}", known.join(", "))
                    };
                    return Err(ScenarioError::invalid("", Value::String(text.clone()), expected));
                };
                used.insert(name.to_owned());
                *value = replacement.clone();
            }
            Ok(())
        }
        Value::Array(items) => items.iter_mut().enumerate().try_for_each(|(index, item)| {
            substitute(item, variables, used).map_err(|error| error.within(&format!("[{index}]")))
        }),
        // Variables hold plain values: they do not refer to each other.
        Value::Object(table) => table
            .iter_mut()
            .filter(|(key, _)| *key != "variables")
            .try_for_each(|(key, item)| substitute(item, variables, used).map_err(|error| error.within(key))),
        _ => Ok(()),
    }
}

/// Adds the names of all variables in `value` to `names`.
fn find_variables(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => names.extend(text.strip_prefix('$').map(str::to_owned)),
        Value::Array(items) => items.iter().for_each(|item| find_variables(item, names)),
        Value::Object(table) => {
            table
                .iter()
                .filter(|(key, _)| *key != "variables")
                .for_each(|(_, item)| find_variables(item, names));
        }
        _ => {}
    }
}

/// The value at `key`, and that key with positions for names. A missing last key is added, and missing tables
/// above it are made.
fn locate<'a>(root: &'a mut Value, key: &str) -> Result<(&'a mut Value, String), ScenarioError> {
    let mut value = root;
    let mut done = String::new();
    let mut place = String::new();
    for part in key.split(['.', '[']) {
        let name = part.trim_end_matches(']').trim_matches('"');
        if name.is_empty() {
            return Err(ScenarioError::invalid(
                key,
                "\"\"",
                "a key such as `link.bottleneck.rate` or `link[0].rate`",
            ));
        }
        if !place.is_empty() {
            place.push('.');
        }
        value = match value {
            Value::Array(items) => {
                let position = name.parse().ok().filter(|index| *index < items.len()).or_else(|| {
                    items
                        .iter()
                        .position(|item| item.get("name").is_some_and(|found| found.as_str() == Some(name)))
                });
                match position {
                    Some(position) => {
                        place.push_str(&position.to_string());
                        &mut items[position]
                    }
                    None => {
                        let names: Vec<&str> = items
                            .iter()
                            .filter_map(|item| item.get("name").and_then(Value::as_str))
                            .collect();
                        let expected =
                            format!("a position below {} or a name: {}", items.len(), names.join(", "));
                        return Err(ScenarioError::invalid(done, format!("\"{name}\""), expected));
                    }
                }
            }
            Value::Object(table) => {
                place.push_str(name);
                table.entry(name).or_insert_with(|| Value::Object(Map::new()))
            }
            other => {
                let found = other.to_string();
                return Err(ScenarioError::invalid(done, found, format!("a table with the key `{name}`")));
            }
        };
        if !done.is_empty() {
            done.push('.');
        }
        done.push_str(name);
    }
    Ok((value, place))
}
