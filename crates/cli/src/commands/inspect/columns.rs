//! Tables and lines as wide as their content, or as the terminal if that is narrower.

/// The width that `COLUMNS` gives, as terminals do to interactive shells.
pub(super) fn width() -> Option<usize> {
    std::env::var("COLUMNS").ok().and_then(|text| text.trim().parse().ok()).filter(|width| *width > 20)
}

/// Lines in lines of at most `width`, broken at spaces. What does not fit begins below the second column of its line.
pub(super) fn wrapped(lines: &str, width: Option<usize>) -> String {
    lines.split('\n').map(|line| wrapped_line(line, width)).collect::<Vec<_>>().join("\n")
}

fn wrapped_line(line: &str, width: Option<usize>) -> String {
    let Some(width) = width.filter(|width| line.chars().count() > *width) else { return line.to_owned() };
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
        let expected = "  missing   5 of 21\n            (23.810 %); 0\n            late, 0\n            repeated";
        assert_eq!(wrapped(line, Some(26)), expected);
        // What has no space is not broken, and lines stay apart.
        assert_eq!(wrapped("one\nhttp://long.example/", Some(21)), "one\nhttp://long.example/");
    }
}
