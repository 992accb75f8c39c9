//! Results: tables of columns, and their CSV form.
//!
//! A run leaves these tables; the units are in the columns' names:
//!
//! | table | a row is |
//! |---|---|
//! | `flows` | a flow, over the measured time |
//! | `links` | one direction of a link, over the measured time |
//! | `intervals` | a flow in an interval of `record.interval` |
//! | `losses` | a packet with data that was lost (`record.losses`) |
//! | `packets` | a packet with data, or a datagram that was given up (`record.packets`) |
//! | `notes` | a note on the results: keys without effect, losses that came to an end; only if there are any |
//!
//! A value that does not exist (the delay of a flow that received nothing) is NaN.

mod csv;
mod json;
mod table;

pub use csv::{csv, write_csv};
pub use json::{columns, json};
pub use table::{Column, Table, Words};

use std::io;
use std::path::Path;

/// The tables of one run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Record {
    tables: Vec<Table>,
}

impl FromIterator<Table> for Record {
    fn from_iter<I: IntoIterator<Item = Table>>(tables: I) -> Self {
        Self { tables: tables.into_iter().collect() }
    }
}

impl Record {
    /// The tables, in the order above.
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// The table of that name.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name() == name)
    }

    pub(crate) fn add(&mut self, table: Table) {
        self.tables.push(table);
    }

    /// Keeps the rows whose word in `column` is accepted; tables without such a column remain unchanged.
    pub(crate) fn retain(&mut self, column: &str, accepted: impl Fn(&str) -> bool) {
        self.tables.iter_mut().for_each(|table| table.retain(column, &accepted));
    }

    /// The tables themselves.
    pub fn into_tables(self) -> Vec<Table> {
        self.tables
    }

    /// Writes each table to `directory/NAME.csv`. The directory is created if missing, and each
    /// file appears at once, complete.
    ///
    /// # Errors
    /// The operating system's error.
    pub fn write_csv(&self, directory: &Path) -> io::Result<()> {
        self.tables.iter().try_for_each(|table| write_csv(table, directory))
    }
}

#[cfg(test)]
mod tests;
