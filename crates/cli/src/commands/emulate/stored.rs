//! The record of an emulation on disk, in the format of the records of campaigns
//! (`python/whimbrel/_simulate/record_format.py`), with the plan from which `whimbrel report` makes a page.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Cursor, Write};
use std::path::Path;

use anyhow::Context;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use whimbrel_lab::Record;
use whimbrel_lab::record::{Column, Table};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

/// The name of the report's table.
const ITEM: &str = "emulation";
/// The columns of the flows that the report shows.
const METRICS: [&str; 2] = ["goodput_bps", "delay_mean_s"];

/// An emulation without its tables.
#[derive(Debug)]
pub(super) struct Stored<'a> {
    /// The name of the folder, which is the name of the scenario's file.
    pub(super) group: &'a str,
    /// The title of the scenario.
    pub(super) title: &'a str,
    /// The seed of the network's randomness.
    pub(super) seed: u64,
    /// The changes to the scenario, `key=value` each.
    pub(super) changes: &'a [String],
    /// The command's summary, which is stored with the tables.
    pub(super) summary: Value,
}

impl Stored<'_> {
    /// Writes `DIRECTORY/GROUP/records/emulation-SEED.record`, and adds it to the plan next to it. Emulations
    /// of the same scenario and changes with other seeds are its repetitions; another scenario's replace it.
    ///
    /// # Errors
    /// The operating system's error.
    pub(super) fn write(&self, directory: &Path, record: &Record) -> anyhow::Result<()> {
        let folder = directory.join(self.group).join("records");
        let writing = || format!("writing the record to {}", folder.display());
        fs::create_dir_all(&folder).with_context(writing)?;
        let key = format!("{ITEM}-{}", self.seed);
        let about = json!({ "scenario": self.group, "seed": self.seed, "emulation": self.summary });
        let content = archive(record, &key, &about).with_context(writing)?;
        replace(&folder.join(format!("{key}.record")), &content).with_context(writing)?;
        let path = folder.join(format!("{ITEM}.plan.json"));
        let earlier = fs::read(&path).ok().and_then(|text| serde_json::from_slice::<Plan>(&text).ok());
        let plan = self.plan(compared(record), key, earlier);
        replace(&path, &serde_json::to_vec_pretty(&plan)?).with_context(writing)
    }

    /// The plan with this run, and with the runs of an earlier plan that it repeats.
    fn plan(&self, flows: Vec<String>, key: String, earlier: Option<Plan>) -> Plan {
        let settings: BTreeMap<String, String> = self
            .changes
            .iter()
            .map(|change| change.split_once('=').unwrap_or((change, "")))
            .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
            .collect();
        let row = match settings.iter().collect::<Vec<_>>()[..] {
            [] => "-".to_owned(),
            [(_, value)] => value.clone(),
            ref several => {
                several.iter().map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
            }
        };
        let mut plan = Plan {
            kind: "sweep".to_owned(),
            group: self.group.to_owned(),
            item: ITEM.to_owned(),
            quick: false,
            seed: self.seed,
            engine: format!("emulation {}", env!("CARGO_PKG_VERSION")),
            cells: vec![Cell { row, column: String::new(), seeds: Vec::new(), keys: Vec::new() }],
            details: Details {
                title: self.title.to_owned(),
                metrics: METRICS.map(str::to_owned).to_vec(),
                command: format!("whimbrel emulate {}", self.group),
                settings: vec![settings],
                random: vec![true],
                precision: None,
                maximum: 1,
                flows,
            },
        };
        if let Some(earlier) = earlier.filter(|earlier| plan.is_repeated_by(earlier)) {
            plan.details.flows.retain(|flow| earlier.details.flows.contains(flow));
            plan.cells = earlier.cells;
        }
        let cell = &mut plan.cells[0];
        let place = cell.seeds.partition_point(|&seed| seed < self.seed);
        if cell.seeds.get(place) != Some(&self.seed) {
            cell.seeds.insert(place, self.seed);
            cell.keys.insert(place, key);
        }
        plan.details.maximum = cell.seeds.len();
        plan.seed = cell.seeds[0];
        plan
    }
}

