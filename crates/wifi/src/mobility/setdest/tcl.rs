//! The part of Tcl that movement files consist of: commands, words, quotes, variables and arithmetic.
//!
//! A variable that the file has not set stands for itself: `$node_(3)` and `$ns_` are names of objects.

mod expression;

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

/// The longest word in bytes. Variables may contain others, so that a short file could describe long ones.
const LONGEST_WORD: usize = 4_096;
/// The deepest nesting of brackets.
const DEEPEST: u32 = 16;

/// A text that is no Tcl, or not of the part that is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Malformed;

/// A command.
pub(super) struct Command<'a> {
    /// Its line, from 1.
    pub(super) line: usize,
    /// Its words, after all substitutions.
    pub(super) words: Vec<String>,
    /// Its text, without substitutions.
    pub(super) text: &'a str,
}

/// The variables that a file has set.
pub(super) type Variables = BTreeMap<String, String>;

/// The commands of a script.
pub(super) struct Script<'a> {
    text: &'a str,
    position: usize,
    line: usize,
}

impl<'a> Script<'a> {
    /// The script that begins at `line` of a file.
    pub(super) fn new(text: &'a str, line: usize) -> Self {
        Self { text, position: 0, line }
    }

    /// The next command, with the values that variables have now; `None` at the end. An error comes with the
    /// line and the text of its command.
    pub(super) fn next(
        &mut self,
        variables: &Variables,
    ) -> Option<Result<Command<'a>, (usize, &'a str, Malformed)>> {
        self.skip_between_commands();
        self.peek()?;
        let (start, line) = (self.position, self.line);
        let mut words = Vec::new();
        loop {
            self.skip_blanks();
            match self.peek() {
                None | Some(b'\n' | b';') => break,
                _ => {}
            }
            match self.word(variables, 0) {
                Ok(word) => words.push(word),
                Err(malformed) => {
                    let text = self.text[start..].lines().next().unwrap_or_default();
                    return Some(Err((line, text, malformed)));
                }
            }
        }
        Some(Ok(Command { line, words, text: self.text[start..self.position].trim_end() }))
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.position).copied()
    }

    fn peek_second(&self) -> Option<u8> {
        self.text.as_bytes().get(self.position + 1).copied()
    }

    /// Goes over one byte. Between two calls with bytes that are not ASCII, the position is no border of a
    /// character.
    fn step(&mut self) {
        if self.peek() == Some(b'\n') {
            self.line += 1;
        }
        self.position += 1;
    }

    /// Length of a backslash before the end of a line, which joins it with the next one; 0 without one.
    fn continuation(&self) -> usize {
        match (self.peek(), self.peek_second(), self.text.as_bytes().get(self.position + 2)) {
            (Some(b'\\'), Some(b'\n'), _) => 2,
            (Some(b'\\'), Some(b'\r'), Some(b'\n')) => 3,
            _ => 0,
        }
    }

    fn skip_blanks(&mut self) {
        loop {
            match (self.peek(), self.continuation()) {
                (Some(b' ' | b'\t' | b'\r'), _) => self.step(),
                (_, 0) => return,
                (_, length) => (0..length).for_each(|_| self.step()),
            }
        }
    }

    /// Goes over blank lines, separators and comments.
    fn skip_between_commands(&mut self) {
        loop {
            self.skip_blanks();
            match self.peek() {
                Some(b'\n' | b';') => self.step(),
                Some(b'#') => {
                    while self.peek().is_some_and(|byte| byte != b'\n') {
                        (0..self.continuation().max(1)).for_each(|_| self.step());
                    }
                }
                _ => return,
            }
        }
    }

    fn word(&mut self, variables: &Variables, depth: u32) -> Result<String, Malformed> {
        let word = match self.peek() {
            Some(b'"') => {
                self.step();
                let word = self.text_until(variables, depth, |byte| byte == b'"')?;
                self.expect(b'"')?;
                word
            }
            Some(b'{') => return self.braced(),
            _ => {
                let is_end = |byte: u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b';');
                return self.text_until(variables, depth, is_end);
            }
        };
        self.end_of_word().map(|()| word)
    }

    fn expect(&mut self, byte: u8) -> Result<(), Malformed> {
        if self.peek() != Some(byte) {
            return Err(Malformed);
        }
        self.step();
        Ok(())
    }

    /// Nothing may follow a closing quote or brace within a word.
    fn end_of_word(&self) -> Result<(), Malformed> {
        let is_end = matches!(self.peek(), None | Some(b' ' | b'\t' | b'\r' | b'\n' | b';'));
        if is_end || self.continuation() > 0 { Ok(()) } else { Err(Malformed) }
    }

    /// A text in braces, in which nothing is substituted.
    fn braced(&mut self) -> Result<String, Malformed> {
        self.expect(b'{')?;
        let (start, mut open) = (self.position, 1);
        loop {
            match self.peek().ok_or(Malformed)? {
                b'{' => open += 1,
                b'}' => open -= 1,
                b'\\' => self.step(),
                _ => {}
            }
            self.step();
            if open == 0 {
                break;
            }
        }
        let text = self.text.get(start..self.position - 1).ok_or(Malformed)?;
        self.end_of_word()?;
        if text.len() > LONGEST_WORD { Err(Malformed) } else { Ok(text.to_owned()) }
    }

    /// The text before a byte at which it ends, with its substitutions.
    fn text_until(
        &mut self,
        variables: &Variables,
        depth: u32,
        is_end: impl Fn(u8) -> bool,
    ) -> Result<String, Malformed> {
        let mut word = String::new();
        while let Some(byte) = self.peek().filter(|&byte| !is_end(byte)) {
            match byte {
                b'$' => word.push_str(&self.variable(variables, depth)?),
                b'[' => word.push_str(&self.bracketed(variables, depth)?),
                b'\\' if self.continuation() > 0 => break,
                _ => {
                    if byte == b'\\' {
                        self.step();
                    }
                    let rest = self.text.get(self.position..).ok_or(Malformed)?;
                    let character = rest.chars().next().ok_or(Malformed)?;
                    word.push(character);
                    (0..character.len_utf8()).for_each(|_| self.step());
                }
            }
            if word.len() > LONGEST_WORD {
                return Err(Malformed);
            }
        }
        Ok(word)
    }

    /// `$name`, `${name}` or `$name(index)`: its value, or itself.
    fn variable(&mut self, variables: &Variables, depth: u32) -> Result<String, Malformed> {
        self.expect(b'$')?;
        let mut name = String::new();
        if self.peek() == Some(b'{') {
            self.step();
            let start = self.position;
            while self.peek().is_some_and(|byte| byte != b'}') {
                self.step();
            }
            name.push_str(self.text.get(start..self.position).ok_or(Malformed)?);
            self.expect(b'}')?;
        } else {
            while let Some(byte) = self.peek().filter(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
                name.push(char::from(byte));
                self.step();
            }
            if self.peek() == Some(b'(') && depth < DEEPEST {
                self.step();
                let index = self.text_until(variables, depth + 1, |byte| matches!(byte, b')' | b'\n'))?;
                self.expect(b')')?;
                name.push('(');
                name.push_str(index.trim());
                name.push(')');
            }
        }
        Ok(variables.get(&name).cloned().unwrap_or_else(|| {
            name.insert(0, '$');
            name
        }))
    }

    /// `[expr ...]`: its result.
    fn bracketed(&mut self, variables: &Variables, depth: u32) -> Result<String, Malformed> {
        self.expect(b'[')?;
        if depth >= DEEPEST {
            return Err(Malformed);
        }
        let mut words = Vec::new();
        loop {
            self.skip_blanks();
            match self.peek().ok_or(Malformed)? {
                b']' => break,
                b'{' => {
                    // `expr` substitutes by itself.
                    self.step();
                    let inner = self.text_until(variables, depth + 1, |byte| byte == b'}')?;
                    self.expect(b'}')?;
                    words.push(inner);
                }
                b'"' => {
                    self.step();
                    let inner = self.text_until(variables, depth + 1, |byte| byte == b'"')?;
                    self.expect(b'"')?;
                    words.push(inner);
                }
                _ => {
                    let is_end = |byte: u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n' | b']');
                    let inner = self.text_until(variables, depth + 1, is_end)?;
                    if inner.is_empty() {
                        return Err(Malformed);
                    }
                    words.push(inner);
                }
            }
        }
        self.step();
        match words.split_first() {
            Some((command, operands)) if command == "expr" => expression::evaluate(&operands.join(" ")),
            _ => Err(Malformed),
        }
    }
}
