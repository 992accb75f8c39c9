//! Tables of all commands: as wide as their content, or as the terminal if that is narrower.
//!
//! In a terminal too narrow for a row, its cells are broken at spaces, so that nothing is lost. Output that
//! goes to a file or to another program is not broken, unless the environment variable `COLUMNS` gives a
//! width.

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Width, presets};

/// The narrowest width that is obeyed: in less, nothing can be read.
const NARROWEST: usize = 20;

/// Characters between columns.
const GAP: usize = 2;

/// A table under construction.
#[derive(Debug)]
pub(crate) struct Table {
    table: comfy_table::Table,
    indent: &'static str,
    /// Columns of words, which are aligned to the left.
    words: Vec<usize>,
    /// The longest word of each column, in characters.
    longest: Vec<usize>,
}

impl Table {
    /// A table with these headers. Columns of numbers are aligned to the right; `words` are the positions of
    /// the others.
    pub(crate) fn new(headers: &[&str], words: &[usize]) -> Self {
        let mut table = comfy_table::Table::new();
        table.load_style(presets::NOTHING).set_header(headers);
        let longest = headers.iter().map(|head| longest_word(head)).collect();
        Self { table, indent: "", words: words.to_vec(), longest }
    }

    /// The same, with this text before each line.
    pub(crate) fn indented(self, indent: &'static str) -> Self {
        Self { indent, ..self }
    }

    /// Adds a row, with a cell for each header.
    pub(crate) fn row<T: ToString>(&mut self, cells: impl IntoIterator<Item = T>) {
        let cells: Vec<String> = cells.into_iter().map(|cell| cell.to_string()).collect();
        for (longest, cell) in self.longest.iter_mut().zip(&cells) {
            *longest = longest_word(cell).max(*longest);
        }
        self.table.add_row(cells);
    }

    /// The lines of the table for standard output, each with its end.
    pub(crate) fn for_stdout(self) -> String {
        self.within(width())
    }

    /// The lines of the table within a width.
    pub(crate) fn within(mut self, width: Option<usize>) -> String {
        let width = width.map(|width| width.max(NARROWEST).saturating_sub(self.indent.len()));
        if let Some(width) = width {
            self.table.set_content_arrangement(ContentArrangement::Dynamic);
            // A line may not wrap at the terminal's edge.
            self.table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
        }
        let last = self.longest.len().saturating_sub(1);
        // Words are broken only where they do not fit one above the other.
        let whole = self.longest.iter().sum::<usize>() + GAP * last;
        let breaks_words = width.is_some_and(|width| width < whole);
        for (index, column) in self.table.column_iter_mut().enumerate() {
            let words = self.words.contains(&index);
            column.set_cell_alignment(if words { CellAlignment::Left } else { CellAlignment::Right });
            let gap = if index == last { 0 } else { GAP };
            column.set_padding((0, gap as u16));
            if width.is_some() {
                let least = if breaks_words { 3 } else { self.longest[index] };
                let least = u16::try_from(least + gap).unwrap_or(u16::MAX);
                column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(least)));
            }
        }
        self.table.lines().map(|line| format!("{}{}\n", self.indent, line.trim_end())).collect()
    }
}

fn longest_word(cell: &str) -> usize {
    cell.split_whitespace().map(|word| word.chars().count()).max().unwrap_or(0)
}

/// The width of standard output: the terminal's, or the one that `COLUMNS` gives.
#[allow(clippy::disallowed_methods, reason = "it only asks how wide it is")]
pub(crate) fn width() -> Option<usize> {
    let given = std::env::var("COLUMNS").ok().and_then(|text| text.trim().parse().ok());
    let terminal =
        || terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| usize::from(width.0));
    given.or_else(terminal).filter(|width| *width > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&["flow", "goodput", "delay", "a long head"], &[0]);
        table.row(["the video of the camera", "898.51 kbit/s", "12.00 ms", "1"]);
        table.row(["call", "24 kbit/s", "9.25 ms", "123456"]);
        table.indented("  ")
    }

    #[test]
    fn a_table_is_as_wide_as_its_content() {
        assert_eq!(
            table().within(None),
            "  flow                           goodput     delay  a long head\n\
             \x20 the video of the camera  898.51 kbit/s  12.00 ms            1\n\
             \x20 call                         24 kbit/s   9.25 ms       123456\n"
        );
        assert_eq!(table().within(Some(200)), table().within(None));
    }

    #[test]
    fn a_narrow_terminal_breaks_cells_and_loses_nothing() {
        for width in [24, 33, 40, 61] {
            let text = table().within(Some(width));
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}:\n{text}");
            let mut letters: Vec<char> = text.chars().filter(|one| !one.is_whitespace()).collect();
            let whole = table().within(None);
            let mut expected: Vec<char> = whole.chars().filter(|one| !one.is_whitespace()).collect();
            letters.sort_unstable();
            expected.sort_unstable();
            assert_eq!(letters, expected, "{width}:\n{text}");
            // The longest words and the gaps need 38 of the columns.
            if width >= 40 {
                assert!(
                    ["898.51", "123456", "camera", "goodput"].iter().all(|word| text.contains(word)),
                    "{text}"
                );
            }
        }
    }
}
