//! Radiotap headers: the time, rate, channel and power of a captured frame (radiotap.org).

use alloc::vec::Vec;

use crate::phy::{Modulation, Rate};

/// Reason for which bytes are not a radiotap header.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum RadiotapError {
    /// Fewer bytes than the header states or its fields need.
    Truncated,
    /// The version is not 0.
    Version(u8),
}

impl core::fmt::Display for RadiotapError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Truncated => f.write_str("radiotap header: truncated"),
            Self::Version(version) => write!(f, "radiotap header: version {version}, not 0"),
        }
    }
}

impl core::error::Error for RadiotapError {}

/// The fields of a radiotap header that are interpreted. Others are skipped.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Radiotap {
    /// Microseconds of the MAC's clock at the arrival of the first bit of the MPDU.
    pub tsft: Option<u64>,
    /// Properties of the frame: [`Radiotap::SHORT_PREAMBLE`], [`Radiotap::HAS_FCS`], [`Radiotap::DATA_PAD`],
    /// [`Radiotap::BAD_FCS`].
    pub flags: Option<u8>,
    /// Rate in units of 500 kbit/s.
    pub rate: Option<u8>,
    /// Frequency in MHz, and flags of the channel.
    pub channel: Option<(u16, u16)>,
    /// Signal power in dBm.
    pub signal_dbm: Option<i8>,
    /// Noise power in dBm.
    pub noise_dbm: Option<i8>,
}

/// Sizes and alignments of the fields with bits 0 to 5 of the present word: TSFT, flags, rate, channel, FHSS, signal.
/// Bit 6 is the noise. Fields above are not read, so their sizes do not matter.
const FIELDS: [(usize, usize); 7] = [(8, 8), (1, 1), (1, 1), (4, 2), (2, 1), (1, 1), (1, 1)];
/// Another present word follows.
const EXTENDED: u32 = 1 << 31;
/// Version, padding, length, present word.
const FIXED_BYTES: usize = 8;

impl Radiotap {
    /// Flag: the frame was sent with the short preamble.
    pub const SHORT_PREAMBLE: u8 = 0x02;
    /// Flag: the frame check sequence is included.
    pub const HAS_FCS: u8 = 0x10;
    /// Flag: the header is padded to a multiple of four bytes before the body.
    pub const DATA_PAD: u8 = 0x20;
    /// Flag: the frame check sequence is wrong.
    pub const BAD_FCS: u8 = 0x40;

    /// Channel flags of a rate at 2.4 GHz: CCK or OFDM.
    pub const fn channel_flags(rate: Rate) -> u16 {
        const BAND_2_4_GHZ: u16 = 0x0080;
        const CCK: u16 = 0x0020;
        const OFDM: u16 = 0x0040;
        match rate.modulation() {
            Modulation::Ofdm => BAND_2_4_GHZ | OFDM,
            Modulation::Dsss | Modulation::HrDsss => BAND_2_4_GHZ | CCK,
        }
    }

    /// The header of a frame at this rate whose MPDU began at `tsft`, in channel `channel` (1 to 13) of the 2.4 GHz band.
    pub const fn new(tsft: u64, rate: Rate, channel: u8, signal_dbm: i8) -> Self {
        Self {
            tsft: Some(tsft),
            flags: Some(Self::HAS_FCS),
            rate: Some((rate.bits_per_second() / 500_000) as u8),
            channel: Some((2_407 + 5 * channel as u16, Self::channel_flags(rate))),
            signal_dbm: Some(signal_dbm),
            noise_dbm: None,
        }
    }

    /// Appends the header's bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut present = 0_u32;
        let mut fields = Vec::with_capacity(24);
        let mut put = |bit: u32, bytes: &[u8]| {
            present |= 1 << bit;
            let (_, alignment) = FIELDS[bit as usize];
            while !(FIXED_BYTES + fields.len()).is_multiple_of(alignment) {
                fields.push(0);
            }
            fields.extend_from_slice(bytes);
        };
        if let Some(tsft) = self.tsft {
            put(0, &tsft.to_le_bytes());
        }
        if let Some(flags) = self.flags {
            put(1, &[flags]);
        }
        if let Some(rate) = self.rate {
            put(2, &[rate]);
        }
        if let Some((frequency, flags)) = self.channel {
            let ([a, b], [c, d]) = (frequency.to_le_bytes(), flags.to_le_bytes());
            put(3, &[a, b, c, d]);
        }
        if let Some(signal) = self.signal_dbm {
            put(5, &signal.to_le_bytes());
        }
        if let Some(noise) = self.noise_dbm {
            put(6, &noise.to_le_bytes());
        }
        out.extend([0, 0]);
        out.extend(((FIXED_BYTES + fields.len()) as u16).to_le_bytes());
        out.extend(present.to_le_bytes());
        out.extend(fields);
    }

    /// Parses the header at the beginning of a captured frame. Returns it and the frame after it.
    ///
    /// # Errors
    /// If bytes are missing or the version is unknown.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), RadiotapError> {
        let &[version, _, low, high] = bytes.first_chunk::<4>().ok_or(RadiotapError::Truncated)?;
        if version != 0 {
            return Err(RadiotapError::Version(version));
        }
        let length = usize::from(u16::from_le_bytes([low, high]));
        let (header, frame) = bytes.split_at_checked(length).ok_or(RadiotapError::Truncated)?;
        let word = |at: usize| -> Result<u32, RadiotapError> {
            let bytes = header.get(at..).and_then(|rest| rest.first_chunk::<4>());
            bytes.map(|bytes| u32::from_le_bytes(*bytes)).ok_or(RadiotapError::Truncated)
        };
        let present = word(4)?;
        let mut at = FIXED_BYTES;
        let mut last = present;
        while last & EXTENDED != 0 {
            last = word(at)?;
            at += 4;
        }
        let mut radiotap = Self::default();
        for (bit, (size, alignment)) in FIELDS.into_iter().enumerate() {
            if present >> bit & 1 == 0 {
                continue;
            }
            at = at.next_multiple_of(alignment);
            let field = header.get(at..at + size).ok_or(RadiotapError::Truncated)?;
            at += size;
            radiotap.set(bit, field);
        }
        Ok((radiotap, frame))
    }

    fn set(&mut self, bit: usize, field: &[u8]) {
        match (bit, field) {
            (0, field) => self.tsft = field.try_into().ok().map(u64::from_le_bytes),
            (1, &[flags]) => self.flags = Some(flags),
            (2, &[rate]) => self.rate = Some(rate),
            (3, &[a, b, c, d]) => {
                self.channel = Some((u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d])));
            }
            (5, &[signal]) => self.signal_dbm = Some(i8::from_le_bytes([signal])),
            (6, &[noise]) => self.noise_dbm = Some(i8::from_le_bytes([noise])),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
