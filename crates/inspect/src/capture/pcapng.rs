//! The format of Wireshark (draft-ietf-opsawg-pcapng): sections of blocks, each section with its own byte
//! order and interfaces.

use std::io::Read;

use whimbrel_units::Instant;

use super::{CaptureError, CaptureErrorKind, Endian, Frame, Input, MAX_FRAME, instant};

/// The first four bytes of a section, the same in both byte orders.
pub(super) const SECTION_HEADER: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
const INTERFACE_DESCRIPTION: u32 = 1;
const PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const MAJOR_VERSION: u16 = 1;
/// Length of type and length fields at the beginning, and of the length field at the end.
const BLOCK_FRAME: u32 = 12;
/// Maximum length of a block: a packet block contains a frame, some numbers and options.
const MAX_BLOCK: u32 = 4 * MAX_FRAME;
/// Maximum number of interfaces, more than any machine has.
const MAX_INTERFACES: usize = 1 << 16;

const OPTION_NAME: u16 = 2;
const OPTION_TIME_RESOLUTION: u16 = 9;
const OPTION_TIME_OFFSET: u16 = 14;
/// Maximum length of the options used; names are truncated.
const MAX_NAME: usize = 256;

/// State of the current section.
#[derive(Debug)]
pub(super) struct Pcapng {
    endian: Endian,
    interfaces: Vec<Interface>,
}

#[derive(Debug)]
struct Interface {
    link_type: u16,
    snap_length: u32,
    /// Units of its timestamps per second.
    per_second: u64,
    /// Seconds to add to its timestamps.
    offset: i64,
    name: Option<String>,
}

impl Interface {
    fn instant(&self, stamp: u64) -> Instant {
        let seconds = (stamp / self.per_second).saturating_add_signed(self.offset);
        instant(seconds, stamp % self.per_second, self.per_second)
    }
}

impl Pcapng {
    /// Reads the remainder of the first section's header, after its type.
    pub(super) fn start<R: Read>(input: &mut Input<R>) -> Result<Self, CaptureError> {
        let mut section = Self { endian: Endian::Little, interfaces: Vec::new() };
        let length = input.array("a pcapng section header")?;
        section.begin_section(input, 0, length)?;
        Ok(section)
    }

    pub(super) fn interface_name(&self, interface: u32) -> Option<&str> {
        self.interfaces.get(interface as usize)?.name.as_deref()
    }

    pub(super) fn next_frame<R: Read>(
        &mut self,
        input: &mut Input<R>,
    ) -> Result<Option<Frame>, CaptureError> {
        loop {
            let offset = input.offset();
            let Some([a, b, c, d, length @ ..]) = input.array_or_end::<8>("a pcapng block's header")? else {
                return Ok(None);
            };
            if [a, b, c, d] == SECTION_HEADER {
                self.begin_section(input, offset, length)?;
                continue;
            }
            let kind = self.endian.u32([a, b, c, d]);
            let length = self.endian.u32(length);
            match kind {
                INTERFACE_DESCRIPTION => {
                    self.body(input, offset, length, "pcapng interface description", 8)?;
                    self.describe_interface(input.buffer(), offset)?;
                }
                ENHANCED_PACKET => {
                    self.body(input, offset, length, "pcapng enhanced packet", 20)?;
                    return self.enhanced_packet(input.buffer(), offset).map(Some);
                }
                PACKET => {
                    self.body(input, offset, length, "pcapng packet", 20)?;
                    return self.obsolete_packet(input.buffer(), offset).map(Some);
                }
                SIMPLE_PACKET => {
                    self.body(input, offset, length, "pcapng simple packet", 4)?;
                    return self.simple_packet(input.buffer(), offset).map(Some);
                }
                _ => self.skip_block(input, offset, length)?,
            }
        }
    }

