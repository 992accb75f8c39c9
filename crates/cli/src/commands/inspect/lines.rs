//! Lines and tables within the width of the terminal.

use crate::table::{Table, width};

/// Narrower terminals are not obeyed.
const NARROWEST: usize = 20;

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

/// Lines in lines of at most `width`, broken at spaces. What does not fit begins below the second column of its line.
pub(super) fn wrapped(lines: &str, width: Option<usize>) -> String {
    lines.split('\n').map(|line| wrapped_line(line, width)).collect::<Vec<_>>().join("\n")
}

fn wrapped_line(line: &str, width: Option<usize>) -> String {
    let Some(width) = width.map(|width| width.max(NARROWEST)).filter(|width| line.chars().count() > *width)
    else {
        return line.to_owned();
    };
    let indent = line.len() - line.trim_start().len();
    // A label is followed by at least two spaces.
    let label = line[indent..].find("  ").filter(|at| *at < 12);
    let below = label.map_or(indent + 2, |at| {
        let rest = &line[indent + at..];
        indent + at + rest.len() - rest.trim_start().len()
    });
    let below = below.min(width / 2);
    let mut out = line[..below].to_owned();
    let mut used = below;
    for (index, word) in line[below..].split(' ').enumerate() {
        let length = word.chars().count();
        if index > 0 && used + 1 + length > width {
            out += &format!("\n{:below$}", "");
            used = below;
        } else if index > 0 {
            out.push(' ');
            used += 1;
        }
        out += word;
        used += length;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_continued_below_their_text() {
        let line = "  missing   5 of 21 (23.810 %); 0 late, 0 repeated";
        assert_eq!(wrapped(line, None), line);
        assert_eq!(wrapped(line, Some(80)), line);
        let expected =
            "  missing   5 of 21\n            (23.810 %); 0\n            late, 0\n            repeated";
        assert_eq!(wrapped(line, Some(26)), expected);
        // A word without spaces is not broken, and existing line breaks are kept.
        assert_eq!(wrapped("one\nhttp://long.example/", Some(21)), "one\nhttp://long.example/");
    }
}
