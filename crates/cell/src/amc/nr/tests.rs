use proptest::prelude::*;

use super::{Allocation, Block, peak_rate};
use crate::amc::{CodeRate, Mcs, McsTable, Modulation, Scheme};
use crate::numerology::{Numerology, ResourceBlocks};

fn block(blocks: u16, symbols: u32, modulation: Modulation, rate: u16, layers: u32) -> Block {
    let allocation = Allocation { blocks: ResourceBlocks(blocks), symbols, reference: 12, layers };
    Block::new(allocation, Scheme { modulation, rate: CodeRate(rate * 2) })
}

#[test]
fn worked_blocks_have_the_values_of_the_standard() {
    use Modulation::{Qam64, Qam256, Qpsk};
    let worked = [
        (1, Qpsk, 120, 1, (132, 30.9375, 24, 1, 24)),
        (10, Qpsk, 308, 1, (1_320, 794.0625, 792, 1, 808)),
        (106, Qpsk, 193, 1, (13_992, 5_274.328_125, 5_248, 2, 5_256)),
        (51, Qam64, 517, 1, (6_732, 20_393.226_562_5, 20_480, 3, 20_496)),
        (273, Qam256, 948, 4, (36_036, 1_067_566.5, 1_081_344, 129, 1_081_512)),
    ];
    for (blocks, modulation, rate, layers, expected) in worked {
        let found = block(blocks, 12, modulation, rate, layers);
        let information = found.information as f64 / 2048.0;
        let found = (found.elements, information, found.quantised, found.code_blocks, found.bits);
        assert_eq!(found, expected, "{blocks} resource blocks");
    }
}

#[test]
fn the_blocks_of_a_wide_carrier() {
    let scheme = McsTable::Qam256.scheme(Mcs(9));
    assert_eq!((scheme.modulation, scheme.rate), (Modulation::Qam16, CodeRate(616 * 2)));
    let sizes = [12, 8].map(|symbols| block(273, symbols, Modulation::Qam16, 616, 1).bits);
    assert_eq!(sizes, [86_040, 55_304]);
}

#[test]
fn peak_rates_are_those_of_ts_38_306() {
    let highest = |table: McsTable| *table.schemes().last().unwrap();
    let wide = peak_rate(Numerology::KHZ_30, ResourceBlocks(273), 4, highest(McsTable::Qam256), 0.14);
    assert!((wide.as_bits_per_second() - 2_337.000e6).abs() < 500.0, "{wide:?}");
    let narrow = peak_rate(Numerology::KHZ_15, ResourceBlocks(106), 2, highest(McsTable::Qam64), 0.14);
    assert!((narrow.as_bits_per_second() - 170.139e6).abs() < 500.0, "{narrow:?}");
}

#[test]
fn no_elements_hold_no_bits() {
    assert_eq!(block(0, 12, Modulation::Qpsk, 120, 1).bits, 0);
    assert_eq!(block(10, 1, Modulation::Qpsk, 120, 1).bits, 0);
}

proptest! {
    /// Blocks are whole bytes, larger with more resources but for the quantisation, and hold about N_info
    /// bits.
    #[test]
    fn blocks_hold_the_information_that_fits(
        blocks in 1_u16..=273, symbols in 2_u32..=13, index in 0_u8..28, layers in 1_u32..=4,
    ) {
        let scheme = McsTable::Qam256.scheme(Mcs(index));
        let allocation = Allocation { blocks: ResourceBlocks(blocks), symbols, reference: 12, layers };
        let found = Block::new(allocation, scheme);
        prop_assert_eq!(found.bits % 8, 0);
        let information = found.information as f64 / 2048.0;
        let error = (found.bits as f64 - information) / information;
        prop_assert!(error.abs() < 0.06 || found.bits.abs_diff(information as u64) <= 32, "{found:?}");
        let more = Block::new(Allocation { blocks: ResourceBlocks(blocks + 8), ..allocation }, scheme);
        prop_assert!(more.bits >= found.bits);
    }
}
