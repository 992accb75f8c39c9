//! Tables of a report.

use crate::table::{Table, width};

/// A table in which columns without a value are left out if it is too wide for the terminal with them.
pub(super) fn table(indent: &'static str, heads: &[&str], rows: &[Vec<String>]) -> String {
    let all: Vec<usize> = (0..heads.len()).collect();
    let of = |columns: &[usize]| {
        let heads: Vec<&str> = columns.iter().map(|column| heads[*column]).collect();
        let mut table = Table::new(&heads, &[]).indented(indent);
        for row in rows {
            table.row(columns.iter().map(|column| &row[*column]));
        }
        table
    };
    let whole = of(&all).within(None);
    if width().is_none_or(|width| whole.lines().all(|line| line.chars().count() <= width)) {
        return whole;
    }
    let has_value = |column: &usize| rows.iter().any(|row| !matches!(row[*column].as_str(), "-" | "0"));
    of(&all.into_iter().filter(has_value).collect::<Vec<_>>()).for_stdout()
}
