//! Texts of peers and files in messages: without control of the terminal, and of bounded length.

use std::borrow::Cow;
use std::fmt::Write as _;

/// The longest quotation of a peer, in characters.
const LONGEST_QUOTATION: usize = 300;

/// A peer's text in a message: one line of bounded length.
pub fn quoted(text: &str) -> String {
    printable(&shortened(text, LONGEST_QUOTATION)).replace('\n', "\\n").replace('\t', "\\t")
}

/// The text without characters that a terminal obeys, except line ends and tabs. The escapes are JSON's, so
/// that JSON remains JSON.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(commands_terminal) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for each in text.chars() {
        if commands_terminal(each) {
            // Writing to a string cannot fail. All of these characters are below U+10000.
            let _ = write!(out, "\\u{:04x}", u32::from(each));
        } else {
            out.push(each);
        }
    }
    out.into()
}

/// `true` for control characters, and for those that change the direction or lines of the text around them.
fn commands_terminal(each: char) -> bool {
    match each {
        '\n' | '\t' => false,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        _ => each.is_control(),
    }
}

/// At most that many characters of a text, and the number of those that are left out.
pub fn shortened(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        None => text.into(),
        Some((end, _)) => format!("{} ... ({} bytes more)", &text[..end], text.len() - end).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_others_does_not_command_the_terminal() {
        assert!(matches!(printable("a\tb\nÄ ∞ 🐦"), Cow::Borrowed("a\tb\nÄ ∞ 🐦")));
        // A title, the clipboard (OSC 52), C1 controls, deletion, a right-to-left override.
        let hostile = "\x1b]0;owned\x07 \x1b]52;c;cm0=\x07 \u{9b}2J \x7f \u{202e}";
        let shown = printable(hostile);
        assert!(!shown.contains(commands_terminal), "{shown:?}");
        assert!(shown.starts_with("\\u001b]0;owned\\u0007 \\u001b]52"), "{shown}");
        // JSON says the same afterwards.
        let json = serde_json::json!({ "title": hostile }).to_string();
        let read: serde_json::Value = serde_json::from_str(&printable(&json)).expect("JSON");
        assert_eq!(read["title"], hostile);
    }

    #[test]
    fn what_a_peer_says_is_one_line_of_bounded_length() {
        assert_eq!(quoted("busy"), "busy");
        let long = quoted(&format!("no\nwhimbrel: forged line{}", "é".repeat(1 << 20)));
        assert!(!long.contains('\n') && long.starts_with("no\\nwhimbrel: ") && long.len() < 800, "{long}");
        assert!(long.ends_with("bytes more)"), "{long}");
        assert_eq!(shortened("éé", 1), "é ... (2 bytes more)");
    }
}
