use super::{Direction, LteMcs, data_elements, table};
use crate::amc::{Mcs, McsTable, Modulation};
use crate::numerology::ResourceBlocks;

const DOWN: LteMcs = LteMcs { direction: Direction::Down, table: McsTable::Qam64 };
const UP: LteMcs = LteMcs { direction: Direction::Up, table: McsTable::Qam64 };
const DOWN_256: LteMcs = LteMcs { direction: Direction::Down, table: McsTable::Qam256 };

fn bytes(mcs: LteMcs, number: u8, blocks: u16) -> u64 {
    mcs.block_size(Mcs(number), ResourceBlocks(blocks)).as_u64()
}

#[test]
fn blocks_have_the_sizes_of_the_standard() {
    assert_eq!(bytes(DOWN, 28, 24), 2196);
    assert_eq!(bytes(DOWN, 28, 8), 749);
    assert_eq!(bytes(DOWN, 28, 100), 9422);
    assert_eq!(bytes(DOWN, 22, 24), 1383);
    assert_eq!(bytes(DOWN, 8, 24), 421);
    assert_eq!(bytes(UP, 28, 25), 2292);
    assert_eq!(bytes(UP, 28, 3), 277);
    assert_eq!(bytes(UP, 14, 25), 807);
    assert_eq!(bytes(UP, 2, 3), 18);
    assert_eq!(bytes(DOWN_256, 27, 100), 12237);
}

#[test]
fn the_table_is_not_monotone_where_the_standard_is_not() {
    assert_eq!(table::BLOCK_BITS[26][49], 36_696);
    assert_eq!(table::BLOCK_BITS[27][49], 32_856);
    assert_eq!(table::BLOCK_BITS[6][0], 328);
    for (index, row) in table::BLOCK_BITS.iter().enumerate() {
        let falls = row.windows(2).filter(|pair| pair[1] < pair[0]).count();
        assert_eq!(
            falls,
            usize::from(index == 6),
            "I_TBS {index}: more resource blocks have a smaller block"
        );
    }
    for blocks in 1..110 {
        let falls = (1..34).filter(|&i| table::BLOCK_BITS[i][blocks] < table::BLOCK_BITS[i - 1][blocks]);
        assert!(falls.eq([27]), "{blocks} resource blocks");
    }
}

#[test]
fn code_rates_follow_the_control_region() {
    let expected = [(1, 1, 150, 0.8160), (1, 2, 144, 0.8500), (2, 2, 132, 0.9273), (3, 1, 126, 0.9714)];
    for (cfi, ports, elements, rate) in expected {
        assert_eq!(data_elements(cfi, ports), elements);
        let found = DOWN.code_rate(Mcs(28), ResourceBlocks(25), elements);
        assert!((found - rate).abs() < 5e-5, "CFI {cfi}, {ports} ports: {found}");
    }
    assert_eq!(data_elements(3, 2), 120);
    assert!((1.0 - 120.0 / 168.0 - 0.2857_f64).abs() < 5e-5);
    assert!((DOWN.code_rate(Mcs(28), ResourceBlocks(25), 120) - 1.02).abs() < 1e-9);
}

#[test]
fn a_wide_control_region_forbids_the_highest_scheme() {
    assert_eq!(DOWN.highest_usable(ResourceBlocks(25), data_elements(2, 2)), Mcs(28));
    assert_eq!(DOWN.highest_usable(ResourceBlocks(25), data_elements(3, 1)), Mcs(27));
}

#[test]
fn modulations_change_at_the_repeated_block_size() {
    for mcs in 1..29 {
        let repeats = |table: LteMcs| bytes(table, mcs, 50) == bytes(table, mcs - 1, 50);
        let changes = |table: LteMcs| table.modulation(Mcs(mcs)) != table.modulation(Mcs(mcs - 1));
        assert_eq!(repeats(DOWN), changes(DOWN), "downlink MCS {mcs}");
        assert_eq!(repeats(UP), changes(UP), "uplink MCS {mcs}");
    }
    assert_eq!(DOWN_256.modulation(Mcs(20)), Modulation::Qam256);
}
