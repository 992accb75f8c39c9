use std::vec::Vec;

use super::{CqiTable, McsTable, Scheme};

/// Table, index, bits, rate x 1024 and efficiency to four decimals.
const PUBLISHED: &str = include_str!("../../../tests/data/nr-mcs-cqi.csv");

#[test]
fn the_tables_are_those_of_ts_38_214() {
    let tables: [(&str, usize, &[Scheme]); 4] = [
        ("cqi-64qam", 1, CqiTable::Qam64.schemes()),
        ("cqi-256qam", 1, CqiTable::Qam256.schemes()),
        ("mcs-64qam", 0, McsTable::Qam64.schemes()),
        ("mcs-256qam", 0, McsTable::Qam256.schemes()),
    ];
    let mut rows = 0;
    for line in PUBLISHED.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let (_, first, schemes) = tables.iter().find(|(name, ..)| *name == fields[0]).unwrap();
        let scheme = schemes[fields[1].parse::<usize>().unwrap() - first];
        assert_eq!(scheme.modulation.bits(), fields[2].parse::<u32>().unwrap(), "{line}");
        assert_eq!(scheme.rate.share() * 1024.0, fields[3].parse::<f64>().unwrap(), "{line}");
        assert!((scheme.efficiency() - fields[4].parse::<f64>().unwrap()).abs() <= 5.001e-5, "{line}");
        rows += 1;
    }
    assert_eq!(rows, tables.iter().map(|(_, _, schemes)| schemes.len()).sum::<usize>());
}
