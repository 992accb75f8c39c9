//! Lines of text within the width of the terminal.

use textwrap::{Options, WordSeparator};

/// The narrowest width that is obeyed: in less, nothing can be read.
const NARROWEST: usize = 20;

/// Breaks lines at spaces to at most `width` columns. The rest begins below the text that follows
/// the label of its line, or two columns to the right of a line without a label.
pub(crate) fn wrapped(lines: &str, width: Option<usize>) -> String {
    let Some(width) = width else { return lines.to_owned() };
    lines.split('\n').map(|line| wrapped_line(line, width.max(NARROWEST))).collect::<Vec<_>>().join("\n")
}

fn wrapped_line(line: &str, width: usize) -> String {
    let indent = line.len() - line.trim_start().len();
    // At least two spaces follow a label.
    let label = line[indent..].find("  ").filter(|at| *at < 12);
    let below = label.map_or(indent + 2, |at| {
        let rest = &line[indent + at..];
        indent + at + rest.len() - rest.trim_start().len()
    });
    let below = " ".repeat(below.min(width / 2));
    let options = Options::new(width)
        .subsequent_indent(&below)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(textwrap::WordSplitter::NoHyphenation)
        .break_words(false);
    textwrap::wrap(line, options).join("\n")
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
        // Characters of several bytes.
        let names = "  caméra à l'étage: 5 of 21 packets";
        assert_eq!(wrapped(names, Some(24)), "  caméra à l'étage: 5 of\n    21 packets");
        assert_eq!(wrapped("aé b c d e f g h i j k l", Some(20)), "aé b c d e f g h i j\n  k l");
    }
}
