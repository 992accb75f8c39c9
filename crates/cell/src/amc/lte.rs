//! Transport blocks of LTE (TS 36.213, Section 7.1.7): an MCS has an index I_TBS, and a table has the bits of
//! each index on each number of resource blocks.

mod table;

use whimbrel_units::ByteCount;

use super::scheme::{Mcs, McsTable, Modulation};
use crate::numerology::{ResourceBlocks, SUBCARRIERS_PER_BLOCK, SYMBOLS_PER_SLOT};

/// Direction of a transmission.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Direction {
    /// From the station to a terminal.
    Down,
    /// From a terminal to the station.
    Up,
}

/// I_TBS by MCS (TS 36.213, Table 7.1.7.1-1).
const DOWN: [u8; 29] =
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 10, 11, 12, 13, 14, 15, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26];
/// I_TBS by MCS (TS 36.213, Table 8.6.1-1).
const UP: [u8; 29] = [
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 19, 20, 21, 22, 23, 24, 25, 26,
];
/// I_TBS by MCS with 256QAM (TS 36.213, Table 7.1.7.1-1A).
const DOWN_256: [u8; 28] = [
    0, 2, 4, 6, 8, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 27, 28, 29, 30, 31, 32, 33,
];

/// The CRC behind a transport block, in bits.
const CRC_BITS: u32 = 24;
/// The highest code rate that a terminal must decode: it may skip blocks above (TS 36.213, Section 7.1.7).
const HIGHEST_RATE: f64 = 0.93;

/// A table of MCSs of LTE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LteMcs {
    /// Direction of the blocks.
    pub direction: Direction,
    /// Up to which modulation. The uplink has the table up to 64QAM only.
    pub table: McsTable,
}

impl LteMcs {
    /// I_TBS from MCS 0 on.
    const fn indices(self) -> &'static [u8] {
        match (self.direction, self.table) {
            (Direction::Up, _) => &UP,
            (Direction::Down, McsTable::Qam64) => &DOWN,
            (Direction::Down, McsTable::Qam256) => &DOWN_256,
        }
    }

    /// The modulation of an MCS.
    pub fn modulation(self, mcs: Mcs) -> Modulation {
        match (self.direction, self.table, mcs.0) {
            (Direction::Down, McsTable::Qam256, _) => self.table.scheme(mcs).modulation,
            (Direction::Down, _, 0..10) | (Direction::Up, _, 0..11) => Modulation::Qpsk,
            (Direction::Down, _, 10..17) | (Direction::Up, _, 11..21) => Modulation::Qam16,
            _ => Modulation::Qam64,
        }
    }

    /// The bits of a transport block of one layer; twice as many on two.
    ///
    /// # Panics
    /// If there is no such MCS, or if the blocks are not between 1 and 110.
    pub fn block_bits(self, mcs: Mcs, blocks: ResourceBlocks) -> u32 {
        let index = usize::from(self.indices()[usize::from(mcs.0)]);
        table::BLOCK_BITS[index][usize::from(blocks.0) - 1]
    }

    /// The size of a transport block of one layer.
    ///
    /// # Panics
    /// If there is no such MCS, or if the blocks are not between 1 and 110.
    pub fn block_size(self, mcs: Mcs, blocks: ResourceBlocks) -> ByteCount {
        ByteCount::new(u64::from(self.block_bits(mcs, blocks) / 8))
    }

    /// The code rate of a block with its CRC, on this number of resource elements in each resource block.
    pub fn code_rate(self, mcs: Mcs, blocks: ResourceBlocks, elements: u32) -> f64 {
        let coded = u32::from(blocks.0) * elements * self.modulation(mcs).bits();
        f64::from(self.block_bits(mcs, blocks) + CRC_BITS) / f64::from(coded)
    }

    /// The highest MCS that a terminal must decode, with this number of resource elements in each resource
    /// block.
    pub fn highest_usable(self, blocks: ResourceBlocks, elements: u32) -> Mcs {
        let count = self.indices().len() as u8;
        let usable = |mcs: &Mcs| self.code_rate(*mcs, blocks, elements) <= HIGHEST_RATE;
        (0..count).map(Mcs).rev().find(usable).unwrap_or(Mcs(0))
    }
}

/// Resource elements for data of a resource block in a transmission time interval: without the control region
/// of `cfi` symbols and without the reference signals of the antenna ports (TS 36.211, Sections 6.10.1 and
/// 6.7).
///
/// Synchronisation and broadcast are left out: they take a part of six resource blocks in two of ten
/// intervals.
pub const fn data_elements(cfi: u32, ports: u32) -> u32 {
    // The reference signals of the first symbols are within the control region.
    let reference = match (ports, cfi) {
        (1, _) => 6,
        (2, _) => 12,
        (_, 1) => 20,
        _ => 16,
    };
    SUBCARRIERS_PER_BLOCK * (SYMBOLS_PER_SLOT - cfi) - reference
}

#[cfg(test)]
mod tests;