/// A table of a report and its runs (`python/whimbrel/_reproduce/plan.py`).
#[derive(Serialize, Deserialize, Debug)]
struct Plan {
    kind: String,
    group: String,
    item: String,
    quick: bool,
    seed: u64,
    engine: String,
    cells: Vec<Cell>,
    details: Details,
}

impl Plan {
    /// `true` if the runs of `other` are comparable: with the same engine and settings, and a flow in common.
    /// Real programs do not send in both directions in each run.
    fn is_repeated_by(&self, other: &Self) -> bool {
        let of = |plan: &Self| {
            let Details { title, settings, .. } = &plan.details;
            (plan.engine.clone(), title.clone(), settings.clone())
        };
        let [cell] = &other.cells[..] else { return false };
        let shares_a_flow = self.details.flows.iter().any(|flow| other.details.flows.contains(flow));
        of(self) == of(other) && shares_a_flow && cell.seeds.len() == cell.keys.len()
    }
}

#[derive(Serialize, Deserialize, Debug)]
struct Cell {
    row: String,
    column: String,
    seeds: Vec<u64>,
    keys: Vec<String>,
}

#[derive(Serialize, Deserialize, Debug)]
struct Details {
    title: String,
    metrics: Vec<String>,
    command: String,
    settings: Vec<BTreeMap<String, String>>,
    random: Vec<bool>,
    precision: Option<f64>,
    maximum: usize,
    flows: Vec<String>,
}

/// The flows that are not in the background.
fn compared(record: &Record) -> Vec<String> {
    let Some(flows) = record.table("flows") else { return Vec::new() };
    let Some(Column::Text(names)) = flows.column("flow") else { return Vec::new() };
    let background = flows.column("background");
    let is_compared = |row: usize| !matches!(background, Some(Column::Integer(values)) if values[row] != 0);
    names.iter().enumerate().filter(|(row, _)| is_compared(*row)).map(|(_, name)| name.to_owned()).collect()
}

/// The bytes of a record: a description of the tables, and their columns one after the other.
fn archive(record: &Record, key: &str, about: &Value) -> zip::result::ZipResult<Vec<u8>> {
    let mut columns = Vec::new();
    let tables: Vec<Value> = record
        .tables()
        .iter()
        .map(|table| json!([table.name(), table.rows(), append(table, &mut columns)]))
        .collect();
    let head = json!({ "key": key, "about": about, "tables": tables });
    // Without a date, the same tables are the same bytes.
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .last_modified_time(DateTime::default());
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in [("record.json", head.to_string().into_bytes()), ("columns", columns)] {
        writer.start_file(name, options)?;
        writer.write_all(&content)?;
    }
    Ok(writer.finish()?.into_inner())
}

/// Appends the columns of a table, and returns their names and numpy types.
fn append(table: &Table, to: &mut Vec<u8>) -> Vec<(String, String)> {
    let kind = |column: &Column, to: &mut Vec<u8>| match column {
        Column::Float(values) => {
            to.extend(values.iter().flat_map(|value| value.to_le_bytes()));
            "<f8".to_owned()
        }
        Column::Integer(values) => {
            to.extend(values.iter().flat_map(|value| value.to_le_bytes()));
            "<u8".to_owned()
        }
        Column::Text(words) => {
            // Characters of four bytes, as many for each word; numpy has no type without any.
            let width = words.iter().map(|word| word.chars().count()).max().unwrap_or(0).max(1);
            for word in words.iter() {
                let padded = word.chars().map(u32::from).chain(std::iter::repeat(0)).take(width);
                to.extend(padded.flat_map(u32::to_le_bytes));
            }
            format!("<U{width}")
        }
    };
    table.columns().iter().map(|(name, column)| ((*name).to_owned(), kind(column, to))).collect()
}

/// Writes a file that appears at once, complete.
fn replace(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let partial = path.with_file_name(format!(".partial-{}-0-{name}", std::process::id()));
    fs::write(&partial, content).and_then(|()| fs::rename(&partial, path)).inspect_err(|_| {
        let _ = fs::remove_file(&partial);
    })
}

#[cfg(test)]
mod tests;
