//! A bound for the lines of a text, whose reader would keep a line of any length in memory.

use std::io::{self, Read};

/// The longest line of a table of numbers, in bytes.
const LONGEST_LINE: usize = 1 << 16;

/// A reader that fails at the first line beyond [`LONGEST_LINE`].
#[derive(Debug)]
pub(crate) struct BoundedLines<R> {
    inner: R,
    lines: u64,
    /// Bytes of the present line.
    length: usize,
}

impl<R> BoundedLines<R> {
    pub(crate) fn new(inner: R) -> Self {
        Self { inner, lines: 1, length: 0 }
    }
}

impl<R: Read> Read for BoundedLines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let size = self.inner.read(buffer)?;
        for part in buffer[..size].split_inclusive(|byte| *byte == b'\n') {
            self.length += part.len();
            if self.length > LONGEST_LINE {
                let text = format!("line {}: more than {LONGEST_LINE} bytes", self.lines);
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
            if part.ends_with(b"\n") {
                (self.lines, self.length) = (self.lines + 1, 0);
            }
        }
        Ok(size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_long_line_ends_the_text() {
        let line = |length: usize| "x".repeat(length - 1) + "\n";
        let fits = line(LONGEST_LINE) + &line(2) + &line(LONGEST_LINE);
        let mut text = String::new();
        BoundedLines::new(fits.as_bytes()).read_to_string(&mut text).expect("it fits");
        assert_eq!(text, fits);
        let error = BoundedLines::new((line(2) + &line(LONGEST_LINE + 1)).as_bytes())
            .read_to_string(&mut text)
            .expect_err("its second line is too long");
        assert_eq!(error.to_string(), "line 2: more than 65536 bytes");
        // Without a line end the memory is bounded as well.
        assert!(BoundedLines::new(io::repeat(b'x')).read_to_end(&mut Vec::new()).is_err());
    }
}
