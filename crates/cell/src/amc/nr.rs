//! Transport blocks of NR (TS 38.214, Section 5.1.3.2): the information bits that fit, quantised so that all
//! code blocks have one size.

use whimbrel_units::{ByteCount, DataRate};

use super::scheme::Scheme;
use crate::numerology::{Numerology, ResourceBlocks, SUBCARRIERS_PER_BLOCK, SYMBOLS_PER_SLOT};

/// The resources of a transport block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Allocation {
    /// Resource blocks.
    pub blocks: ResourceBlocks,
    /// Symbols for data.
    pub symbols: u32,
    /// Resource elements of the demodulation reference signal in each resource block: 12 for one symbol
    /// without data.
    pub reference: u32,
    /// Layers.
    pub layers: u32,
}

/// A transport block with the intermediate values of the standard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    /// Resource elements, N_RE.
    pub elements: u32,
    /// Information bits, N_info, in units of 1/2048.
    pub information: u64,
    /// Quantised information bits, N'_info.
    pub quantised: u64,
    /// Code blocks, C.
    pub code_blocks: u32,
    /// Transport block size in bits.
    pub bits: u64,
}

/// The most resource elements of a resource block that count.
const ELEMENTS_PER_BLOCK: u32 = 156;
/// The largest size of Table 5.1.3.2-1; a formula has those above.
const LARGEST_LISTED: u64 = 3824;
/// The unit of [`Block::information`].
const UNIT: u64 = 2048;
/// The CRC of a transport block, in bits.
const CRC_BITS: u64 = 24;

impl Block {
    /// The block that an allocation holds.
    pub fn new(allocation: Allocation, scheme: Scheme) -> Self {
        let Allocation { blocks, symbols, reference, layers } = allocation;
        let in_block = (SUBCARRIERS_PER_BLOCK * symbols).saturating_sub(reference).min(ELEMENTS_PER_BLOCK);
        let elements = in_block * u32::from(blocks.0);
        let symbols_bits = u64::from(elements) * u64::from(scheme.modulation.bits()) * u64::from(layers);
        let information = symbols_bits * u64::from(scheme.rate.0);
        let (quantised, code_blocks, bits) = if information == 0 {
            (0, 0, 0)
        } else if information <= LARGEST_LISTED * UNIT {
            let quantised = quantise_down(information);
            (quantised, 1, listed(quantised))
        } else {
            let quantised = quantise_nearest(information);
            let code_blocks = code_blocks(quantised, scheme);
            let unit = 8 * code_blocks;
            (quantised, code_blocks, unit * (quantised + CRC_BITS).div_ceil(unit) - CRC_BITS)
        };
        Self { elements, information, quantised, code_blocks: code_blocks as u32, bits }
    }

    /// The size in whole bytes.
    pub const fn size(self) -> ByteCount {
        ByteCount::new(self.bits / 8)
    }
}

/// The least size of Table 5.1.3.2-1 that is not below `bits`.
fn listed(bits: u64) -> u64 {
    let place = SIZES.partition_point(|size| u64::from(*size) < bits);
    SIZES.get(place).map_or(LARGEST_LISTED, |size| u64::from(*size))
}

/// N'_info of a small block: rounded down to a power of two's multiple.
fn quantise_down(information: u64) -> u64 {
    let whole = information / UNIT;
    let exponent = whole.checked_ilog2().unwrap_or(0).saturating_sub(6).max(3);
    (whole >> exponent << exponent).max(24)
}

/// N'_info of a large block: rounded to the nearest multiple, halves up.
fn quantise_nearest(information: u64) -> u64 {
    let information = information - CRC_BITS * UNIT;
    let exponent = (information / UNIT).ilog2() - 5;
    let step = UNIT << exponent;
    (((information + step / 2) / step) << exponent).max(3840)
}

/// The number of code blocks of a large block.
fn code_blocks(quantised: u64, scheme: Scheme) -> u64 {
    if u64::from(scheme.rate.0) * 4 <= UNIT {
        (quantised + CRC_BITS).div_ceil(3816)
    } else if quantised > 8424 {
        (quantised + CRC_BITS).div_ceil(8424)
    } else {
        1
    }
}

/// The peak rate of a carrier by TS 38.306, Section 4.1.2, with this share of overhead.
pub fn peak_rate(
    numerology: Numerology,
    blocks: ResourceBlocks,
    layers: u32,
    scheme: Scheme,
    overhead: f64,
) -> DataRate {
    let symbol_seconds = 1e-3 / f64::from(SYMBOLS_PER_SLOT << numerology.mu());
    let elements = f64::from(u32::from(blocks.0) * SUBCARRIERS_PER_BLOCK);
    let bits = f64::from(layers) * scheme.efficiency() * elements / symbol_seconds;
    DataRate::from_bits_per_second(bits * (1.0 - overhead))
}

/// TS 38.214, Table 5.1.3.2-1.
const SIZES: [u16; 93] = [
    24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120, 128, 136, 144, 152, 160, 168, 176, 184, 192, 208,
    224, 240, 256, 272, 288, 304, 320, 336, 352, 368, 384, 408, 432, 456, 480, 504, 528, 552, 576, 608, 640,
    672, 704, 736, 768, 808, 848, 888, 928, 984, 1032, 1064, 1128, 1160, 1192, 1224, 1256, 1288, 1320, 1352,
    1416, 1480, 1544, 1608, 1672, 1736, 1800, 1864, 1928, 2024, 2088, 2152, 2216, 2280, 2408, 2472, 2536,
    2600, 2664, 2728, 2792, 2856, 2976, 3104, 3240, 3368, 3496, 3624, 3752, 3824,
];

#[cfg(test)]
mod tests;
