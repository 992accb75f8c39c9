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
