//! Notes about keys that a scenario gives and that have no effect together with the others.
//!
//! Such keys are no errors: a sweep turns features on and off and leaves their details in place. A feature
//! that the scenario turns off explicitly (`classifier = "none"`, `loss = "none"`) is not noted.

use serde_json::{Map, Value};
use whimbrel_units::quantity;

use super::plan::Note;
use super::transport::Transports;

#[cfg(test)]
mod tests;

type Table = Map<String, Value>;

/// A note for each such key of a scenario whose variables have been replaced.
pub(crate) fn notes(transports: &impl Transports, root: &Value) -> Vec<Note> {
    let mut notes = Vec::new();
    for (key, link) in tables(root, "link") {
        link_notes(&key, link, &mut notes);
        if let Some(reverse) = table(link, "reverse") {
            link_notes(&format!("{key}.reverse"), reverse, &mut notes);
        }
    }
    for (key, flow) in tables(root, "flow") {
        flow_notes(&key, flow, &mut notes);
        notes.extend(transports.kinds().iter().flat_map(|kind| kind.notes(&key, flow)));
    }
    for (key, event) in tables(root, "event") {
        event_notes(&key, event, &mut notes);
    }
    notes
}

fn link_notes(key: &str, link: &Table, notes: &mut Vec<Note>) {
    if !link.contains_key("loss") {
        idle(notes, key, link, &["damaged"], "nothing is destroyed without `loss` unless an event brings it");
    }
    if let Some(netem) = table(link, "netem") {
        let key = format!("{key}.netem");
        if !has(netem, "jitter") {
            idle(notes, &key, netem, &["correlation", "distribution"], "without `jitter` it does nothing");
        }
        if !has(netem, "reorder") {
            idle(notes, &key, netem, &["reorder_correlation", "gap"], "without `reorder` it does nothing");
        }
        if !has(netem, "duplicate") {
            idle(notes, &key, netem, &["duplicate_correlation"], "without `duplicate` it does nothing");
        }
    }
}

fn flow_notes(key: &str, flow: &Table, notes: &mut Vec<Note>) {
    let scheduled = flow.get("traffic").and_then(|traffic| traffic.get("kind")).and_then(Value::as_str);
    if let Some(kind @ ("video" | "trace")) = scheduled {
        let why = format!("the datagrams of a {kind} have their own sizes");
        idle(notes, key, flow, &["packet_size", "payload"], &why);
    }
}

fn event_notes(key: &str, event: &Table, notes: &mut Vec<Note>) {
    if event.contains_key("flow") {
        idle(notes, key, event, &["direction", "when_down"], "it is about links and this event about a flow");
        return;
    }
    idle(notes, key, event, &["at", "scope"], "it is about flows and this event about a link");
    if event.get("up") != Some(&Value::Bool(false)) {
        idle(notes, key, event, &["when_down"], "the link does not go down");
    }
}

/// Notes the keys in `names` that the table with the key `key` gives and that have no effect, for this
/// reason.
pub fn idle(notes: &mut Vec<Note>, key: &str, table: &Table, names: &[&str], why: &str) {
    for name in names.iter().filter(|name| table.contains_key(**name)) {
        notes.push(Note::of_plan(&format!("{key}.{name}"), format!("has no effect: {why}")));
    }
}

/// `true` if a number or quantity is present and not zero.
fn has(table: &Table, name: &str) -> bool {
    match table.get(name) {
        None => false,
        Some(Value::Number(number)) => number.as_f64() != Some(0.0),
        Some(Value::String(text)) => quantity::split(text).is_none_or(|(number, _)| number != 0.0),
        Some(_) => true,
    }
}

fn tables<'a>(root: &'a Value, name: &'a str) -> impl Iterator<Item = (String, &'a Table)> {
    let items = root.get(name).and_then(Value::as_array).into_iter().flatten().enumerate();
    items.filter_map(move |(position, item)| Some((format!("{name}[{position}]"), item.as_object()?)))
}

fn table<'a>(outer: &'a Table, name: &str) -> Option<&'a Table> {
    outer.get(name)?.as_object()
}
