//! Slots, bandwidths and resource blocks of LTE and NR.
//!
//! TS 36.211 and TS 36.101 have one spacing of subcarriers and six bandwidths; TS 38.211 has a spacing of
//! 15 kHz times 2^mu, and TS 38.101-1 the number of resource blocks for each spacing and bandwidth.

use core::fmt;

use whimbrel_units::Duration;

/// A family of standards.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standard {
    /// 4G: TS 36.211 to 36.331.
    Lte,
    /// 5G: TS 38.211 to 38.331.
    Nr,
}

/// Symbols of a slot with the normal cyclic prefix.
pub const SYMBOLS_PER_SLOT: u32 = 14;
/// Subcarriers of a resource block.
pub const SUBCARRIERS_PER_BLOCK: u32 = 12;

/// The spacing of subcarriers, 15 kHz times 2^mu, and with it the length of a slot.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Numerology(u8);

impl Numerology {
    /// 15 kHz, slots of 1 ms: the only one of LTE.
    pub const KHZ_15: Self = Self(0);
    /// 30 kHz, slots of 0.5 ms.
    pub const KHZ_30: Self = Self(1);
    /// 60 kHz, slots of 0.25 ms.
    pub const KHZ_60: Self = Self(2);
    /// 120 kHz, slots of 0.125 ms.
    pub const KHZ_120: Self = Self(3);

    /// The numerology of a spacing in kHz.
    ///
    /// # Errors
    /// If the spacing is not 15, 30, 60 or 120 kHz, or not one of the standard.
    pub fn from_spacing(standard: Standard, kilohertz: u32) -> Result<Self, InvalidCarrier> {
        match (standard, kilohertz) {
            (_, 15) => Ok(Self::KHZ_15),
            (Standard::Nr, 30) => Ok(Self::KHZ_30),
            (Standard::Nr, 60) => Ok(Self::KHZ_60),
            (Standard::Nr, 120) => Ok(Self::KHZ_120),
            _ => Err(InvalidCarrier::Spacing { standard, kilohertz }),
        }
    }

    /// The exponent mu.
    pub const fn mu(self) -> u8 {
        self.0
    }

    /// The spacing of subcarriers in Hz.
    pub fn spacing_hertz(self) -> f64 {
        15e3 * f64::from(1_u32 << self.0)
    }

    /// The length of a slot. LTE's transmission time interval is one slot of 15 kHz in the sense of NR.
    pub const fn slot(self) -> Duration {
        Duration::from_nanos(1_000_000 >> self.0)
    }

    /// The width of a resource block in Hz.
    pub fn block_hertz(self) -> f64 {
        self.spacing_hertz() * f64::from(SUBCARRIERS_PER_BLOCK)
    }
}

/// A number of resource blocks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct ResourceBlocks(pub u16);

impl ResourceBlocks {
    /// The blocks of a carrier of this bandwidth in MHz.
    ///
    /// # Errors
    /// If the standard has no such bandwidth at this spacing.
    pub fn of_carrier(
        standard: Standard,
        numerology: Numerology,
        megahertz: f64,
    ) -> Result<Self, InvalidCarrier> {
        let known: &[(f64, u16)] = match (standard, numerology) {
            (Standard::Lte, Numerology::KHZ_15) => LTE,
            (Standard::Nr, Numerology::KHZ_15) => NR_15,
            (Standard::Nr, Numerology::KHZ_30) => NR_30,
            (Standard::Nr, Numerology::KHZ_60) => NR_60,
            _ => &[],
        };
        let found = known.iter().find(|(bandwidth, _)| *bandwidth == megahertz);
        found.map(|(_, blocks)| Self(*blocks)).ok_or(InvalidCarrier::Bandwidth {
            standard,
            numerology,
            megahertz,
        })
    }

    /// The occupied bandwidth in Hz.
    pub fn hertz(self, numerology: Numerology) -> f64 {
        f64::from(self.0) * numerology.block_hertz()
    }

    /// Blocks in a group of LTE, the unit of an allocation in the downlink (TS 36.213, Table 7.1.6.1-1).
    pub const fn lte_group(self) -> Self {
        Self(match self.0 {
            0..=10 => 1,
            11..=26 => 2,
            27..=63 => 3,
            _ => 4,
        })
    }
}

/// MHz and resource blocks (TS 36.101, Table 5.6-1).
const LTE: &[(f64, u16)] = &[(1.4, 6), (3.0, 15), (5.0, 25), (10.0, 50), (15.0, 75), (20.0, 100)];
/// MHz and resource blocks (TS 38.101-1, Table 5.3.2-1), the usual ones of each spacing.
const NR_15: &[(f64, u16)] = &[(5.0, 25), (10.0, 52), (20.0, 106), (50.0, 270)];
const NR_30: &[(f64, u16)] = &[
    (5.0, 11),
    (10.0, 24),
    (20.0, 51),
    (40.0, 106),
    (50.0, 133),
    (60.0, 162),
    (80.0, 217),
    (90.0, 245),
    (100.0, 273),
];
const NR_60: &[(f64, u16)] = &[(20.0, 24), (50.0, 65), (100.0, 135)];

/// Reason for refusing a carrier.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub enum InvalidCarrier {
    /// The standard has no such spacing.
    Spacing {
        /// The standard asked.
        standard: Standard,
        /// The spacing in kHz.
        kilohertz: u32,
    },
    /// The standard has no such bandwidth at this spacing.
    Bandwidth {
        /// The standard asked.
        standard: Standard,
        /// The spacing.
        numerology: Numerology,
        /// The bandwidth in MHz.
        megahertz: f64,
    },
}

impl fmt::Display for InvalidCarrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Spacing { standard: Standard::Lte, kilohertz } => {
                write!(f, "LTE has no subcarrier spacing of {kilohertz} kHz: expected 15 kHz")
            }
            Self::Spacing { standard: Standard::Nr, kilohertz } => {
                write!(f, "NR has no subcarrier spacing of {kilohertz} kHz: expected 15, 30, 60 or 120 kHz")
            }
            Self::Bandwidth { standard, numerology, megahertz } => {
                let name = match standard {
                    Standard::Lte => "LTE",
                    Standard::Nr => "NR",
                };
                let spacing = numerology.spacing_hertz() / 1e3;
                write!(f, "{name} has no carrier of {megahertz} MHz with subcarriers of {spacing} kHz")
            }
        }
    }
}

impl core::error::Error for InvalidCarrier {}

#[cfg(test)]
mod tests;
