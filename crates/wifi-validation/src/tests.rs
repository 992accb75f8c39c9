use whimbrel_wifi::dcf::AfterCollision::{self, Difs, Eifs};
use whimbrel_wifi::phy::Rate;

use super::Case;
use crate::theory::monte_carlo;

fn case(
    rate: Rate,
    stations: u16,
    uses_rts: bool,
    retry_limit: Option<u16>,
    after_collision: AfterCollision,
) -> Case {
    Case { rate, stations, uses_rts, retry_limit, after_collision }
}

/// A subset of the table that the program prints, with the same bounds.
#[test]
fn saturated_cells_agree_with_theory_and_with_the_monte_carlo() {
    for case in [
        case(Rate::Hr11, 2, false, None, Eifs),
        case(Rate::Hr11, 10, false, None, Difs),
        case(Rate::Dsss1, 5, true, None, Eifs),
        case(Rate::Hr5_5, 20, false, Some(7), Eifs),
        case(Rate::Ofdm54, 5, false, None, Eifs),
        case(Rate::Ofdm24, 20, true, Some(7), Difs),
    ] {
        let result = case.compare(&monte_carlo(case.slotted(), 1_000_000, 1), 120_000, 1);
        assert!(result.from_exact().is_none_or(|deviation| deviation.abs() < 0.01), "{case:?}: {result:?}");
        assert!(result.from_drawn().abs() < 0.005, "{case:?}: {result:?}");
        assert!(result.collision_from_drawn().abs() < 0.003, "{case:?}: {result:?}");
    }
}

#[test]
fn the_table_has_every_combination_once() {
    let cases: Vec<Case> = Case::all(&[2, 50]).collect();
    assert_eq!(cases.len(), 12 * 2 * 8);
    assert!(cases.iter().enumerate().all(|(n, case)| !cases[..n].contains(case)));
}

#[test]
fn throughput_agrees_with_ns2() {
    let rows = crate::ns2::rows();
    assert_eq!(rows.len(), 16);
    for row in rows {
        assert!(row.holds(), "{row:?}");
    }
}
