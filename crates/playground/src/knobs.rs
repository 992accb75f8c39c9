//! Values of a scenario that the page offers as sliders and lists, with their places in its text.

use std::collections::BTreeSet;
use std::ops::Range;

use serde::Serialize;
use serde_json::Value;
use whimbrel_lab::scenario::places::Places;

mod options;

use options::options;

/// The most values that are offered.
const MOST: usize = 16;
/// Links without a name are offered up to this number of links.
const FEW_LINKS: usize = 2;

/// A value that can be changed.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Knob {
    /// Its label.
    pub label: String,
    /// Beginning and end of the value in the text, in UTF-16 code units, as a browser counts.
    pub span: [usize; 2],
    /// The ways to change it.
    #[serde(flatten)]
    pub kind: Kind,
}

/// A way to change a value.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum Kind {
    /// A number on a scale.
    Number {
        /// The number.
        value: f64,
        /// Its unit, within quotes; empty for a plain number.
        unit: String,
        /// Least and greatest value, and the step between two.
        scale: [f64; 3],
    },
    /// One of several values.
    Choice {
        /// The value, as TOML.
        value: String,
        /// All values.
        options: Vec<Choice>,
    },
}

/// A value as TOML, and its name for people.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Choice(pub String, pub String);

/// A meaning of a number, which decides its scale.
#[derive(Clone, Copy)]
enum Scale {
    Loss,
    Time,
    Rate,
    Count,
}

struct Search<'a> {
    text: &'a str,
    places: Places<'a>,
    root: &'a Value,
    schema: &'a Value,
    seen: BTreeSet<usize>,
    found: Vec<Knob>,
}

/// The values that can be changed in the text of a scenario, with its tables and the schema of scenarios.
pub fn knobs(text: &str, root: &Value, schema: &Value) -> Vec<Knob> {
    let Some(places) = Places::parse(text) else { return Vec::new() };
    let mut search = Search { text, places, root, schema, seen: BTreeSet::new(), found: Vec::new() };
    search.links();
    search.flows();
    search.nodes();
    search.cells();
    search.found.truncate(MOST);
    search.found
}

impl Search<'_> {
    fn links(&mut self) {
        let all = entries(self.root, "link");
        for (position, link) in all.iter().enumerate() {
            if link.get("name").is_none() && all.len() > FEW_LINKS {
                continue;
            }
            let name = name(link);
            let key = format!("link[{position}]");
            self.number(&format!("{name}: loss"), &format!("{key}.loss.rate"), Scale::Loss);
            self.number(&format!("{name}: delay"), &format!("{key}.delay"), Scale::Time);
            self.number(&format!("{name}: queue"), &format!("{key}.queue"), Scale::Count);
            self.number(&format!("{name}: rate"), &format!("{key}.rate"), Scale::Rate);
            self.choice(&format!("{name}: discipline"), "link", position, &["discipline", "kind"]);
        }
    }

    fn flows(&mut self) {
        for (position, flow) in entries(self.root, "flow").iter().enumerate() {
            let name = name(flow);
            let key = format!("flow[{position}]");
            for (label, path) in [
                ("law", &["ccid"][..]),
                ("law", &["media", "controller"]),
                ("law", &["tcp", "congestion"]),
                ("classifier", &["classifier"]),
                ("scheduler", &["multipath", "scheduler"]),
                ("repair", &["repair", "kind"]),
            ] {
                self.choice(&format!("{name}: {label}"), "flow", position, path);
            }
            self.number(&format!("{name}: repair within"), &format!("{key}.repair.latency"), Scale::Time);
            self.number(&format!("{name}: rate"), &format!("{key}.traffic.rate"), Scale::Rate);
        }
    }

    fn nodes(&mut self) {
        for (position, node) in entries(self.root, "node").iter().enumerate() {
            let name = name(node);
            if node.get("wifi").is_some() || node.get("cell").is_some() {
                self.number(&format!("stations {name}"), &format!("node[{position}].count"), Scale::Count);
            }
        }
    }

    fn cells(&mut self) {
        for (position, cell) in entries(self.root, "cell").iter().enumerate() {
            let name = name(cell);
            let key = format!("cell[{position}].background.users");
            self.number(&format!("{name}: other users"), &key, Scale::Count);
        }
    }

    /// Adds a number, if the text has the key.
    fn number(&mut self, label: &str, key: &str, scale: Scale) {
        let Some(span) = self.value(key) else { return };
        let Some((value, unit)) = number(&self.text[span.clone()]) else { return };
        let kind = Kind::Number { value, unit: unit.to_owned(), scale: scale.of(value, unit) };
        self.add(label, span, kind);
    }

    /// Adds a choice among the values that the schema has for a key of a table's entry.
    fn choice(&mut self, label: &str, table: &str, position: usize, path: &[&str]) {
        let Some(span) = self.value(&format!("{table}[{position}].{}", path.join("."))) else { return };
        let mut keys = vec![table];
        keys.extend(path);
        let options = options(self.schema, &keys);
        let value = self.text[span.clone()].to_owned();
        if options.iter().any(|choice| choice.0 == value) {
            self.add(label, span, Kind::Choice { value, options });
        }
    }

    fn add(&mut self, label: &str, span: Range<usize>, kind: Kind) {
        // A variable that is used twice is one value.
        if self.seen.insert(span.start) {
            let units = |end: usize| self.text[..end].encode_utf16().count();
            let span = [units(span.start), units(span.end)];
            self.found.push(Knob { label: label.to_owned(), span, kind });
        }
    }

    /// The place of the value of a key, or of the variable in its place.
    fn value(&self, key: &str) -> Option<Range<usize>> {
        let span = self.places.value(key)?;
        match self.text[span.clone()].trim_matches(['"', '\'']).strip_prefix('$') {
            Some(variable) => self.places.value(&format!("variables.{variable}")),
            None => Some(span),
        }
    }
}

