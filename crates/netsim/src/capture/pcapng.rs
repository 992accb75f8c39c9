//! The pcapng blocks that a capture needs (draft-ietf-opsawg-pcapng): section header, interface
//! description, enhanced packet. Little-endian throughout, so that the bytes do not depend on the
//! machine.

use whimbrel_units::Instant;

const SECTION_HEADER: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;

const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
/// Raw IP: the version is in the first four bits.
const LINKTYPE_RAW: u16 = 101;

const OPTION_END: u16 = 0;
const OPTION_COMMENT: u16 = 1;
const SECTION_APPLICATION: u16 = 4;
const INTERFACE_NAME: u16 = 2;
const INTERFACE_TIME_RESOLUTION: u16 = 9;

/// Writes a pcapng stream into memory.
#[derive(Debug)]
pub struct PcapngWriter {
    out: Vec<u8>,
    interfaces: u32,
}

impl PcapngWriter {
    /// A stream with nothing but its header.
    pub fn new() -> Self {
        let mut writer = Self { out: Vec::new(), interfaces: 0 };
        writer.block(SECTION_HEADER, |out| {
            out.extend(BYTE_ORDER_MAGIC.to_le_bytes());
            out.extend(1u16.to_le_bytes());
            out.extend(0u16.to_le_bytes());
            // The section's length is not known beforehand.
            out.extend((-1i64).to_le_bytes());
            option(out, SECTION_APPLICATION, b"whimbrel");
            option(out, OPTION_END, b"");
        });
        writer
    }

    /// Describes an interface of raw IP packets and returns its number.
    pub fn interface(&mut self, name: &str) -> u32 {
        self.interface_of(name, LINKTYPE_RAW)
    }

    /// Describes an interface of this link type and returns its number.
    pub fn interface_of(&mut self, name: &str, link_type: u16) -> u32 {
        self.block(INTERFACE_DESCRIPTION, |out| {
            out.extend(link_type.to_le_bytes());
            out.extend(0u16.to_le_bytes());
            // No limit on the captured length.
            out.extend(0u32.to_le_bytes());
            option(out, INTERFACE_NAME, name.as_bytes());
            // Timestamps count 10^-9 s.
            option(out, INTERFACE_TIME_RESOLUTION, &[9]);
            option(out, OPTION_END, b"");
        });
        self.interfaces += 1;
        self.interfaces - 1
    }

    /// Adds a packet that passed an interface: `original_length` is its true length in bytes, of which
    /// `bytes` may be the beginning only.
    pub fn packet(
        &mut self,
        interface: u32,
        at: Instant,
        bytes: &[u8],
        original_length: u32,
        comment: Option<&str>,
    ) {
        let captured = u32::try_from(bytes.len()).expect("a packet is shorter than 4 GiB");
        self.block(ENHANCED_PACKET, |out| {
            out.extend(interface.to_le_bytes());
            out.extend(((at.as_nanos() >> 32) as u32).to_le_bytes());
            out.extend((at.as_nanos() as u32).to_le_bytes());
            out.extend(captured.to_le_bytes());
            out.extend(original_length.max(captured).to_le_bytes());
            out.extend(bytes);
            pad(out, bytes.len());
            if let Some(comment) = comment {
                option(out, OPTION_COMMENT, comment.as_bytes());
                option(out, OPTION_END, b"");
            }
        });
    }

    /// The bytes written since the last call.
    pub fn take(&mut self) -> Vec<u8> {
        core::mem::take(&mut self.out)
    }

    /// A block carries its length at both ends.
    fn block(&mut self, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
        let start = self.out.len();
        self.out.extend(kind.to_le_bytes());
        self.out.extend([0; 4]);
        body(&mut self.out);
        let length = u32::try_from(self.out.len() - start + 4).expect("a block is shorter than 4 GiB");
        self.out[start + 4..start + 8].copy_from_slice(&length.to_le_bytes());
        self.out.extend(length.to_le_bytes());
    }
}

impl Default for PcapngWriter {
    fn default() -> Self {
        Self::new()
    }
}

fn option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    let length = value.len().min(usize::from(u16::MAX));
    out.extend(code.to_le_bytes());
    out.extend((length as u16).to_le_bytes());
    out.extend(&value[..length]);
    pad(out, length);
}

/// Everything is aligned to four bytes.
fn pad(out: &mut Vec<u8>, length: usize) {
    out.extend(core::iter::repeat_n(0, length.wrapping_neg() % 4));
}
