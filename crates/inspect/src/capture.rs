//! Capture files, one record at a time: pcap and pcapng, in either byte order, plain or compressed with gzip.
//!
//! A file may come from anywhere and is not trusted: lengths are checked before use, memory grows only with
//! bytes that are present, and errors are reported with their offset in the file and the expected content.
//! Blocks and options unrelated to packets are skipped. Files with common deviations are accepted: packets
//! longer than the announced snap length, and pcapng options without an end mark, as written by many
//! programs.
//!
//! Files compressed with gzip are decompressed while they are read, so that memory does not grow with the
//! decompressed size.

mod error;
mod input;
mod pcap;
mod pcapng;

use std::collections::VecDeque;
use std::io::Read;

use whimbrel_units::Instant;

pub use error::{CaptureError, CaptureErrorKind};
use input::{Endian, Input};
use pcap::Pcap;
use pcapng::Pcapng;

/// Maximum length of a frame: four times the maximum written by libpcap.
pub const MAX_FRAME: u32 = 1 << 20;

/// Maximum number of packets of a list of packets, so that a small file which inflates to a great deal cannot
/// exhaust the memory.
pub const MAX_LISTED: u64 = 10_000_000;

/// One captured frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Record<'a> {
    /// Counts from 1, as Wireshark numbers packets.
    pub number: u64,
    /// Offset of the record or block in the file, in bytes; in the decompressed data if the file is
    /// compressed.
    pub offset: u64,
    /// Capture time since 1970 (or the start of the simulation). Records without a time, which pcapng allows,
    /// have the previous record's; records before the first time have the time of the first record with one.
    pub at: Instant,
    /// Number of the interface; zero in pcap files.
    pub interface: u32,
    /// Name of the interface, if the file contains it.
    pub interface_name: Option<&'a str>,
    /// The link type, as in <https://www.tcpdump.org/linktypes.html>.
    pub link_type: u16,
    /// The captured bytes of the frame.
    pub data: &'a [u8],
    /// Original length of the frame, in bytes.
    pub original_length: u32,
}

/// Reads a capture file from a stream of bytes.
#[derive(Debug)]
pub struct CaptureReader<R: Read> {
    input: Input<R>,
    format: Format,
    records: u64,
    /// Time of the latest record with a time.
    now: Option<Instant>,
    /// Records before the first time, with their data.
    early: VecDeque<(Frame, Vec<u8>)>,
    /// Data of the record that was the first of these.
    early_data: Vec<u8>,
    /// Input after `early`: the frame in the input's buffer, or the reason why there is none.
    next: Option<Result<Option<Frame>, CaptureError>>,
    failed: bool,
}

/// Maximum number of records before the first time that are held until it is known, and of their bytes.
const MAX_EARLY: usize = 1 << 16;
const MAX_EARLY_BYTES: usize = 1 << 26;

#[derive(Debug)]
enum Format {
    Pcap(Pcap),
    Pcapng(Pcapng),
}

/// A frame at the end of the input's buffer.
#[derive(Clone, Copy, Debug)]
struct Frame {
    offset: u64,
    at: Option<Instant>,
    interface: u32,
    link_type: u16,
    /// Start of the data in the buffer.
    start: usize,
    length: usize,
    original_length: u32,
}

impl<R: Read> CaptureReader<R> {
    /// Reads the header of a file. The stream should be buffered.
    ///
    /// # Errors
    /// Returns an error if the file is not a capture, or its header is truncated.
    pub fn new(reader: R) -> Result<Self, CaptureError> {
        let (mut input, magic) = Input::start(reader, "a capture file's first four bytes")?;
        let format = if magic == pcapng::SECTION_HEADER {
            Format::Pcapng(Pcapng::start(&mut input)?)
        } else {
            Format::Pcap(Pcap::start(&mut input, magic)?)
        };
        Ok(Self {
            input,
            format,
            records: 0,
            now: None,
            early: VecDeque::new(),
            early_data: Vec::new(),
            next: None,
            failed: false,
        })
    }

    /// Checks the number of packets that a list has after the last frame. Frames may hold several packets, so
    /// that a count of frames is not enough.
    ///
    /// # Errors
    /// If it exceeds [`MAX_LISTED`]. There are no more frames.
    pub fn check_listed(&mut self, packets: u64) -> Result<(), CaptureError> {
        if packets <= MAX_LISTED {
            return Ok(());
        }
        self.failed = true;
        Input::<R>::error(self.input.offset(), CaptureErrorKind::TooManyPackets(MAX_LISTED))
    }

    /// Reads the next frame; `None` at the end of the file. After an error there are no more.
    ///
    /// # Errors
    /// Returns an error if the file is truncated or invalid.
    pub fn next_record(&mut self) -> Result<Option<Record<'_>>, CaptureError> {
        if self.failed {
            return Ok(None);
        }
        let frame = self.next_frame();
        self.failed = frame.is_err();
        let Some((frame, is_early)) = frame? else { return Ok(None) };
        self.records += 1;
        self.now = frame.at.or(self.now);
        let data = if is_early { &self.early_data[..] } else { self.input.buffer() };
        Ok(Some(Record {
            number: self.records,
            offset: frame.offset,
            at: self.now.unwrap_or_default(),
            interface: frame.interface,
            interface_name: match &self.format {
                Format::Pcap(_) => None,
                Format::Pcapng(pcapng) => pcapng.interface_name(frame.interface),
            },
            link_type: frame.link_type,
            data: &data[frame.start..frame.start + frame.length],
            original_length: frame.original_length.max(frame.length as u32),
        }))
    }

    /// The next frame, and `true` if its data is in `early_data`.
    fn next_frame(&mut self) -> Result<Option<(Frame, bool)>, CaptureError> {
        if let Some((frame, data)) = self.early.pop_front() {
            self.early_data = data;
            return Ok(Some((frame, true)));
        }
        if let Some(next) = self.next.take() {
            return next.map(|frame| frame.map(|frame| (frame, false)));
        }
        let first = self.read_frame()?;
        if self.now.is_some() || first.is_none_or(|frame| frame.at.is_some()) {
            return Ok(first.map(|frame| (frame, false)));
        }
        self.next = Some(self.hold_early(first));
        self.next_frame()
    }

    /// Holds the frames before the first with a time, and gives them that time. Returns what follows them.
    fn hold_early(&mut self, mut next: Option<Frame>) -> Result<Option<Frame>, CaptureError> {
        let mut bytes = 0;
        while let Some(frame) = next {
            let is_full = self.early.len() >= MAX_EARLY || bytes >= MAX_EARLY_BYTES;
            if frame.at.is_some() || is_full {
                // Without a time within the limits, the records begin at zero.
                self.now = Some(frame.at.unwrap_or_default());
                break;
            }
            bytes += self.input.buffer().len();
            self.early.push_back((frame, self.input.buffer().to_vec()));
            next = self.read_frame()?;
        }
        Ok(next)
    }

    fn read_frame(&mut self) -> Result<Option<Frame>, CaptureError> {
        match &mut self.format {
            Format::Pcap(pcap) => pcap.next_frame(&mut self.input),
            Format::Pcapng(pcapng) => pcapng.next_frame(&mut self.input),
        }
    }
}

/// An instant from a number of seconds and a fraction of `per_second` units, saturating in the year 2554.
fn instant(seconds: u64, units: u64, per_second: u64) -> Instant {
    let fraction = u128::from(units) * 1_000_000_000 / u128::from(per_second.max(1));
    let nanos = u128::from(seconds) * 1_000_000_000 + fraction;
    Instant::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests;
