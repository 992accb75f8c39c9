//! Modes of single-user transmissions of 802.11n, ac and ax: HT (IEEE Std 802.11-2020, clause 19), VHT
//! (clause 21), HE (802.11ax-2021, clause 27).
//!
//! A [`Mode`] is a format, a modulation and coding scheme, a number of spatial streams, a channel width and a
//! guard interval that the standard allows together. From it follow the bits of a symbol and the time of a
//! transmission.

mod time;

use core::fmt;
use core::num::NonZeroU16;

use whimbrel_units::Duration;

use super::Rate;
pub use time::LONGEST_PPDU;

/// Format of a transmission with a mode.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Format {
    /// HT mixed, 802.11n.
    Ht = 1,
    /// VHT, 802.11ac.
    Vht,
    /// HE SU, 802.11ax.
    He,
    /// HE ER SU: one stream, 20 MHz, the schemes 0 to 2, with a longer header.
    HeExtendedRange,
}

impl Format {
    /// Modulation and coding schemes of one stream.
    pub const fn schemes(self) -> u8 {
        match self {
            Self::Ht => 8,
            Self::Vht => 10,
            Self::He => 12,
            Self::HeExtendedRange => 3,
        }
    }

    /// The longest PSDU, in bytes, without and with the extensions of the length that receivers announce.
    pub const fn longest_psdu(self) -> u32 {
        match self {
            Self::Ht => 65_535,
            Self::Vht => 1_048_575,
            Self::He | Self::HeExtendedRange => 6_500_631,
        }
    }

    const fn is_he(self) -> bool {
        matches!(self, Self::He | Self::HeExtendedRange)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ht => "HT",
            Self::Vht => "VHT",
            Self::He => "HE",
            Self::HeExtendedRange => "HE ER",
        })
    }
}

/// Width of a channel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Width {
    /// 20 MHz.
    Mhz20,
    /// 40 MHz.
    Mhz40,
    /// 80 MHz.
    Mhz80,
    /// 160 MHz, contiguous.
    Mhz160,
}

impl Width {
    /// All widths.
    pub const ALL: [Self; 4] = [Self::Mhz20, Self::Mhz40, Self::Mhz80, Self::Mhz160];

    /// The width in MHz.
    pub const fn megahertz(self) -> u16 {
        20 << self as u8
    }

    /// The width of this many MHz; `None` if no channel has it.
    pub fn from_megahertz(width: f64) -> Option<Self> {
        Self::ALL.into_iter().find(|other| f64::from(other.megahertz()) == width)
    }
}

/// Guard interval between symbols.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum GuardInterval {
    /// 0.4 us, HT and VHT.
    Ns400,
    /// 0.8 us.
    Ns800,
    /// 1.6 us, HE.
    Ns1600,
    /// 3.2 us, HE.
    Ns3200,
}

impl GuardInterval {
    /// All guard intervals.
    pub const ALL: [Self; 4] = [Self::Ns400, Self::Ns800, Self::Ns1600, Self::Ns3200];

    /// The interval's length.
    pub const fn duration(self) -> Duration {
        Duration::from_nanos(400 << self as u8)
    }

    /// The guard interval of this length; `None` if there is none.
    pub fn from_duration(length: Duration) -> Option<Self> {
        Self::ALL.into_iter().find(|other| other.duration() == length)
    }
}

/// A combination that no transmission has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InvalidMode {
    /// The format has no modulation and coding scheme of this number.
    Scheme {
        /// The format.
        format: Format,
        /// The number.
        mcs: u8,
    },
    /// The format has no transmission of so many streams.
    Streams {
        /// The format.
        format: Format,
        /// The number.
        streams: u8,
    },
    /// The format does not exist in channels of this width.
    Width {
        /// The format.
        format: Format,
        /// The width.
        width: Width,
    },
    /// The format has no symbols with this guard interval.
    Guard {
        /// The format.
        format: Format,
        /// The guard interval.
        guard: GuardInterval,
    },
    /// VHT leaves out this scheme for this number of streams in a channel of this width.
    Excluded {
        /// The number of the scheme.
        mcs: u8,
        /// The number of streams.
        streams: u8,
        /// The width.
        width: Width,
    },
}

