//! Radiotap headers: the time, rate, channel and power of a captured frame (radiotap.org).

use alloc::vec::Vec;

use crate::phy::{Format, GuardInterval, Mode, Modulation, Rate, Width};

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
    /// Mode of HT, VHT or HE. Written, not read.
    pub mode: Option<Mode>,
    /// The A-MPDU that the frame is a part of: its number, and whether it is the last frame of it.
    pub ampdu: Option<(u32, bool)>,
}

/// Sizes and alignments of the fields by bit of the present word, up to the A-MPDU status: TSFT, flags, rate,
/// channel, FHSS, signal, noise, lock quality, attenuations, power, antenna, signal and noise in dB, flags,
/// retries, XChannel, MCS, A-MPDU status. Fields above are not read.
const FIELDS: [(usize, usize); 21] = [
    (8, 8),
    (1, 1),
    (1, 1),
    (4, 2),
    (2, 1),
    (1, 1),
    (1, 1),
    (2, 2),
    (2, 2),
    (2, 2),
    (1, 1),
    (1, 1),
    (1, 1),
    (1, 1),
    (2, 2),
    (2, 2),
    (1, 1),
    (1, 1),
    (8, 4),
    (3, 1),
    (8, 4),
];
/// Bits of the fields of a mode, and of the A-MPDU status.
const MCS: u32 = 19;
const AMPDU: u32 = 20;
const VHT: u32 = 21;
const HE: u32 = 23;
/// Flags of the A-MPDU status: the last frame is known, and it is this one.
const LAST_KNOWN: u16 = 0x0004;
const IS_LAST: u16 = 0x0008;
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

    /// Channel flags of a rate in the band of a frequency in MHz.
    pub const fn channel_flags_at(frequency: u16, rate: Rate) -> u16 {
        const BAND_5_GHZ: u16 = 0x0100;
        const OFDM: u16 = 0x0040;
        if frequency < 5_000 { Self::channel_flags(rate) } else { BAND_5_GHZ | OFDM }
    }

    /// Channel flag of a channel of 10 MHz.
    pub const HALF_RATE: u16 = 0x4000;

    /// The header of a frame at this rate whose MPDU began at `tsft`, in channel `channel` (1 to 13) of the
    /// 2.4 GHz band.
    pub const fn new(tsft: u64, rate: Rate, channel: u8, signal_dbm: i8) -> Self {
        Self {
            tsft: Some(tsft),
            flags: Some(Self::HAS_FCS),
            rate: Some((rate.bits_per_second() / 500_000) as u8),
            channel: Some((2_407 + 5 * channel as u16, Self::channel_flags(rate))),
            signal_dbm: Some(signal_dbm),
            noise_dbm: None,
            mode: None,
            ampdu: None,
        }
    }

    /// Appends the header's bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut present = 0_u32;
        let mut fields = Vec::with_capacity(24);
        let mut put = |bit: u32, bytes: &[u8]| {
            present |= 1 << bit;
            let alignment = FIELDS.get(bit as usize).map_or(2, |&(_, alignment)| alignment);
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
        if let Some(mode) = self.mode.filter(|mode| mode.format() == Format::Ht) {
            put(MCS, &ht_field(mode));
        }
        if let Some((number, is_last)) = self.ampdu {
            let [a, b, c, d] = number.to_le_bytes();
            let [low, high] = (LAST_KNOWN | if is_last { IS_LAST } else { 0 }).to_le_bytes();
            put(AMPDU, &[a, b, c, d, low, high, 0, 0]);
        }
        match self.mode.map(|mode| (mode, mode.format())) {
            Some((mode, Format::Vht)) => put(VHT, &vht_field(mode)),
            Some((mode, Format::He | Format::HeExtendedRange)) => put(HE, &he_field(mode)),
            Some((_, Format::Ht)) | None => {}
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
            (20, &[a, b, c, d, low, high, _, _]) => {
                let flags = u16::from_le_bytes([low, high]);
                self.ampdu = Some((u32::from_le_bytes([a, b, c, d]), flags & IS_LAST != 0));
            }
            (6, &[noise]) => self.noise_dbm = Some(i8::from_le_bytes([noise])),
            _ => {}
        }
    }
}

/// The field MCS: bandwidth, index, guard interval and format are known.
fn ht_field(mode: Mode) -> [u8; 3] {
    const KNOWN: u8 = 0x0f;
    let is_short = mode.guard() == GuardInterval::Ns400;
    let flags = u8::from(mode.width() == Width::Mhz40) | u8::from(is_short) << 2;
    [KNOWN, flags, mode.mcs() + 8 * (mode.streams() - 1)]
}

/// The field VHT: guard interval and bandwidth are known, and the first user has the mode.
fn vht_field(mode: Mode) -> [u8; 12] {
    const KNOWN: u16 = 0x0044;
    const SHORT_GUARD: u8 = 0x04;
    let mut field = [0; 12];
    field[..2].copy_from_slice(&KNOWN.to_le_bytes());
    field[2] = if mode.guard() == GuardInterval::Ns400 { SHORT_GUARD } else { 0 };
    field[3] = match mode.width() {
        Width::Mhz20 => 0,
        Width::Mhz40 => 1,
        Width::Mhz80 => 4,
        Width::Mhz160 => 11,
    };
    field[4] = mode.mcs() << 4 | mode.streams();
    field
}

/// The field HE: scheme, bandwidth, guard interval and streams of a single user.
fn he_field(mode: Mode) -> [u8; 12] {
    // Data 1: format, scheme known (bit 5), coding known (bit 7), bandwidth known (bit 14). Data 2: guard
    // interval known (bit 1).
    let format = u16::from(mode.format() == Format::HeExtendedRange);
    let known = format | 1 << 5 | 1 << 7 | 1 << 14;
    let scheme = u16::from(mode.mcs()) << 8 | u16::from(mode.is_ldpc()) << 13;
    let guard = match mode.guard() {
        GuardInterval::Ns400 | GuardInterval::Ns800 => 0,
        GuardInterval::Ns1600 => 1,
        GuardInterval::Ns3200 => 2,
    };
    let width = mode.width() as u16 | guard << 4;
    let words = [known, 1 << 1, scheme, 0, width, u16::from(mode.streams())];
    let mut field = [0; 12];
    for (place, word) in field.chunks_exact_mut(2).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    field
}

#[cfg(test)]
mod tests;
