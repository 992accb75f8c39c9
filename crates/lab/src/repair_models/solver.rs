//! Datagrams that an ideal code restores: equations in consecutive datagrams, of which any set has the
//! greatest rank possible.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use super::Datagram;

/// Datagrams and equations older than this many datagrams are forgotten.
const REMEMBERED: u64 = 4096;

/// The datagrams that arrived, and the equations in the others.
#[derive(Debug, Default)]
pub struct Solver {
    known: BTreeSet<u64>,
    /// Numbers below are forgotten.
    floor: u64,
    equations: Vec<Arc<[Datagram]>>,
}

impl Solver {
    /// `true` if the datagram is known.
    pub fn knows(&self, number: u64) -> bool {
        number < self.floor || self.known.contains(&number)
    }

    /// A datagram arrived: `false` if it was known. Restored ones are appended.
    pub fn insert(&mut self, datagram: Datagram, restored: &mut Vec<Datagram>) -> bool {
        if self.knows(datagram.number) {
            return false;
        }
        self.add(datagram.number);
        self.solve(datagram.number, restored);
        true
    }

    /// A coded packet arrived. Restored ones are appended.
    pub fn equation(&mut self, members: &Arc<[Datagram]>, restored: &mut Vec<Datagram>) {
        if members.first().is_some_and(|first| first.number >= self.floor) {
            self.equations.push(Arc::clone(members));
            self.solve(members[0].number, restored);
        }
    }

    fn add(&mut self, number: u64) {
        self.known.insert(number);
        let floor = number.saturating_sub(REMEMBERED);
        if floor > self.floor {
            self.floor = floor;
            self.known = self.known.split_off(&floor);
            self.equations.retain(|members| members[0].number >= floor);
        }
    }

    /// Solves what can be solved: a range that has as many independent equations as unknown datagrams. What
    /// has changed is about the datagram `number`; only ranges around it can be solved that could not before.
    fn solve(&mut self, number: u64, restored: &mut Vec<Datagram>) {
        if !self.equations.iter().any(|members| range(members).contains(&number)) {
            return;
        }
        self.forget_solved();
        let mut found = self.solvable(|start, end| (start..end).contains(&number));
        while let Some(unknown) = found {
            for (number, datagram) in unknown {
                self.add(number);
                restored.push(datagram);
            }
            self.forget_solved();
            found = self.solvable(|_, _| true);
        }
    }

    fn forget_solved(&mut self) {
        let known = &self.known;
        self.equations.retain(|members| members.iter().any(|member| !known.contains(&member.number)));
    }

    /// The unknown datagrams of a range that can be solved, the shortest first, of those that are asked for.
    fn solvable(&self, is_asked: impl Fn(u64, u64) -> bool) -> Option<BTreeMap<u64, Datagram>> {
        let starts: BTreeSet<u64> = self.equations.iter().map(|members| range(members).start).collect();
        let end = |members: &Arc<[Datagram]>| range(members).end;
        let ends: BTreeSet<u64> = self.equations.iter().map(end).collect();
        for start in starts.iter().rev() {
            for stop in ends.iter().filter(|stop| *stop > start && is_asked(*start, **stop)) {
                let inside =
                    |members: &&Arc<[Datagram]>| members[0].number >= *start && end(members) <= *stop;
                let equations: Vec<_> = self.equations.iter().filter(inside).collect();
                let members = equations.iter().flat_map(|members| members.iter());
                let unknown: BTreeMap<u64, Datagram> = members
                    .filter(|member| !self.known.contains(&member.number))
                    .map(|member| (member.number, *member))
                    .collect();
                if unknown.is_empty() || unknown.len() > equations.len() {
                    continue;
                }
                // The rank of random coefficients: each unknown needs an equation of its own, the one that
                // ends first.
                let mut free: Vec<(u64, u64)> =
                    equations.iter().map(|members| (end(members), members[0].number)).collect();
                free.sort_unstable();
                let has_own = |number: &u64| {
                    let place = free.iter().position(|(end, start)| start <= number && number < end);
                    place.map(|place| free.remove(place)).is_some()
                };
                if unknown.keys().copied().collect::<Vec<_>>().iter().all(has_own) {
                    return Some(unknown);
                }
            }
        }
        None
    }
}

/// The numbers from the first member to the last.
fn range(members: &Arc<[Datagram]>) -> Range<u64> {
    members[0].number..members[0].number + members.len() as u64
}

#[cfg(test)]
mod tests {
    use super::super::support::datagram;
    use super::*;

    fn members(numbers: std::ops::Range<u64>) -> Arc<[Datagram]> {
        numbers.map(datagram).collect()
    }

    fn numbers(restored: &[Datagram]) -> Vec<u64> {
        restored.iter().map(|datagram| datagram.number).collect()
    }

    #[test]
    fn as_many_equations_as_unknown_datagrams_solve_them_and_one_less_none() {
        let (mut solver, mut restored) = (Solver::default(), Vec::new());
        for number in [0, 3] {
            assert!(solver.insert(datagram(number), &mut restored));
        }
        solver.equation(&members(0..4), &mut restored);
        assert!(restored.is_empty());
        solver.equation(&members(0..4), &mut restored);
        assert_eq!(numbers(&restored), [1, 2]);
        assert!(!solver.insert(datagram(1), &mut restored), "it is known");
    }

    #[test]
    fn windows_that_overlap_solve_what_each_alone_does_not() {
        let (mut solver, mut restored) = (Solver::default(), Vec::new());
        solver.insert(datagram(1), &mut restored);
        // Unknown are 0, 2, 3: of the first equation 0 and 2, of the others 2 and 3.
        solver.equation(&members(0..3), &mut restored);
        solver.equation(&members(1..4), &mut restored);
        assert!(restored.is_empty());
        solver.equation(&members(1..4), &mut restored);
        assert_eq!(numbers(&restored), [2, 3, 0]);
    }

    #[test]
    fn a_second_equation_in_a_single_unknown_does_not_stand_for_another() {
        let (mut solver, mut restored) = (Solver::default(), Vec::new());
        solver.equation(&members(0..3), &mut restored);
        for number in [0, 1] {
            solver.insert(datagram(number), &mut restored);
        }
        assert_eq!(numbers(&restored), [2]);
        solver.equation(&members(3..6), &mut restored);
        solver.equation(&members(0..3), &mut restored);
        assert_eq!(restored.len(), 1);
    }
}
