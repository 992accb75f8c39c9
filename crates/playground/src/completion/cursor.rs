//! The place in a text: the table and key, as far as they are written. The text need not be valid TOML.

use std::collections::BTreeMap;

/// The keys of a table with their values, as far as they are written.
pub(super) type Known = BTreeMap<String, String>;

/// The kind of word at the place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Expected {
    /// The header of a table.
    Table,
    Key,
    Value,
}

/// A place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Cursor {
    pub(super) expected: Expected,
    /// The keys of the tables around the place, and of the value.
    pub(super) path: Vec<String>,
    /// The known keys of the root and of each table around the place.
    pub(super) known: Vec<Known>,
    /// The first byte of the word at the place.
    pub(super) start: usize,
}

/// An inline table or a list that is open.
struct Open {
    is_table: bool,
    /// Keys on the way to it.
    depth: usize,
}

struct Scan<'a> {
    text: &'a str,
    path: Vec<String>,
    /// Keys of the section's header.
    section: usize,
    known: Vec<Known>,
    open: Vec<Open>,
    expected: Option<Expected>,
    word: Option<usize>,
}

impl Cursor {
    /// The place behind `end` bytes of a text; `None` in a comment and behind a value.
    pub(super) fn at(text: &str, end: usize) -> Option<Self> {
        let mut scan = Scan::new(text);
        scan.read(0, end)?;
        let start = scan.word.unwrap_or(end);
        let expected = scan.expected?;
        let Scan { path, mut known, open, .. } = scan;
        if let Some(table) = known.last_mut().filter(|_| open.is_empty()) {
            table.extend(following(text, end));
        }
        Some(Self { expected, path, known, start })
    }
}

/// The keys behind the place in its section.
fn following(text: &str, end: usize) -> Known {
    let rest = text[end..].split_once('\n').map_or("", |(_, rest)| rest);
    let lines = rest.lines().take_while(|line| !line.starts_with('['));
    let pairs = lines.filter(|line| !line.starts_with([' ', '#'])).filter_map(|line| line.split_once('='));
    pairs.map(|(key, value)| (key.trim().to_owned(), plain(value))).collect()
}

/// A value without quotes and comments.
fn plain(value: &str) -> String {
    let value = value.trim();
    let quoted = value.strip_prefix('"').and_then(|rest| rest.split('"').next());
    quoted.unwrap_or_else(|| value.split('#').next().unwrap_or_default().trim_end()).to_owned()
}

impl<'a> Scan<'a> {
    fn new(text: &'a str) -> Self {
        let (path, open) = (Vec::new(), Vec::new());
        let expected = Some(Expected::Key);
        Self { text, path, section: 0, known: vec![Known::new()], open, expected, word: None }
    }

    /// Reads up to the byte `end`; `None` if it is in a comment.
    fn read(&mut self, mut at: usize, end: usize) -> Option<()> {
        let line_end = |at: usize| self.text[at..end].find('\n').map(|length| at + length);
        while at < end {
            let character = self.text[at..].chars().next()?;
            let mut next = at + character.len_utf8();
            match character {
                '#' => next = line_end(at)?,
                '"' | '\'' => {
                    self.word.get_or_insert(at);
                    let rest = &self.text[next..end];
                    let Some(length) = rest.find([character, '\n']) else { return Some(()) };
                    next += length + usize::from(rest[length..].starts_with(character));
                }
                '[' if self.starts_line(at) => {
                    let Some(line) = line_end(at) else {
                        (self.expected, self.word) = (Some(Expected::Table), Some(at));
                        return Some(());
                    };
                    self.header(at, line);
                    next = line;
                }
                _ => self.step(at, character),
            }
            at = next;
        }
        Some(())
    }

    fn starts_line(&self, at: usize) -> bool {
        self.open.is_empty() && (at == 0 || self.text[..at].ends_with('\n'))
    }

    fn header(&mut self, from: usize, to: usize) {
        let names = self.text[from..to].split('#').next().unwrap_or_default().trim();
        self.path = names.trim_matches(['[', ']']).split('.').map(|name| name.trim().to_owned()).collect();
        self.section = self.path.len();
        self.known.truncate(1);
        self.known.resize(1 + self.section, Known::new());
        self.expected = Some(Expected::Key);
        self.word = None;
    }

    /// Takes a character that is neither of a string nor of a comment.
    fn step(&mut self, at: usize, character: char) {
        match character {
            '=' if self.expected == Some(Expected::Key) => {
                let key = self.written(at);
                self.path.extend(key.split('.').map(|name| name.trim_matches('"').to_owned()));
                self.expected = Some(Expected::Value);
                self.word = None;
            }
            '{' | '[' if self.expected == Some(Expected::Value) => {
                let is_table = character == '{';
                self.open.push(Open { is_table, depth: self.path.len() });
                if is_table {
                    self.known.truncate(self.path.len());
                    self.known.resize(1 + self.path.len(), Known::new());
                    self.expected = Some(Expected::Key);
                }
                self.word = None;
            }
            ',' => {
                self.end_value(at);
                let is_table = self.open.last().is_some_and(|open| open.is_table);
                self.expected = Some(if is_table { Expected::Key } else { Expected::Value });
            }
            '}' | ']' => {
                self.end_value(at);
                self.open.pop();
                self.expected = None;
            }
            '\n' => {
                self.end_value(at);
                // An inline table has one line: one that is still open is being written.
                if self.open.last().is_none_or(|open| open.is_table) {
                    self.open.clear();
                    self.path.truncate(self.section);
                    self.known.truncate(1 + self.section);
                    self.expected = Some(Expected::Key);
                }
            }
            _ if character.is_whitespace() => self.end_word(at),
            _ => {
                self.word.get_or_insert(at);
            }
        }
    }

    /// A word has ended: behind a value there is nothing to write.
    fn end_word(&mut self, at: usize) {
        if self.expected == Some(Expected::Value) && self.word.is_some() {
            self.end_value(at);
            self.expected = None;
        }
    }

    /// The word up to a byte.
    fn written(&self, at: usize) -> &'a str {
        self.word.map_or("", |start| self.text[start..at].trim())
    }

    /// Keeps the value that ends here, and returns to its table.
    fn end_value(&mut self, at: usize) {
        let depth = self.open.last().map_or(self.section, |open| open.depth);
        if self.path.len() > depth {
            let (key, value) = (self.path[depth].clone(), plain(self.written(at)));
            if let Some(table) = self.known.get_mut(depth) {
                table.insert(key, value);
            }
        }
        self.path.truncate(depth);
        self.known.truncate(1 + depth);
        self.word = None;
    }
}
