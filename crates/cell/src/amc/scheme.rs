//! Modulations and code rates, and the tables of TS 38.214 that list them.
//!
//! The CQI tables are common to LTE (TS 36.213, Section 7.2.3) and NR (TS 38.214, Section 5.2.2.1).

/// Bits per symbol.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Modulation {
    /// 2 bits.
    Qpsk,
    /// 4 bits.
    Qam16,
    /// 6 bits.
    Qam64,
    /// 8 bits.
    Qam256,
}

impl Modulation {
    /// Bits per symbol, Q_m.
    pub const fn bits(self) -> u32 {
        match self {
            Self::Qpsk => 2,
            Self::Qam16 => 4,
            Self::Qam64 => 6,
            Self::Qam256 => 8,
        }
    }
}

/// A code rate in units of 1/2048, because the tables have halves of 1/1024.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct CodeRate(pub u16);

impl CodeRate {
    /// The share of data among the coded bits.
    pub fn share(self) -> f64 {
        f64::from(self.0) / 2048.0
    }
}

/// A modulation with a code rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scheme {
    /// The modulation.
    pub modulation: Modulation,
    /// The code rate.
    pub rate: CodeRate,
}

impl Scheme {
    /// Data bits per symbol.
    pub fn efficiency(self) -> f64 {
        f64::from(self.modulation.bits()) * self.rate.share()
    }
}

/// A channel quality indicator from 1 to 15; a terminal out of range reports none.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Cqi(pub u8);

/// The index of a scheme in an [`McsTable`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct Mcs(pub u8);

/// A table of CQIs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CqiTable {
    /// Up to 64QAM: TS 38.214, Table 5.2.2.1-2.
    Qam64,
    /// Up to 256QAM: TS 38.214, Table 5.2.2.1-3.
    Qam256,
}

impl CqiTable {
    /// The schemes of CQI 1 to 15.
    pub const fn schemes(self) -> &'static [Scheme; 15] {
        match self {
            Self::Qam64 => &CQI_64,
            Self::Qam256 => &CQI_256,
        }
    }

    /// The scheme of a CQI.
    ///
    /// # Panics
    /// If the CQI is not between 1 and 15.
    pub const fn scheme(self, cqi: Cqi) -> Scheme {
        self.schemes()[cqi.0 as usize - 1]
    }
}

/// A table of MCSs of NR, whose modulations and rates LTE's 256QAM table shares.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum McsTable {
    /// Up to 64QAM: TS 38.214, Table 5.1.3.1-1.
    Qam64,
    /// Up to 256QAM: TS 38.214, Table 5.1.3.1-2.
    Qam256,
}

impl McsTable {
    /// The schemes from MCS 0 on.
    pub const fn schemes(self) -> &'static [Scheme] {
        match self {
            Self::Qam64 => &MCS_64,
            Self::Qam256 => &MCS_256,
        }
    }

    /// The scheme of an MCS.
    ///
    /// # Panics
    /// If the table has no such MCS.
    pub const fn scheme(self, mcs: Mcs) -> Scheme {
        self.schemes()[mcs.0 as usize]
    }
}

const fn qpsk(rate: u16) -> Scheme {
    Scheme { modulation: Modulation::Qpsk, rate: CodeRate(rate * 2) }
}

const fn qam16(rate: u16) -> Scheme {
    Scheme { modulation: Modulation::Qam16, rate: CodeRate(rate * 2) }
}

const fn qam64(rate: u16) -> Scheme {
    Scheme { modulation: Modulation::Qam64, rate: CodeRate(rate * 2) }
}

/// Of twice the rate, since two of the rates have halves.
const fn qam256(twice: u16) -> Scheme {
    Scheme { modulation: Modulation::Qam256, rate: CodeRate(twice) }
}

#[rustfmt::skip]
const CQI_64: [Scheme; 15] = [
    qpsk(78), qpsk(120), qpsk(193), qpsk(308), qpsk(449), qpsk(602),
    qam16(378), qam16(490), qam16(616),
    qam64(466), qam64(567), qam64(666), qam64(772), qam64(873), qam64(948),
];
#[rustfmt::skip]
const CQI_256: [Scheme; 15] = [
    qpsk(78), qpsk(193), qpsk(449),
    qam16(378), qam16(490), qam16(616),
    qam64(466), qam64(567), qam64(666), qam64(772), qam64(873),
    qam256(1422), qam256(1594), qam256(1770), qam256(1896),
];
#[rustfmt::skip]
const MCS_64: [Scheme; 29] = [
    qpsk(120), qpsk(157), qpsk(193), qpsk(251), qpsk(308), qpsk(379), qpsk(449), qpsk(526), qpsk(602), qpsk(679),
    qam16(340), qam16(378), qam16(434), qam16(490), qam16(553), qam16(616), qam16(658),
    qam64(438), qam64(466), qam64(517), qam64(567), qam64(616), qam64(666), qam64(719), qam64(772), qam64(822),
    qam64(873), qam64(910), qam64(948),
];
#[rustfmt::skip]
const MCS_256: [Scheme; 28] = [
    qpsk(120), qpsk(193), qpsk(308), qpsk(449), qpsk(602),
    qam16(378), qam16(434), qam16(490), qam16(553), qam16(616), qam16(658),
    qam64(466), qam64(517), qam64(567), qam64(616), qam64(666), qam64(719), qam64(772), qam64(822), qam64(873),
    qam256(1365), qam256(1422), qam256(1508), qam256(1594), qam256(1682), qam256(1770), qam256(1833), qam256(1896),
];

#[cfg(test)]
mod tests;
