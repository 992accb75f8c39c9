//! A sequence of delivered and lost packets, as runs.

use std::collections::BTreeMap;

/// Alternating runs of delivered and of lost packets.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LossRuns {
    runs: Vec<(bool, u64)>,
}

impl LossRuns {
    /// An empty sequence.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends `count` packets, lost or delivered.
    pub fn push(&mut self, lost: bool, count: u64) {
        match self.runs.last_mut() {
            _ if count == 0 => {}
            Some((last, length)) if *last == lost => *length = length.saturating_add(count),
            _ => self.runs.push((lost, count)),
        }
    }

    /// The runs: `true` and a length for lost packets.
    pub fn iter(&self) -> impl Iterator<Item = (bool, u64)> + '_ {
        self.runs.iter().copied()
    }

    /// Number of packets.
    pub fn packets(&self) -> u64 {
        self.runs.iter().fold(0, |sum, (_, length)| sum.saturating_add(*length))
    }

    /// Number of lost packets.
    pub fn lost(&self) -> u64 {
        let lost = self.runs.iter().filter(|(lost, _)| *lost);
        lost.fold(0, |sum, (_, length)| sum.saturating_add(*length))
    }

    /// Number of runs of each length of lost packets.
    pub fn bursts(&self) -> BTreeMap<u64, u64> {
        let mut bursts = BTreeMap::new();
        for (_, length) in self.runs.iter().filter(|(lost, _)| *lost) {
            *bursts.entry(*length).or_insert(0) += 1;
        }
        bursts
    }

    /// Numbers of pairs of neighbours, `[first][second]` by loss.
    pub(super) fn transitions(&self) -> [[f64; 2]; 2] {
        let mut counts = [[0.0; 2]; 2];
        for (index, &(lost, length)) in self.runs.iter().enumerate() {
            let of = usize::from(lost);
            counts[of][of] += (length - 1) as f64;
            if index + 1 < self.runs.len() {
                counts[of][1 - of] += 1.0;
            }
        }
        counts
    }
}

impl FromIterator<bool> for LossRuns {
    /// From a verdict per packet: `true` if it is lost.
    fn from_iter<I: IntoIterator<Item = bool>>(verdicts: I) -> Self {
        let mut runs = Self::new();
        for lost in verdicts {
            runs.push(lost, 1);
        }
        runs
    }
}
