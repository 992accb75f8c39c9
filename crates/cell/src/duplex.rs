//! Downlink and uplink slots.

use core::fmt;

use alloc::vec::Vec;

use whimbrel_units::Instant;

use crate::numerology::{Numerology, SYMBOLS_PER_SLOT};

/// A slot, numbered from the driver's epoch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct Slot(pub u64);

impl Slot {
    /// The slot so many later.
    pub const fn after(self, slots: u64) -> Self {
        Self(self.0.saturating_add(slots))
    }

    /// The first slot that begins at `now` or later.
    pub const fn from_instant(now: Instant, numerology: Numerology) -> Self {
        Self(now.as_nanos().div_ceil(numerology.slot().as_nanos()))
    }

    /// When the slot begins.
    pub const fn start(self, numerology: Numerology) -> Instant {
        Instant::from_nanos(self.0.saturating_mul(numerology.slot().as_nanos()))
    }

    /// The slots since an earlier one; 0 if it is later.
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

/// The use of a slot in time division.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlotKind {
    /// `D`: downlink.
    Down,
    /// `S`: downlink, a gap, and an uplink too short for data.
    Special,
    /// `U`: uplink.
    Up,
}

/// Symbols of a special slot: downlink and gap; the rest is uplink.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpecialSlot {
    /// Symbols of the downlink.
    pub down: u32,
    /// Symbols of the gap.
    pub gap: u32,
}

/// A pattern of slots that repeats.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pattern {
    kinds: Vec<SlotKind>,
    special: SpecialSlot,
}

/// Reason for refusing a pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum InvalidPattern {
    /// A letter other than D, S and U.
    Letter {
        /// Its position, from 0.
        position: usize,
        /// The letter.
        letter: char,
    },
    /// The pattern has no slot of this direction: no data, or no acknowledgements.
    Missing(SlotKind),
    /// The special slot has more symbols than a slot.
    TooManySymbols {
        /// Symbols of downlink and gap.
        symbols: u32,
    },
}

impl fmt::Display for InvalidPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Letter { position, letter } => {
                write!(f, "slot {position} of the pattern is {letter:?}: expected D, S or U")
            }
            Self::Missing(SlotKind::Up) => f.write_str("the pattern has no uplink slot (U)"),
            Self::Missing(_) => f.write_str("the pattern has no downlink slot (D)"),
            Self::TooManySymbols { symbols } => {
                write!(f, "downlink and gap of the special slot have {symbols} symbols: expected at most 14")
            }
        }
    }
}

impl core::error::Error for InvalidPattern {}

impl Pattern {
    /// The pattern of letters D, S and U, such as `DDDSU`.
    ///
    /// # Errors
    /// If there is another letter, no downlink or no uplink, or if the special slot is longer than a slot.
    pub fn new(letters: &str, special: SpecialSlot) -> Result<Self, InvalidPattern> {
        let symbols = special.down.saturating_add(special.gap);
        if symbols > SYMBOLS_PER_SLOT {
            return Err(InvalidPattern::TooManySymbols { symbols });
        }
        let mut kinds = Vec::with_capacity(letters.len());
        for (position, letter) in letters.chars().enumerate() {
            kinds.push(match letter {
                'D' => SlotKind::Down,
                'S' => SlotKind::Special,
                'U' => SlotKind::Up,
                _ => return Err(InvalidPattern::Letter { position, letter }),
            });
        }
        for needed in [SlotKind::Down, SlotKind::Up] {
            if !kinds.contains(&needed) {
                return Err(InvalidPattern::Missing(needed));
            }
        }
        Ok(Self { kinds, special })
    }

    fn kind(&self, slot: Slot) -> SlotKind {
        self.kinds[(slot.0 % self.kinds.len() as u64) as usize]
    }

    /// The share of all symbols that are downlink.
    pub fn down_share(&self) -> f64 {
        let symbols: u32 = self.kinds.iter().map(|kind| self.down_symbols(*kind)).sum();
        f64::from(symbols) / (self.kinds.len() as f64 * f64::from(SYMBOLS_PER_SLOT))
    }

    const fn down_symbols(&self, kind: SlotKind) -> u32 {
        match kind {
            SlotKind::Down => SYMBOLS_PER_SLOT,
            SlotKind::Special => self.special.down,
            SlotKind::Up => 0,
        }
    }
}

/// The division of the carrier between downlink and uplink.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Duplex {
    /// FDD: each slot has both.
    Frequency,
    /// TDD.
    Time(Pattern),
}

impl Duplex {
    /// Symbols of the downlink in a slot.
    pub fn down_symbols(&self, slot: Slot) -> u32 {
        match self {
            Self::Frequency => SYMBOLS_PER_SLOT,
            Self::Time(pattern) => pattern.down_symbols(pattern.kind(slot)),
        }
    }

    /// `true` if the slot has an uplink for data.
    pub fn has_up(&self, slot: Slot) -> bool {
        match self {
            Self::Frequency => true,
            Self::Time(pattern) => pattern.kind(slot) == SlotKind::Up,
        }
    }

    /// The shares of the slots that downlink and uplink have data in.
    pub fn slot_shares(&self) -> [f64; 2] {
        let Self::Time(pattern) = self else { return [1.0; 2] };
        let share = |is_wanted: fn(&SlotKind) -> bool| {
            pattern.kinds.iter().filter(|kind| is_wanted(kind)).count() as f64 / pattern.kinds.len() as f64
        };
        [share(|kind| *kind != SlotKind::Up), share(|kind| *kind == SlotKind::Up)]
    }

    /// The first slot from `from` on with a downlink.
    pub fn next_down(&self, from: Slot) -> Slot {
        self.next(from, |slot| self.down_symbols(slot) > 0)
    }

    /// The first slot from `from` on with an uplink for data.
    pub fn next_up(&self, from: Slot) -> Slot {
        self.next(from, |slot| self.has_up(slot))
    }

    fn next(&self, from: Slot, is_wanted: impl Fn(Slot) -> bool) -> Slot {
        // A pattern has both directions, so that one period suffices.
        let mut slot = from;
        while !is_wanted(slot) {
            slot = slot.after(1);
        }
        slot
    }
}

#[cfg(test)]
mod tests;
