//! The choice of a scheme: from a signal-to-noise ratio to a CQI, and from a CQI to an MCS.

use super::lte::LteMcs;
use super::scheme::{Cqi, CqiTable, Mcs, McsTable};
use crate::level::Decibels;

/// The rule by which a terminal chooses its CQI.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum SelectionRule {
    /// The greatest CQI whose blocks fail in at most 10 % of the cases in noise.
    #[default]
    TenPercent,
    /// ns-3's and 5G-LENA's: Shannon's efficiency behind a gap for a bit error rate of 5e-5. 1 to 4 dB more
    /// careful.
    Ns3,
}

/// The tables in use, and the rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Adaptation {
    /// Rule for the CQI.
    pub rule: SelectionRule,
    /// Up to which modulation.
    pub table: McsTable,
    /// LTE rounds efficiencies and has MCSs of its own; `None` for NR.
    pub lte: Option<LteMcs>,
}

/// ns-3's efficiencies of LTE's CQI 1 to 15 (`lte-amc.cc`), of two decimals.
const LTE_CQI: [f64; 15] =
    [0.15, 0.23, 0.38, 0.6, 0.88, 1.18, 1.48, 1.91, 2.41, 2.73, 3.32, 3.9, 4.52, 5.12, 5.55];
/// ns-3's efficiencies of LTE's MCS 0 to 28, of two decimals.
const LTE_MCS: [f64; 29] = [
    0.15, 0.19, 0.23, 0.31, 0.38, 0.49, 0.6, 0.74, 0.88, 1.03, 1.18, 1.33, 1.48, 1.7, 1.91, 2.16, 2.41, 2.57,
    2.73, 3.03, 3.32, 3.61, 3.9, 4.21, 4.52, 4.82, 5.12, 5.33, 5.55,
];

/// Signal-to-noise ratios in dB at which 10 % of the blocks of CQI 1 to 15 (up to 64QAM) fail in noise, after
/// the link simulations of the Vienna simulator.
const TEN_PERCENT: [f64; 15] =
    [-6.7, -4.7, -2.3, 0.2, 2.4, 4.3, 5.9, 8.1, 10.3, 11.7, 14.1, 16.3, 18.7, 21.0, 22.7];

/// The bit error rate that ns-3's rule aims at.
const NS3_BIT_ERROR_RATE: f64 = 5e-5;

impl Adaptation {
    /// NR's tables up to this modulation.
    pub const fn nr(rule: SelectionRule, table: McsTable) -> Self {
        Self { rule, table, lte: None }
    }

    /// LTE's tables.
    pub const fn lte(rule: SelectionRule, tables: LteMcs) -> Self {
        Self { rule, table: tables.table, lte: Some(tables) }
    }

    /// The CQI table that belongs to the MCS table.
    const fn cqi_table(&self) -> CqiTable {
        match self.table {
            McsTable::Qam64 => CqiTable::Qam64,
            McsTable::Qam256 => CqiTable::Qam256,
        }
    }

    /// `true` with LTE's tables up to 64QAM, whose efficiencies have two decimals in ns-3.
    const fn is_rounded(&self) -> bool {
        self.lte.is_some() && matches!(self.table, McsTable::Qam64)
    }

    /// The efficiency of a CQI in bits per symbol.
    pub fn cqi_efficiency(&self, cqi: Cqi) -> f64 {
        if self.is_rounded() {
            LTE_CQI[usize::from(cqi.0) - 1]
        } else {
            self.cqi_table().scheme(cqi).efficiency()
        }
    }

    /// The efficiency of an MCS in bits per symbol.
    pub fn efficiency(&self, mcs: Mcs) -> f64 {
        if self.is_rounded() { LTE_MCS[usize::from(mcs.0)] } else { self.table.scheme(mcs).efficiency() }
    }

    /// The ratio at which 10 % of the blocks of a CQI fail in noise.
    pub(super) fn ten_percent(&self, cqi: Cqi) -> Decibels {
        ten_percent_point(self.cqi_table().scheme(cqi).efficiency())
    }

    /// The CQI that a terminal reports at a signal-to-noise ratio; `None` if it is out of range.
    pub fn cqi(&self, sinr: Decibels) -> Option<Cqi> {
        let fits = |cqi: &Cqi| match self.rule {
            SelectionRule::TenPercent => self.ten_percent(*cqi) <= sinr,
            // ns-3 asks LTE's for less than the efficiency, 5G-LENA NR's for at most.
            SelectionRule::Ns3 if self.is_rounded() => self.cqi_efficiency(*cqi) < ns3_efficiency(sinr),
            SelectionRule::Ns3 => self.cqi_efficiency(*cqi) <= ns3_efficiency(sinr),
        };
        (1..=15).map(Cqi).rev().find(fits)
    }

    /// The greatest MCS whose efficiency is at most the efficiency of the CQI.
    pub fn mcs(&self, cqi: Cqi) -> Mcs {
        let most = self.cqi_efficiency(cqi);
        let count = self.table.schemes().len() as u8;
        (0..count).map(Mcs).rev().find(|mcs| self.efficiency(*mcs) <= most).unwrap_or(Mcs(0))
    }
}

/// Efficiency in bits per symbol that ns-3 expects of a signal-to-noise ratio.
pub(crate) fn ns3_efficiency(sinr: Decibels) -> f64 {
    let gap = -libm::log(5.0 * NS3_BIT_ERROR_RATE) / 1.5;
    libm::log2(1.0 + sinr.ratio() / gap)
}

/// The signal-to-noise ratio at which 10 % of the blocks of an efficiency (bits per symbol) fail in noise.
///
/// Linear in the efficiency between the CQIs; below the first and above the last the distance to Shannon's
/// bound is kept, which extends the curve to 256QAM.
pub fn ten_percent_point(efficiency: f64) -> Decibels {
    let known = |number: usize| (CqiTable::Qam64.schemes()[number].efficiency(), TEN_PERCENT[number]);
    let kept = |number: usize| {
        let (known_efficiency, point) = known(number);
        let bound = |efficiency: f64| Decibels::from_ratio(libm::exp2(efficiency) - 1.0);
        Decibels(point) + bound(efficiency) - bound(known_efficiency)
    };
    let above = (0..15).find(|&number| known(number).0 >= efficiency);
    match above {
        None => kept(14),
        Some(0) => kept(0),
        Some(number) => {
            let ((low, low_point), (high, high_point)) = (known(number - 1), known(number));
            Decibels(low_point + (high_point - low_point) * (efficiency - low) / (high - low))
        }
    }
}

#[cfg(test)]
mod tests;