fn entries<'a>(root: &'a Value, table: &str) -> &'a [Value] {
    root.get(table).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The name of a table's entry, or the ends of a link without one. Copies have the same label.
fn name(entry: &Value) -> String {
    let ends =
        || Some(entry.get("between")?.as_array()?.iter().filter_map(Value::as_str).collect::<Vec<_>>());
    let name = entry.get("name").and_then(Value::as_str).map(str::to_owned);
    name.or_else(|| ends().map(|ends| ends.join("–"))).unwrap_or_default().replace("{i}", "")
}

/// The number of a value and its unit: `"20 ms"` or `0.03`.
fn number(value: &str) -> Option<(f64, &str)> {
    let plain = value.trim_matches('"');
    let end =
        plain.find(|character: char| !matches!(character, '0'..='9' | '.' | '-')).unwrap_or(plain.len());
    let number = plain[..end].parse().ok().filter(|number: &f64| *number >= 0.0)?;
    let unit = plain[end..].trim();
    // A number with a unit is a string, and no other string is a number.
    (value.starts_with('"') != unit.is_empty()).then_some((number, unit))
}

impl Scale {
    /// Least and greatest value, and the step.
    fn of(self, value: f64, unit: &str) -> [f64; 3] {
        let (least, most) = match (self, unit) {
            (Self::Loss, "") => (0.0, 0.2_f64.max(2.0 * value).min(1.0)),
            (Self::Loss, _) => (0.0, 20.0_f64.max(2.0 * value).min(100.0)),
            (Self::Time, "s") => (0.0, 2.0_f64.max(4.0 * value)),
            (Self::Time, _) => (0.0, 200.0_f64.max(4.0 * value)),
            (Self::Rate, _) => (0.0, 4.0 * value),
            (Self::Count, _) => (1.0, 12.0_f64.max(4.0 * value).ceil()),
        };
        let step = match self {
            Self::Count => step(most / 500.0).max(1.0),
            _ => step(most / 200.0),
        };
        // No link has a rate of zero.
        let least = if matches!(self, Self::Rate) { step } else { least };
        [least, most, step]
    }
}

/// The next larger of 1, 2 and 5 times a power of ten.
fn step(least: f64) -> f64 {
    let mut power = 1e-6;
    loop {
        if let Some(factor) = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= least) {
            return factor * power;
        }
        power *= 10.0;
    }
}

#[cfg(test)]
mod tests;
