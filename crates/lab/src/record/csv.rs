//! Tables as CSV, the same bytes for the same values on every machine.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use super::table::{Column, Table};

/// A table as CSV: a header and a line per row. Numbers are the shortest that read back as the same value;
/// real ones have a point or an exponent, or are `NaN`, so that the first rows of a column show its type.
/// Words have no commas and quotes, and do not begin as formulas do: a scenario's names are checked.
pub fn csv(table: &Table) -> String {
    let mut text = String::new();
    for (index, (name, _)) in table.columns().iter().enumerate() {
        text.push_str(if index == 0 { "" } else { "," });
        text.push_str(name);
    }
    text.push('\n');
    for row in 0..table.rows() {
        for (index, (_, column)) in table.columns().iter().enumerate() {
            text.push_str(if index == 0 { "" } else { "," });
            // Writing to a string cannot fail.
            let _ = match column {
                Column::Float(values) => write!(text, "{:?}", values[row]),
                Column::Integer(values) => write!(text, "{}", values[row]),
                Column::Text(words) => write!(text, "{}", words.categories()[words.codes()[row] as usize]),
            };
        }
        text.push('\n');
    }
    text
}

/// Writes a table to `directory/NAME.csv`, through a temporary file that is then renamed, or
/// removed if it cannot be finished.
///
/// # Errors
/// The operating system's error.
pub fn write_csv(table: &Table, directory: &Path) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    let temporary = directory.join(format!(".{}.csv.{}", table.name(), std::process::id()));
    let written = write(&temporary, &csv(table))
        .and_then(|()| fs::rename(&temporary, directory.join(format!("{}.csv", table.name()))));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut file = fs::File::create(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
