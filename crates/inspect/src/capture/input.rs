//! A byte stream with a count of the bytes read.

use std::io::{BufReader, Chain, Cursor, ErrorKind, Read};

use flate2::read::MultiGzDecoder;

use super::{CaptureError, CaptureErrorKind};

/// Byte order of a file.
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

    /// The number at `at`; `None` beyond the end.
    pub(super) fn u16_at(self, bytes: &[u8], at: usize) -> Option<u16> {
        Some(self.u16(*bytes.get(at..)?.first_chunk()?))
    }

    /// The number at `at`; `None` beyond the end.
    pub(super) fn u32_at(self, bytes: &[u8], at: usize) -> Option<u32> {
        Some(self.u32(*bytes.get(at..)?.first_chunk()?))
    }
}

/// The first bytes of a gzip file (RFC 1952, Section 2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// A stream with its first bytes put back after they were read.
type Whole<R> = Chain<Cursor<[u8; 4]>, R>;

/// The bytes of a file, decompressed if it is compressed with gzip.
#[derive(Debug)]
enum Source<R: Read> {
    Plain(R),
    /// Decompressed while it is read: memory does not grow with the decompressed size.
    Gzip(Box<BufReader<MultiGzDecoder<Whole<R>>>>),
    /// Placeholder while a stream moves from one variant to the other.
    Empty,
}

impl<R: Read> Read for Source<R> {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Self::Plain(reader) => reader.read(bytes),
            Self::Gzip(reader) => reader.read(bytes),
            Self::Empty => Ok(0),
        }
    }
}

/// A stream with a buffer for one record.
#[derive(Debug)]
pub(super) struct Input<R: Read> {
    reader: Source<R>,
    offset: u64,
    buffer: Vec<u8>,
}

impl<R: Read> Input<R> {
    /// Reads the first four bytes of the file, after decompression if it is compressed with gzip. Offsets
    /// also count decompressed bytes.
    pub(super) fn start(reader: R, what: &'static str) -> Result<(Self, [u8; 4]), CaptureError> {
        let mut input = Self { reader: Source::Plain(reader), offset: 0, buffer: Vec::new() };
        let magic: [u8; 4] = input.array(what)?;
        if !magic.starts_with(&GZIP) {
            return Ok((input, magic));
        }
        if let Source::Plain(reader) = std::mem::replace(&mut input.reader, Source::Empty) {
            let whole = Cursor::new(magic).chain(reader);
            input.reader = Source::Gzip(Box::new(BufReader::new(MultiGzDecoder::new(whole))));
        }
        input.offset = 0;
        let magic = input.array(what)?;
        Ok((input, magic))
    }

    fn io_error<T>(&self, offset: u64, error: std::io::Error) -> Result<T, CaptureError> {
        let kind = match self.reader {
            Source::Gzip(_) => CaptureErrorKind::Gzip(error),
            Source::Plain(_) | Source::Empty => CaptureErrorKind::Io(error),
        };
        Self::error(offset, kind)
    }

    /// Number of bytes read.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// An error at `offset`.
    pub(super) fn error<T>(offset: u64, kind: CaptureErrorKind) -> Result<T, CaptureError> {
        Err(CaptureError { offset, kind })
    }

    /// Reads `length` bytes into the buffer, replacing its contents. Memory is allocated for bytes that are
    /// present, not for those announced by a length field.
    pub(super) fn fill(&mut self, length: usize, what: &'static str) -> Result<(), CaptureError> {
        let start = self.offset;
        self.buffer.clear();
        let read = self.reader.by_ref().take(length as u64).read_to_end(&mut self.buffer);
        self.offset += self.buffer.len() as u64;
        if let Err(error) = read {
            return self.io_error(start, error);
        }
        let found = self.buffer.len();
        if found < length {
            let kind = CaptureErrorKind::CutOff { what, expected: length as u64, found: found as u64 };
            return Self::error(start, kind);
        }
        Ok(())
    }

    /// The bytes read by the last [`Input::fill`].
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
                Err(error) => return self.io_error(start, error),
            }
        }
        Ok(Some(bytes))
    }

    /// Reads `N` bytes, which must be present.
    pub(super) fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], CaptureError> {
        match self.array_or_end(what)? {
            Some(bytes) => Ok(bytes),
            None => Self::error(self.offset, CaptureErrorKind::CutOff { what, expected: N as u64, found: 0 }),
        }
    }

    /// Skips `length` bytes.
    pub(super) fn skip(&mut self, length: u64, what: &'static str) -> Result<(), CaptureError> {
        let start = self.offset;
        let passed = std::io::copy(&mut self.reader.by_ref().take(length), &mut std::io::sink());
        let passed = match passed {
            Ok(passed) => passed,
            Err(error) => return self.io_error(start, error),
        };
        self.offset += passed;
        if passed < length {
            return Self::error(start, CaptureErrorKind::CutOff { what, expected: length, found: passed });
        }
        Ok(())
    }
}