impl fmt::Display for InvalidMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Scheme { format, mcs } => {
                write!(f, "{format} has the MCS 0 to {} and no MCS {mcs}", format.schemes() - 1)
            }
            Self::Streams { format: Format::HeExtendedRange, streams } => {
                write!(f, "HE ER has one stream, not {streams}")
            }
            Self::Streams { format, streams } => write!(f, "{format} has 1 to 4 streams, not {streams}"),
            Self::Width { format, width } => {
                let widths = match format {
                    Format::Ht => "20 and 40 MHz",
                    Format::HeExtendedRange => "20 MHz",
                    Format::Vht | Format::He => "20, 40, 80 and 160 MHz",
                };
                write!(f, "{format} has channels of {widths}, not {} MHz", width.megahertz())
            }
            Self::Guard { format, guard } => {
                let guards = if format.is_he() { "0.8, 1.6 and 3.2 us" } else { "0.4 and 0.8 us" };
                let length = guard.duration().as_nanos() as f64 / 1e3;
                write!(f, "{format} has guard intervals of {guards}, not {length} us")
            }
            Self::Excluded { mcs, streams, width } => {
                let width = width.megahertz();
                write!(f, "VHT leaves out MCS {mcs} with {streams} streams at {width} MHz")
            }
        }
    }
}

impl core::error::Error for InvalidMode {}

/// Bits of a subcarrier, and the rate of the code, by the number of the scheme.
const CODING: [(u32, u32, u32); 12] = [
    (1, 1, 2),
    (2, 1, 2),
    (2, 3, 4),
    (4, 1, 2),
    (4, 3, 4),
    (6, 2, 3),
    (6, 3, 4),
    (6, 5, 6),
    (8, 3, 4),
    (8, 5, 6),
    (10, 3, 4),
    (10, 5, 6),
];

/// A mode of transmission. Two bytes, so that frames with a mode are no larger than others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mode(NonZeroU16);

impl Mode {
    /// The mode of a format, a scheme, 1 to 4 streams, a width and a guard interval.
    ///
    /// # Errors
    /// If the standard does not have the combination.
    pub const fn new(
        format: Format,
        mcs: u8,
        streams: u8,
        width: Width,
        guard: GuardInterval,
    ) -> Result<Self, InvalidMode> {
        let is_extended = matches!(format, Format::HeExtendedRange);
        if mcs >= format.schemes() {
            return Err(InvalidMode::Scheme { format, mcs });
        }
        if streams == 0 || streams > 4 || (is_extended && streams > 1) {
            return Err(InvalidMode::Streams { format, streams });
        }
        let widest = match format {
            Format::Ht => Width::Mhz40,
            Format::Vht | Format::He => Width::Mhz160,
            Format::HeExtendedRange => Width::Mhz20,
        };
        if width as u8 > widest as u8 {
            return Err(InvalidMode::Width { format, width });
        }
        let is_short = matches!(guard, GuardInterval::Ns400);
        if (format.is_he() && is_short) || (!format.is_he() && guard as u8 > GuardInterval::Ns800 as u8) {
            return Err(InvalidMode::Guard { format, guard });
        }
        if matches!(format, Format::Vht) && is_excluded(mcs, streams, width) {
            return Err(InvalidMode::Excluded { mcs, streams, width });
        }
        let word = (format as u16) << 10
            | (mcs as u16) << 6
            | (streams as u16 - 1) << 4
            | (width as u16) << 2
            | guard as u16;
        match NonZeroU16::new(word) {
            Some(word) => Ok(Self(word)),
            None => Err(InvalidMode::Scheme { format, mcs }),
        }
    }

    /// The format.
    pub const fn format(self) -> Format {
        match self.0.get() >> 10 {
            1 => Format::Ht,
            2 => Format::Vht,
            3 => Format::He,
            _ => Format::HeExtendedRange,
        }
    }