    /// Reads a section header after its type and `length`.
    fn begin_section<R: Read>(
        &mut self,
        input: &mut Input<R>,
        offset: u64,
        length: [u8; 4],
    ) -> Result<(), CaptureError> {
        let magic: [u8; 4] = input.array("a pcapng section header")?;
        self.endian = match magic {
            magic if Endian::Little.u32(magic) == BYTE_ORDER_MAGIC => Endian::Little,
            magic if Endian::Big.u32(magic) == BYTE_ORDER_MAGIC => Endian::Big,
            magic => return Input::<R>::error(offset + 8, CaptureErrorKind::ByteOrder(magic)),
        };
        self.interfaces.clear();
        let version: [u8; 12] = input.array("a pcapng section header")?;
        let major = self.endian.u16([version[0], version[1]]);
        if major != MAJOR_VERSION {
            let kind = CaptureErrorKind::Version { format: "pcapng", major, expected: MAJOR_VERSION };
            return Input::<R>::error(offset + 12, kind);
        }
        let length = self.endian.u32(length);
        if length < BLOCK_FRAME + 16 {
            return Input::<R>::error(offset, too_short("pcapng section header", length, 28));
        }
        input.skip(u64::from(padded(length) - BLOCK_FRAME - 16), "a pcapng section header")?;
        self.trailer(input, offset, length)
    }

    /// Reads a block's body of at least `least` bytes into the buffer, and its end.
    fn body<R: Read>(
        &self,
        input: &mut Input<R>,
        offset: u64,
        length: u32,
        what: &'static str,
        least: u32,
    ) -> Result<(), CaptureError> {
        if length < BLOCK_FRAME + least {
            return Input::<R>::error(offset, too_short(what, length, BLOCK_FRAME + least));
        }
        if length > MAX_BLOCK {
            let kind = CaptureErrorKind::TooLong { what, length: length.into(), most: MAX_BLOCK.into() };
            return Input::<R>::error(offset, kind);
        }
        // Includes the length field at the end of the block.
        let whole = (padded(length) - BLOCK_FRAME + 4) as usize;
        input.fill(whole, what)?;
        let last = self.endian.u32_at(input.buffer(), whole - 4).unwrap_or(0);
        if is_same_length(length, last) {
            Ok(())
        } else {
            Input::<R>::error(offset, CaptureErrorKind::TwoLengths(length, last))
        }
    }

    /// Skips a block unrelated to packets, of any length.
    fn skip_block<R: Read>(
        &self,
        input: &mut Input<R>,
        offset: u64,
        length: u32,
    ) -> Result<(), CaptureError> {
        if length < BLOCK_FRAME {
            return Input::<R>::error(offset, too_short("pcapng block", length, BLOCK_FRAME));
        }
        input.skip(u64::from(padded(length) - BLOCK_FRAME), "a pcapng block")?;
        self.trailer(input, offset, length)
    }

    fn trailer<R: Read>(&self, input: &mut Input<R>, offset: u64, length: u32) -> Result<(), CaptureError> {
        match self.endian.u32(input.array("a pcapng block")?) {
            last if is_same_length(length, last) => Ok(()),
            last => Input::<R>::error(offset, CaptureErrorKind::TwoLengths(length, last)),
        }
    }

    fn describe_interface(&mut self, body: &[u8], offset: u64) -> Result<(), CaptureError> {
        if self.interfaces.len() >= MAX_INTERFACES {
            let (length, most) = (self.interfaces.len() as u64 + 1, MAX_INTERFACES as u64);
            let kind = CaptureErrorKind::TooLong { what: "a list of interfaces", length, most };
            return Err(CaptureError { offset, kind });
        }
        let mut interface = Interface {
            link_type: self.endian.u16_at(body, 0).unwrap_or(0),
            snap_length: self.endian.u32_at(body, 4).unwrap_or(0),
            per_second: 1_000_000,
            offset: 0,
            name: None,
        };
        let mut rest = &body[8..body.len() - 4];
        while let Some((code, value, after)) = self.option(rest) {
            match (code, value) {
                (OPTION_NAME, name) => {
                    let name = &name[..name.len().min(MAX_NAME)];
                    interface.name = Some(String::from_utf8_lossy(name).trim_end_matches('\0').into());
                }
                (OPTION_TIME_RESOLUTION, &[resolution]) => interface.per_second = units(resolution),
                (OPTION_TIME_OFFSET, value) if value.len() == 8 => {
                    let (one, two) = (self.endian.u32_at(value, 0), self.endian.u32_at(value, 4));
                    let (low, high) = if self.endian == Endian::Little { (one, two) } else { (two, one) };
                    let whole = u64::from(high.unwrap_or(0)) << 32 | u64::from(low.unwrap_or(0));
                    interface.offset = whole.cast_signed();
                }
                _ => {}
            }
            rest = after;
        }
        self.interfaces.push(interface);
        Ok(())
    }

