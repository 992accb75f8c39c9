//! A stream of bytes that knows how far it has been read.

use std::io::{ErrorKind, Read};

use super::{CaptureError, CaptureErrorKind};

/// The order of bytes in a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Endian {
    Little,
    Big,
}

impl Endian {
    pub(super) fn u16(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(bytes),
            Self::Big => u16::from_be_bytes(bytes),
        }
    }
    pub(super) fn u32(self, bytes: [u8; 4]) -> u32 {
        match self {
            Self::Little => u32::from_le_bytes(bytes),
            Self::Big => u32::from_be_bytes(bytes),
        }
    }
    /// The number at `at`, or `None` beyond the end.
    pub(super) fn u16_at(self, bytes: &[u8], at: usize) -> Option<u16> {
        Some(self.u16(*bytes.get(at..)?.first_chunk()?))
    }
    /// The number at `at`, or `None` beyond the end.
    pub(super) fn u32_at(self, bytes: &[u8], at: usize) -> Option<u32> {
        Some(self.u32(*bytes.get(at..)?.first_chunk()?))
    }
}

/// A stream with a buffer for one record.
#[derive(Debug)]
pub(super) struct Input<R> {
    reader: R,
    offset: u64,
    buffer: Vec<u8>,
}

impl<R: Read> Input<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, offset: 0, buffer: Vec::new() }
    }

    /// How many bytes have been read.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// An error that is at `offset`.
    pub(super) fn error<T>(offset: u64, kind: CaptureErrorKind) -> Result<T, CaptureError> {
        Err(CaptureError { offset, kind })
    }

    /// Reads `length` bytes into the buffer, in place of what it holds. Memory is taken for bytes that
    /// are there, not for those that a length field promises.
    pub(super) fn fill(&mut self, length: usize, what: &'static str) -> Result<(), CaptureError> {
        let start = self.offset;
        self.buffer.clear();
        let read = self.reader.by_ref().take(length as u64).read_to_end(&mut self.buffer);
        self.offset += self.buffer.len() as u64;
        if let Err(error) = read {
            return Self::error(start, CaptureErrorKind::Io(error));
        }
        let found = self.buffer.len();
        if found < length {
            let kind = CaptureErrorKind::CutOff { what, expected: length as u64, found: found as u64 };
            return Self::error(start, kind);
        }
        Ok(())
    }

    /// What the last [`Input::fill`] read.
    pub(super) fn buffer(&self) -> &[u8] {
        &self.buffer
    }

    /// Reads `N` bytes; `None` at the end of the file.
    pub(super) fn array_or_end<const N: usize>(
        &mut self,
        what: &'static str,
    ) -> Result<Option<[u8; N]>, CaptureError> {
        let start = self.offset;
        let mut bytes = [0; N];
        let mut found = 0;
        while found < N {
            match self.reader.read(&mut bytes[found..]) {
                Ok(0) if found == 0 => return Ok(None),
                Ok(0) => {
                    let kind = CaptureErrorKind::CutOff { what, expected: N as u64, found: found as u64 };
                    return Self::error(start, kind);
                }
                Ok(read) => {
                    found += read;
                    self.offset += read as u64;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Self::error(start, CaptureErrorKind::Io(error)),
            }
        }
        Ok(Some(bytes))
    }

    /// Reads `N` bytes, which must be there.
    pub(super) fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], CaptureError> {
        match self.array_or_end(what)? {
            Some(bytes) => Ok(bytes),
            None => Self::error(self.offset, CaptureErrorKind::CutOff { what, expected: N as u64, found: 0 }),
        }
    }

    /// Passes over `length` bytes.
    pub(super) fn skip(&mut self, length: u64, what: &'static str) -> Result<(), CaptureError> {
        let start = self.offset;
        let passed = std::io::copy(&mut self.reader.by_ref().take(length), &mut std::io::sink());
        let passed =
            passed.map_err(|error| CaptureError { offset: start, kind: CaptureErrorKind::Io(error) })?;
        self.offset += passed;
        if passed < length {
            return Self::error(start, CaptureErrorKind::CutOff { what, expected: length, found: passed });
        }
        Ok(())
    }
}
