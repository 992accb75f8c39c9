//! Rates and sets of rates.

use core::fmt;

use whimbrel_units::DataRate;

/// Family of modulations to which a rate belongs.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Modulation {
    /// 1 and 2 Mbit/s: DBPSK and DQPSK on the Barker sequence.
    Dsss,
    /// 5.5 and 11 Mbit/s: complementary code keying.
    HrDsss,
    /// 6 to 54 Mbit/s: 48 data subcarriers, symbols of 4 us.
    Ofdm,
}

/// A data rate of 802.11, 802.11b, 802.11a or 802.11g, in the order of speed within each family.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Rate {
    /// 1 Mbit/s.
    Dsss1,
    /// 2 Mbit/s.
    Dsss2,
    /// 5.5 Mbit/s.
    Hr5_5,
    /// 11 Mbit/s.
    Hr11,
    /// 6 Mbit/s.
    Ofdm6,
    /// 9 Mbit/s.
    Ofdm9,
    /// 12 Mbit/s.
    Ofdm12,
    /// 18 Mbit/s.
    Ofdm18,
    /// 24 Mbit/s.
    Ofdm24,
    /// 36 Mbit/s.
    Ofdm36,
    /// 48 Mbit/s.
    Ofdm48,
    /// 54 Mbit/s.
    Ofdm54,
}

impl Rate {
    /// All rates: DSSS, HR/DSSS, then OFDM.
    pub const ALL: [Self; 12] = [
        Self::Dsss1,
        Self::Dsss2,
        Self::Hr5_5,
        Self::Hr11,
        Self::Ofdm6,
        Self::Ofdm9,
        Self::Ofdm12,
        Self::Ofdm18,
        Self::Ofdm24,
        Self::Ofdm36,
        Self::Ofdm48,
        Self::Ofdm54,
    ];

    /// The rate in bit/s.
    pub const fn bits_per_second(self) -> u64 {
        match self {
            Self::Dsss1 => 1_000_000,
            Self::Dsss2 => 2_000_000,
            Self::Hr5_5 => 5_500_000,
            Self::Hr11 => 11_000_000,
            Self::Ofdm6 => 6_000_000,
            Self::Ofdm9 => 9_000_000,
            Self::Ofdm12 => 12_000_000,
            Self::Ofdm18 => 18_000_000,
            Self::Ofdm24 => 24_000_000,
            Self::Ofdm36 => 36_000_000,
            Self::Ofdm48 => 48_000_000,
            Self::Ofdm54 => 54_000_000,
        }
    }

    /// The rate of this many Mbit/s; `None` if no rate has this value.
    pub fn from_megabits_per_second(rate: f64) -> Option<Self> {
        Self::ALL.into_iter().find(|other| other.bits_per_second() as f64 == rate * 1e6)
    }

    /// The rate as a [`DataRate`].
    pub fn data_rate(self) -> DataRate {
        DataRate::from_bits_per_second(self.bits_per_second() as f64)
    }

    /// The family of the rate.
    pub const fn modulation(self) -> Modulation {
        match self {
            Self::Dsss1 | Self::Dsss2 => Modulation::Dsss,
            Self::Hr5_5 | Self::Hr11 => Modulation::HrDsss,
            _ => Modulation::Ofdm,
        }
    }

    /// Data bits in a symbol of 4 us; `None` for rates other than OFDM.
    pub const fn bits_per_symbol(self) -> Option<u64> {
        match self.modulation() {
            Modulation::Ofdm => Some(self.bits_per_second() / 250_000),
            Modulation::Dsss | Modulation::HrDsss => None,
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} Mbit/s", self.bits_per_second() as f64 / 1e6)
    }
}

/// A set of rates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RateSet(u16);

impl RateSet {
    /// The rates of a list.
    pub const fn new(rates: &[Rate]) -> Self {
        let mut bits = 0;
        let mut index = 0;
        while index < rates.len() {
            bits |= 1 << rates[index] as u8;
            index += 1;
        }
        Self(bits)
    }

    /// Every rate.
    pub const fn all() -> Self {
        Self::new(&Rate::ALL)
    }

    /// The rates of one modulation.
    pub fn of(modulation: Modulation) -> Self {
        let bits = Rate::ALL.into_iter().filter(|rate| rate.modulation() == modulation);
        Self(bits.fold(0, |bits, rate| bits | 1 << rate as u8))
    }

    /// `true` if the rate is in the set.
    pub const fn contains(self, rate: Rate) -> bool {
        self.0 >> rate as u8 & 1 == 1
    }

    /// The rates in ascending order of speed.
    pub fn iter(self) -> impl Iterator<Item = Rate> {
        const BY_SPEED: [Rate; 12] = [
            Rate::Dsss1,
            Rate::Dsss2,
            Rate::Hr5_5,
            Rate::Ofdm6,
            Rate::Ofdm9,
            Rate::Hr11,
            Rate::Ofdm12,
            Rate::Ofdm18,
            Rate::Ofdm24,
            Rate::Ofdm36,
            Rate::Ofdm48,
            Rate::Ofdm54,
        ];
        BY_SPEED.into_iter().filter(move |&rate| self.contains(rate))
    }

    /// `true` if no rate is in the set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The slowest rate; 1 Mbit/s if the set is empty.
    pub fn lowest(self) -> Rate {
        self.iter().next().unwrap_or(Rate::Dsss1)
    }
}

impl fmt::Display for RateSet {
    /// The rates in Mbit/s in ascending order, separated by commas.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, rate) in self.iter().enumerate() {
            let separator = if number == 0 { "" } else { ", " };
            write!(f, "{separator}{}", rate.bits_per_second() as f64 / 1e6)?;
        }
        f.write_str(" Mbit/s")
    }
}