    /// The next option: its code, its value and what follows it.
    fn option<'a>(&self, rest: &'a [u8]) -> Option<(u16, &'a [u8], &'a [u8])> {
        let code = self.endian.u16_at(rest, 0).filter(|code| *code != 0)?;
        let length = usize::from(self.endian.u16_at(rest, 2)?);
        let value = rest.get(4..4 + length)?;
        Some((code, value, rest.get(4 + length.next_multiple_of(4)..).unwrap_or(&[])))
    }

    fn enhanced_packet(&self, body: &[u8], offset: u64) -> Result<Frame, CaptureError> {
        let word = |at| self.endian.u32_at(body, at).unwrap_or(0);
        self.packet(body, offset, word(0), [word(4), word(8), word(12), word(16)], 20)
    }

    /// The packet block of early pcapng, which differs in the width of the interface number.
    fn obsolete_packet(&self, body: &[u8], offset: u64) -> Result<Frame, CaptureError> {
        let word = |at| self.endian.u32_at(body, at).unwrap_or(0);
        let interface = self.endian.u16_at(body, 0).unwrap_or(0).into();
        self.packet(body, offset, interface, [word(4), word(8), word(12), word(16)], 20)
    }

    fn packet(
        &self,
        body: &[u8],
        offset: u64,
        number: u32,
        [high, low, captured, original_length]: [u32; 4],
        start: usize,
    ) -> Result<Frame, CaptureError> {
        let Some(interface) = self.interfaces.get(number as usize) else {
            return Err(CaptureError { offset, kind: CaptureErrorKind::NoInterface(number) });
        };
        let length = captured as usize;
        let room = body.len() - 4 - start;
        if length > room || captured > MAX_FRAME {
            let most = room.min(MAX_FRAME as usize) as u64;
            let kind = CaptureErrorKind::TooLong { what: "a packet", length: length as u64, most };
            return Err(CaptureError { offset, kind });
        }
        let at = Some(interface.instant(u64::from(high) << 32 | u64::from(low)));
        let link_type = interface.link_type;
        Ok(Frame { offset, at, interface: number, link_type, start, length, original_length })
    }

    /// The simple packet block: it belongs to the first interface, has no time, and is truncated to the snap
    /// length.
    fn simple_packet(&self, body: &[u8], offset: u64) -> Result<Frame, CaptureError> {
        let Some(interface) = self.interfaces.first() else {
            return Err(CaptureError { offset, kind: CaptureErrorKind::NoInterface(0) });
        };
        let original_length = self.endian.u32_at(body, 0).unwrap_or(0);
        let snap_length = if interface.snap_length == 0 { u32::MAX } else { interface.snap_length };
        let length = (original_length.min(snap_length) as usize).min(body.len() - 8);
        let link_type = interface.link_type;
        Ok(Frame { offset, at: None, interface: 0, link_type, start: 4, length, original_length })
    }
}

/// Units per second: a power of ten or, with the high bit, of two. Values beyond any clock are limited to the
/// finest that fits.
fn units(resolution: u8) -> u64 {
    let exponent = u32::from(resolution & 0x7f);
    if resolution & 0x80 == 0 { 10u64.pow(exponent.min(19)) } else { 1 << exponent.min(63) }
}

/// The length of a block in the file. Some programs write a length that is not a multiple of four without the
/// padding that they write.
fn padded(length: u32) -> u32 {
    length.checked_next_multiple_of(4).unwrap_or(length)
}

/// `true` if the length at the end of a block equals the one at its beginning, with the padding or without
/// it.
fn is_same_length(length: u32, last: u32) -> bool {
    padded(length) == padded(last)
}

fn too_short(what: &'static str, length: u32, least: u32) -> CaptureErrorKind {
    CaptureErrorKind::TooShort { what, length: length.into(), least: least.into() }
}
