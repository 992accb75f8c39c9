//! Coding coefficients of RFC 8681, Section 3.6: the numbers by which a repair symbol multiplies the source
//! symbols of its window.

use crate::tinymt::TinyMt32;

/// The code: the FEC Encoding ID of RFC 8681.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Code {
    /// Coefficients 0 and 1 (FEC Encoding ID 9).
    Gf2,
    /// Coefficients from 0 to 255 (FEC Encoding ID 10).
    #[default]
    Gf256,
}

impl Code {
    /// The FEC Encoding ID.
    #[must_use]
    pub const fn encoding_id(self) -> u8 {
        match self {
            Self::Gf2 => 9,
            Self::Gf256 => 10,
        }
    }

    /// The code with an FEC Encoding ID.
    #[must_use]
    pub const fn from_encoding_id(id: u8) -> Option<Self> {
        match id {
            9 => Some(Self::Gf2),
            10 => Some(Self::Gf256),
            _ => None,
        }
    }
}

/// DT, the density threshold: a coefficient is not zero with the probability (DT + 1) / 16.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Density(u8);

impl Density {
    /// No coefficient is zero.
    pub const FULL: Self = Self(15);

    /// The density with the threshold `threshold`, from 0 to 15.
    #[must_use]
    pub const fn new(threshold: u8) -> Option<Self> {
        if threshold <= 15 { Some(Self(threshold)) } else { None }
    }

    /// DT.
    #[must_use]
    pub const fn threshold(self) -> u8 {
        self.0
    }
}

/// The coefficients of one repair symbol in the order of its window, oldest first, without end.
///
/// ```
/// use whimbrel_repair::rlc::{Code, Coefficients, Density};
///
/// let first: Vec<u8> = Coefficients::new(Code::Gf256, 0, Density::FULL).take(3).collect();
/// assert_eq!(first, [0x27, 0x2a, 0x99]);
/// ```
#[derive(Clone, Debug)]
pub struct Coefficients {
    generator: TinyMt32,
    code: Code,
    density: Density,
}

impl Coefficients {
    /// The coefficients for a Repair_Key.
    #[must_use]
    pub const fn new(code: Code, key: u16, density: Density) -> Self {
        Self { generator: TinyMt32::new(key as u32), code, density }
    }

    /// The next coefficient.
    pub const fn next_coefficient(&mut self) -> u8 {
        let is_full = self.density.0 == 15;
        if !is_full && self.generator.next_16() > self.density.0 {
            return 0;
        }
        if matches!(self.code, Code::Gf2) {
            return 1;
        }
        // Seven zeros in a row have a probability of 1e-17: the generator visits all states, so the loop
        // ends.
        loop {
            let drawn = self.generator.next_256();
            if drawn != 0 {
                return drawn;
            }
        }
    }
}

impl Iterator for Coefficients {
    type Item = u8;
    fn next(&mut self) -> Option<u8> {
        Some(self.next_coefficient())
    }
}

#[cfg(test)]
mod tests;
