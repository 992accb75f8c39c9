//! The format of tcpdump (draft-ietf-opsawg-pcap), with microseconds or nanoseconds, and the variant with
//! longer record headers written by some old Linux systems.

use std::io::Read;

use super::{CaptureError, CaptureErrorKind, Endian, Frame, Input, MAX_FRAME, instant};

const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;
/// The variant with eight additional bytes in each record header.
const LONG_RECORDS: u32 = 0xa1b2_cd34;
/// The only version since 1998.
const MAJOR_VERSION: u16 = 2;

/// Contents of the file header.
#[derive(Debug)]
pub(super) struct Pcap {
    endian: Endian,
    per_second: u64,
    long_records: bool,
    link_type: u16,
}

impl Pcap {
    /// Reads the remainder of the header, after its magic number.
    pub(super) fn start<R: Read>(input: &mut Input<R>, magic: [u8; 4]) -> Result<Self, CaptureError> {
        let known = |endian: Endian| {
            let number = endian.u32(magic);
            matches!(number, MICROSECONDS | NANOSECONDS | LONG_RECORDS).then_some((endian, number))
        };
        let Some((endian, number)) = known(Endian::Little).or_else(|| known(Endian::Big)) else {
            return Input::<R>::error(0, not_a_capture(magic));
        };
        let header: [u8; 20] = input.array("the pcap header")?;
        let major = endian.u16([header[0], header[1]]);
        if major != MAJOR_VERSION {
            let kind = CaptureErrorKind::Version { format: "pcap", major, expected: MAJOR_VERSION };
            return Input::<R>::error(4, kind);
        }
        // The upper bits describe a frame check sequence; the ends of frames are not parsed.
        let link_type = endian.u32([header[16], header[17], header[18], header[19]]) as u16;
        let per_second = if number == NANOSECONDS { 1_000_000_000 } else { 1_000_000 };
        Ok(Self { endian, per_second, long_records: number == LONG_RECORDS, link_type })
    }

    pub(super) fn next_frame<R: Read>(&self, input: &mut Input<R>) -> Result<Option<Frame>, CaptureError> {
        let offset = input.offset();
        let Some(header) = input.array_or_end::<16>("a pcap record's header")? else { return Ok(None) };
        let word = |at: usize| self.endian.u32_at(&header, at).unwrap_or(0);
        if self.long_records {
            input.skip(8, "a pcap record's header")?;
        }
        let length = word(8);
        if length > MAX_FRAME {
            let kind = CaptureErrorKind::TooLong {
                what: "a pcap record",
                length: length.into(),
                most: MAX_FRAME.into(),
            };
            return Input::<R>::error(offset, kind);
        }
        input.fill(length as usize, "a pcap record")?;
        Ok(Some(Frame {
            offset,
            at: Some(instant(word(0).into(), word(4).into(), self.per_second)),
            interface: 0,
            link_type: self.link_type,
            start: 0,
            length: length as usize,
            original_length: word(12),
        }))
    }
}

/// Identifies other file formats by their magic number.
fn not_a_capture(magic: [u8; 4]) -> CaptureErrorKind {
    match magic {
        [0x1f, 0x8b, ..] => CaptureErrorKind::Compressed("gzip"),
        [0x28, 0xb5, 0x2f, 0xfd] => CaptureErrorKind::Compressed("zstd"),
        [0xfd, b'7', b'z', b'X'] => CaptureErrorKind::Compressed("xz"),
        [0x04, 0x22, 0x4d, 0x18] => CaptureErrorKind::Compressed("lz4"),
        _ => CaptureErrorKind::NotACapture(magic),
    }
}
