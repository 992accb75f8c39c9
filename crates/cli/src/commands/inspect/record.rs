//! Records of runs and emulations: `whimbrel inspect FILE.record`.
//!
//! The format is defined in `python/whimbrel/_simulate/record_format.py`: a zip file with a description of
//! the tables and their columns one after the other.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use whimbrel_lab::Record;
use whimbrel_lab::record::{Column, Table, Words};
use zip::ZipArchive;

use crate::commands::run_scenario::tables;
use whimbrel_relay::text::quoted;

/// The beginning of a zip file.
const MAGIC: &[u8] = b"PK\x03\x04";
/// Largest size of a member: a constant plus a multiple of the file's size. A file that claims more is not a
/// record of a run.
const LEAST_ROOM: u64 = 64 << 20;
const ROOM_BY_SIZE: u64 = 32;

/// A record with its description.
#[derive(Debug)]
pub(super) struct StoredRecord {
    key: String,
    about: Value,
    record: Record,
}

#[derive(Deserialize)]
struct Head {
    key: String,
    #[serde(default)]
    about: Value,
    tables: Vec<TableHead>,
}

/// Name and rows of a table, and its columns.
type TableHead = (String, usize, Vec<ColumnHead>);
/// Name and numpy type of a column.
type ColumnHead = (String, String);

/// Opens a record; `None` if the file is something else.
///
/// # Errors
/// If it cannot be read or is damaged.
pub(super) fn open(path: &Path) -> anyhow::Result<Option<StoredRecord>> {
    let name = || path.display().to_string();
    // Standard input, or a pipe, whose beginning cannot be read twice.
    if path.as_os_str() == "-" || !path.is_file() {
        return Ok(None);
    }
    let mut file = BufReader::new(File::open(path).with_context(name)?);
    let mut start = Vec::new();
    file.by_ref().take(MAGIC.len() as u64).read_to_end(&mut start).with_context(name)?;
    if start != MAGIC {
        return Ok(None);
    }
    file.rewind().with_context(name)?;
    read(file).with_context(|| format!("{}: expected a capture, or the record of a run", name())).map(Some)
}

fn read(file: impl Read + Seek) -> anyhow::Result<StoredRecord> {
    read_within(file, LEAST_ROOM)
}

/// Reads a record whose members have at most `least_room` bytes more than the file's size allows.
fn read_within(mut file: impl Read + Seek, least_room: u64) -> anyhow::Result<StoredRecord> {
    let size = file.seek(SeekFrom::End(0))?;
    let room = least_room.saturating_add(size.saturating_mul(ROOM_BY_SIZE));
    let mut archive = ZipArchive::new(file)?;
    let mut member = |name: &str| -> anyhow::Result<Vec<u8>> {
        let member = archive.by_name(name).with_context(|| format!("`{name}`"))?;
        let mut content = Vec::new();
        member.take(room.saturating_add(1)).read_to_end(&mut content).with_context(|| format!("`{name}`"))?;
        if content.len() as u64 > room {
            bail!("`{name}` has more than {room} bytes, where the file has {size}");
        }
        Ok(content)
    };
    let head: Head = serde_json::from_slice(&member("record.json")?).context("`record.json`")?;
    let values = member("columns")?;
    let mut rest = &values[..];
    let mut tables = Vec::new();
    for (table, rows, described) in head.tables {
        let mut columns = Vec::new();
        for (name, kind) in described {
            let column = column(&mut rest, rows, &kind).with_context(|| format!("column {table}.{name}"))?;
            // The process reads one record: the names stay as long as it.
            columns.push((&*name.leak(), column));
        }
        tables.push(Table::from_columns(table.leak(), columns));
    }
    if !rest.is_empty() {
        bail!("`columns` has {} bytes behind the last column", rest.len());
    }
    Ok(StoredRecord { key: head.key, about: head.about, record: tables.into_iter().collect() })
}