    /// The number of the modulation and coding scheme of one stream: 0 to 7, 9 or 11.
    pub const fn mcs(self) -> u8 {
        (self.0.get() >> 6 & 0xf) as u8
    }

    /// The number of spatial streams, from 1 to 4.
    pub const fn streams(self) -> u8 {
        (self.0.get() >> 4 & 3) as u8 + 1
    }

    /// The width of the channel.
    pub const fn width(self) -> Width {
        Width::ALL[(self.0.get() >> 2 & 3) as usize]
    }

    /// The guard interval.
    pub const fn guard(self) -> GuardInterval {
        GuardInterval::ALL[(self.0.get() & 3) as usize]
    }

    /// Coded bits in a symbol (N_CBPS).
    pub const fn coded_bits(self) -> u32 {
        coded_bits(self.format(), self.mcs(), self.streams(), self.width())
    }

    /// Data bits in a symbol (N_DBPS), rounded down after the multiplication by the streams.
    pub const fn data_bits(self) -> u32 {
        let (_, numerator, denominator) = CODING[self.mcs() as usize];
        self.coded_bits() * numerator / denominator
    }

    /// The encoders of the convolutional code, each of which has tail bits. HE counts one.
    pub const fn encoders(self) -> u32 {
        let bits = self.data_bits();
        match self.format() {
            Format::He | Format::HeExtendedRange => 1,
            Format::Ht => {
                if bits <= 1_200 {
                    1
                } else {
                    2
                }
            }
            Format::Vht => {
                let is_exception =
                    matches!(self.width(), Width::Mhz160) && self.streams() == 4 && self.mcs() == 7;
                if is_exception { 6 } else { bits.div_ceil(2_160) }
            }
        }
    }

    /// Data bits per second.
    pub const fn bits_per_second(self) -> u64 {
        self.data_bits() as u64 * 1_000_000_000 / self.symbol().as_nanos()
    }

    /// The rate of OFDM with the same modulation and code, by which responses go (10.6.11: the non-HT
    /// reference rate).
    pub const fn reference_rate(self) -> Rate {
        match self.mcs() {
            0 => Rate::Ofdm6,
            1 => Rate::Ofdm12,
            2 => Rate::Ofdm18,
            3 => Rate::Ofdm24,
            4 => Rate::Ofdm36,
            5 => Rate::Ofdm48,
            _ => Rate::Ofdm54,
        }
    }

    /// `true` if receivers decode by LDPC: HE in channels of 40 MHz and more, and with 1024-QAM, for which it
    /// is mandatory (27.3.12.5). Else the code is the convolutional one.
    pub const fn is_ldpc(self) -> bool {
        self.format().is_he() && (self.width() as u8 > Width::Mhz20 as u8 || self.mcs() >= 10)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let guard = self.guard().duration().as_nanos() as f64 / 1e3;
        let (format, mcs, streams) = (self.format(), self.mcs(), self.streams());
        write!(f, "{format} MCS {mcs} x {streams}, {} MHz, {guard} us", self.width().megahertz())
    }
}

impl fmt::Debug for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

const fn coded_bits(format: Format, mcs: u8, streams: u8, width: Width) -> u32 {
    let subcarriers = match format {
        Format::Ht | Format::Vht => [52, 108, 234, 468],
        Format::He | Format::HeExtendedRange => [234, 468, 980, 1_960],
    };
    subcarriers[width as usize] * CODING[mcs as usize].0 * streams as u32
}

/// VHT leaves out the schemes whose symbols would have a fraction of a bit, or whose bits the encoders could
/// not share (21.5).
const fn is_excluded(mcs: u8, streams: u8, width: Width) -> bool {
    let (_, numerator, denominator) = CODING[mcs as usize];
    let is_uneven = matches!((width, streams, mcs), (Width::Mhz80, 3, 6) | (Width::Mhz160, 3, 9));
    is_uneven || !(coded_bits(Format::Vht, mcs, streams, width) * numerator).is_multiple_of(denominator)
}

#[cfg(test)]
mod tests;
