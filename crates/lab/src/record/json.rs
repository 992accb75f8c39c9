//! A record as JSON.

use serde_json::{Map, Value, json};

use super::Record;
use super::table::{Column, Table};

/// All tables: `{"title", "seed", "tables": {NAME: {COLUMN: [...]}}}`; NaN is null.
pub fn json(record: &Record, title: &str, seed: u64) -> Value {
    let tables: Map<String, Value> =
        record.tables().iter().map(|table| (table.name().to_owned(), columns(table))).collect();
    json!({ "title": title, "seed": seed, "tables": tables })
}

/// The columns of a table by name.
pub fn columns(table: &Table) -> Value {
    let values = |column: &Column| match column {
        Column::Float(values) => Value::from(values.iter().map(|value| json!(value)).collect::<Vec<_>>()),
        Column::Integer(values) => json!(values),
        Column::Text(words) => json!(words.iter().collect::<Vec<_>>()),
    };
    table
        .columns()
        .iter()
        .map(|(name, column)| ((*name).to_owned(), values(column)))
        .collect::<Map<_, _>>()
        .into()
}
