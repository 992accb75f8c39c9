//! Text from files, and the parts of it that messages quote.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

/// The most bytes of a scenario's own file.
pub const MAX_SCENARIO_BYTES: u64 = 16 << 20;

/// The most characters of a file, or of a value, that a message quotes.
const QUOTED: usize = 200;

/// The first bytes of a gzip file (RFC 1952, Section 2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Reads a text of at most `most` bytes, in UTF-8 with or without a byte order mark, which may be compressed
/// with gzip.
///
/// # Errors
/// The operating system's error; or the file is longer, damaged, or in another encoding, which the error
/// names.
pub fn read(path: &Path, most: u64) -> io::Result<String> {
    read_from(File::open(path)?, most)
}

/// Reads a text, as [`read`] does.
pub(crate) fn read_from(source: impl Read, most: u64) -> io::Result<String> {
    let most_read = most.saturating_add(1);
    let mut bytes = Vec::new();
    source.take(most_read).read_to_end(&mut bytes)?;
    if bytes.starts_with(&GZIP) {
        let packed = std::mem::take(&mut bytes);
        MultiGzDecoder::new(packed.as_slice()).take(most_read).read_to_end(&mut bytes)?;
    }
    if bytes.len() as u64 > most {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {most} bytes")));
    }
    decode(bytes).map_err(|problem| io::Error::new(io::ErrorKind::InvalidData, problem))
}

fn decode(mut bytes: Vec<u8>) -> Result<String, String> {
    match bytes.as_slice() {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
            return Err("it is in UTF-16, as some programs of Windows write: save it as UTF-8".to_owned());
        }
        [0xef, 0xbb, 0xbf, ..] => drop(bytes.drain(..3)),
        _ => {}
    }
    String::from_utf8(bytes).map_err(|error| {
        let place = error.utf8_error().valid_up_to();
        let line = 1 + error.as_bytes()[..place].iter().filter(|byte| **byte == b'\n').count();
        format!("it is not in UTF-8 (byte {place}, in line {line}): save it as UTF-8")
    })
}

/// The names that are cells of tables.
pub(crate) const CELL: &str = "a name without commas, quotes and control characters that does not begin with =, +, - or @, as formulas of spreadsheets do";

/// `true` if a text can be a cell of a table of comma-separated values as it is.
pub(crate) fn is_cell(text: &str) -> bool {
    !text.starts_with(['=', '+', '-', '@'])
        && text.chars().all(|character| is_printable(character) && !matches!(character, ',' | '"'))
}

/// `true` if a character may stand in a page and in a figure (XML 1.0, Section 2.2).
pub(crate) fn is_printable(character: char) -> bool {
    !character.is_control() && !matches!(character, '\u{fffe}' | '\u{ffff}')
}

/// The beginning of a text, without control characters. Their escapes count as what they show.
pub(crate) fn excerpt(text: &str) -> String {
    let (mut shown, mut count) = (String::new(), 0);
    for character in text.chars() {
        if count >= QUOTED {
            shown.push_str(&format!("... ({} bytes)", text.len()));
            break;
        }
        if character.is_control() && character != '\n' {
            let escape = character.escape_unicode();
            count += escape.len();
            shown.extend(escape);
        } else {
            count += 1;
            shown.push(character);
        }
    }
    shown
}

/// The lines of a message, each cut where it quotes too much.
pub(crate) fn excerpt_of_lines(text: &str) -> String {
    text.lines().take(20).map(excerpt).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_encodings_are_named() {
        let utf16: Vec<u8> =
            [0xff, 0xfe].into_iter().chain("a = 1".bytes().flat_map(|byte| [byte, 0])).collect();
        assert!(decode(utf16).unwrap_err().contains("UTF-16"));
        assert_eq!(decode(b"\xef\xbb\xbfa = 1".to_vec()).unwrap(), "a = 1");
        assert!(decode(b"a\nb = \"\xe9\"".to_vec()).unwrap_err().contains("byte 7, in line 2"));
    }

    #[test]
    fn compressed_files_are_read_up_to_the_same_length() {
        use std::io::Write;

        use flate2::{Compression, write::GzEncoder};

        let mut file = tempfile::NamedTempFile::new().unwrap();
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        packed.write_all("0\t2\n".repeat(1_000).as_bytes()).unwrap();
        let packed = packed.finish().unwrap();
        file.write_all(&packed).unwrap();
        assert_eq!(read(file.path(), 4_000).unwrap(), "0\t2\n".repeat(1_000));
        assert!(read(file.path(), 3_999).unwrap_err().to_string().contains("more than 3999 bytes"));
        file.as_file().set_len(packed.len() as u64 - 9).unwrap();
        assert!(read(file.path(), 4_000).is_err());
    }

    #[test]
    fn what_is_quoted_is_bounded_and_plain() {
        let quoted = excerpt(&"x".repeat(3_000_000));
        assert!(quoted.len() < 300 && quoted.ends_with("... (3000000 bytes)"), "{quoted}");
        let escaped = excerpt(&"\0".repeat(1_000));
        assert!(escaped.len() < 300 && escaped.ends_with("... (1000 bytes)"), "{escaped}");
        assert_eq!(excerpt("a\u{1b}[2J\u{9b}b"), "a\\u{1b}[2J\\u{9b}b");
        assert!(excerpt_of_lines(&"y\n".repeat(1_000)).len() < 100);
    }
}
