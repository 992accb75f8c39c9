//! An [`Adaptation`] as tables: a station asks for a scheme for each terminal in each slot.

use alloc::vec::Vec;

use super::adaptation::{Adaptation, SelectionRule, ten_percent_point};
use super::scheme::{Cqi, Mcs};
use crate::level::Decibels;

/// The schemes of an adaptation.
#[derive(Clone, PartialEq, Debug)]
pub struct Ladder {
    adaptation: Adaptation,
    /// The least ratio of each CQI, from 1 on.
    least: [Decibels; 15],
    /// The MCS of each CQI, from 1 on.
    schemes: [Mcs; 15],
    /// The ratio at which 10 % of the blocks of each MCS fail.
    needed: Vec<Decibels>,
}

impl Ladder {
    /// The tables of an adaptation.
    pub fn new(adaptation: Adaptation) -> Self {
        let count = adaptation.table.schemes().len() as u8;
        let needed = (0..count).map(|mcs| ten_percent_point(adaptation.efficiency(Mcs(mcs)))).collect();
        Self {
            least: core::array::from_fn(|number| adaptation.ten_percent(Cqi(number as u8 + 1))),
            schemes: core::array::from_fn(|number| adaptation.mcs(Cqi(number as u8 + 1))),
            needed,
            adaptation,
        }
    }

    /// The scheme for the CQI that a terminal with that ratio reports; `None` if it is out of range.
    pub fn mcs(&self, sinr: Decibels) -> Option<Mcs> {
        let place = match self.adaptation.rule {
            SelectionRule::TenPercent => self.least.iter().rposition(|least| *least <= sinr)?,
            SelectionRule::Ns3 => usize::from(self.adaptation.cqi(sinr)?.0) - 1,
        };
        Some(self.schemes[place])
    }

    /// The ratio at which 10 % of the blocks of a scheme fail.
    pub fn needed(&self, mcs: Mcs) -> Decibels {
        self.needed[usize::from(mcs.0)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::amc::McsTable;
    use crate::amc::lte::{Direction, LteMcs};

    #[test]
    fn tables_choose_as_the_rules_do() {
        let lte = LteMcs { direction: Direction::Up, table: McsTable::Qam64 };
        for rule in [SelectionRule::TenPercent, SelectionRule::Ns3] {
            for adaptation in [Adaptation::lte(rule, lte), Adaptation::nr(rule, McsTable::Qam256)] {
                let ladder = Ladder::new(adaptation);
                for tenth in -100..400 {
                    let sinr = Decibels(f64::from(tenth) / 10.0);
                    let mcs = adaptation.cqi(sinr).map(|cqi| adaptation.mcs(cqi));
                    assert_eq!(ladder.mcs(sinr), mcs, "{adaptation:?} {sinr:?}");
                    let needed = mcs.map(|mcs| ten_percent_point(adaptation.efficiency(mcs)));
                    assert_eq!(mcs.map(|mcs| ladder.needed(mcs)), needed);
                }
            }
        }
    }
}