/// Takes a column of this numpy type from the beginning of `rest`.
fn column(rest: &mut &[u8], rows: usize, kind: &str) -> anyhow::Result<Column> {
    let width = match kind {
        "<f8" | "<u8" | "<i8" => 8,
        "|b1" | "|u1" => 1,
        _ => kind
            .strip_prefix("<U")
            .and_then(|letters| letters.parse::<usize>().ok()?.checked_mul(4))
            .filter(|width| *width > 0)
            .ok_or_else(|| anyhow!("type {kind:?}: expected <f8, <u8, <i8, |b1, |u1 or <U with a number"))?,
    };
    let (values, behind) = rows
        .checked_mul(width)
        .and_then(|length| rest.split_at_checked(length))
        .ok_or_else(|| anyhow!("{rows} rows of {width} bytes: {} are left", rest.len()))?;
    *rest = behind;
    let eight = |bytes: &[u8]| bytes.first_chunk::<8>().copied().unwrap_or_default();
    let values = values.chunks_exact(width);
    Ok(match kind {
        "<f8" => Column::Float(values.map(|bytes| f64::from_le_bytes(eight(bytes))).collect()),
        "<u8" => Column::Integer(values.map(|bytes| u64::from_le_bytes(eight(bytes))).collect()),
        "<i8" => Column::Float(values.map(|bytes| i64::from_le_bytes(eight(bytes)) as f64).collect()),
        "|b1" | "|u1" => Column::Integer(values.map(|bytes| u64::from(bytes[0])).collect()),
        _ => {
            let words: Option<Vec<String>> = values.map(word).collect();
            let words = words.ok_or_else(|| anyhow!("a word has a number that is no character"))?;
            Column::Text(words.iter().map(String::as_str).collect::<Words>())
        }
    })
}

/// Characters of four bytes each, up to the first zero.
fn word(bytes: &[u8]) -> Option<String> {
    bytes
        .chunks_exact(4)
        .map(|four| four.first_chunk::<4>().map_or(0, |four| u32::from_le_bytes(*four)))
        .take_while(|number| *number != 0)
        .map(char::from_u32)
        .collect()
}

impl StoredRecord {
    /// The totals of `whimbrel run`, the lateness of an emulation, and the sizes of all tables.
    pub(super) fn text(&self, name: &str) -> anyhow::Result<String> {
        let mut out = format!("{name}: run {}", self.key);
        // An emulation has the name of its scenario, a campaign's run the scenario itself.
        let scenario = &self.about["scenario"];
        if let Some(name) = scenario.as_str().or_else(|| scenario["title"].as_str()) {
            write!(out, ", scenario \"{}\"", quoted(name))?;
        }
        if let Some(seed) = self.about["seed"].as_u64() {
            write!(out, ", seed {seed}")?;
        }
        out.push('\n');
        let flows = self.record.table("flows");
        let number =
            |column: &str, row: usize| flows.and_then(|flows| flows.number(column, row)).unwrap_or(0.0);
        // A stream's bytes are delivered without packets.
        let delivers_packets =
            |row: usize| number("delivered_packets", row) > 0.0 || number("delivered_bytes", row) == 0.0;
        tables::append(&mut out, &self.record, delivers_packets)?;
        self.append_lateness(&mut out)?;
        let sizes: Vec<String> =
            self.record.tables().iter().map(|table| format!("{} {}", table.name(), table.rows())).collect();
        writeln!(out, "\nrows of the tables (--json prints them): {}", sizes.join(", "))?;
        Ok(out)
    }

    fn append_lateness(&self, out: &mut String) -> std::fmt::Result {
        let emulation = &self.about["emulation"];
        if emulation["events"].is_object() {
            writeln!(out)?;
        }
        let millis =
            |value: &Value| value.as_f64().map_or("-".to_owned(), |at| format!("{:.3} ms", at * 1e3));
        for (what, table) in [("events", "events"), ("packets written", "deliveries")] {
            let late = &emulation[table];
            if late.is_object() {
                let [median, p99, most] = ["median_s", "p99_s", "max_s"].map(|name| millis(&late[name]));
                writeln!(out, "lateness of {what}: median {median}, 99 % below {p99}, greatest {most}")?;
            }
        }
        Ok(())
    }

    /// All that the record contains.
    pub(super) fn json(&self) -> Value {
        let tables: Map<String, Value> = self
            .record
            .tables()
            .iter()
            .map(|table| (table.name().to_owned(), whimbrel_lab::record::columns(table)))
            .collect();
        json!({ "key": self.key, "about": self.about, "tables": tables })
    }
}

#[cfg(test)]
mod tests;
