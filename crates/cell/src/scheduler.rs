//! Allocation of a slot's resource blocks.
//!
//! The caller names the users with data, and the bits that a group of resource blocks would carry for each of
//! them; [`Scheduler::allocate`] gives the groups away, and [`Scheduler::handle_served`] records what came of
//! it. A slot without data is not scheduled at all: means decay by a power of the slots passed.

use alloc::vec::Vec;

use crate::duplex::Slot;
use crate::numerology::ResourceBlocks;

/// A terminal, numbered among the terminals of its cell.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct UserIndex(pub u32);

impl UserIndex {
    const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A user with data.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Candidate {
    /// The user.
    pub user: UserIndex,
    /// Bits to be sent. Whoever has enough groups for them gets no more.
    pub backlog: f64,
}

/// A law of scheduling.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Policy {
    /// Each group goes to the user whose rate in it is greatest in proportion to the user's mean rate.
    ProportionalFair {
        /// Slots over which rates are averaged: the inverse of the newest slot's weight.
        memory: f64,
        /// The mean rate with which users begin.
        newcomer: Newcomer,
    },
    /// Users take turns with equal numbers of groups.
    RoundRobin {
        /// The fewest groups of a turn.
        least: u16,
    },
    /// Each group goes to the user with the greatest rate in it.
    MaximumRate,
}

/// The mean rate with which a user begins.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Newcomer {
    /// The mean of the others.
    #[default]
    Mean,
    /// Nearly nothing, as in ns-3: a newcomer gets the whole cell for as long as the mean takes to rise.
    Nothing,
}

/// The units in which resource blocks are given away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Groups {
    /// Resource blocks of the carrier.
    pub blocks: ResourceBlocks,
    /// Resource blocks of a group.
    pub size: u16,
    /// The last group counts though it has fewer blocks. ns-3 leaves it unused.
    pub has_incomplete: bool,
}

impl Groups {
    /// The number of groups.
    pub const fn count(&self) -> u16 {
        if self.has_incomplete { self.blocks.0.div_ceil(self.size) } else { self.blocks.0 / self.size }
    }

    /// The resource blocks of a group.
    pub const fn blocks_of(&self, group: u16) -> ResourceBlocks {
        let rest = self.blocks.0.saturating_sub(group * self.size);
        ResourceBlocks(if rest < self.size { rest } else { self.size })
    }
}

/// A user's mean rate in bits per slot, at the end of a slot.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Mean {
    bits: f64,
    at: Slot,
}

/// ns-3's mean rate at the beginning, in bits per slot: small, so that it can be a divisor.
const NEARLY_NOTHING: f64 = 8e-3;

/// A candidate while groups are given away.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Rest {
    /// Bits that have no group yet.
    bits: f64,
    /// Factor on the rate.
    weight: f64,
}

/// The scheduler of one direction of a cell.
#[derive(Clone, PartialEq, Debug)]
pub struct Scheduler {
    policy: Policy,
    means: Vec<Option<Mean>>,
    /// The user after the last of round robin's turns.
    turn: UserIndex,
    /// Candidates' backlog without a group yet, kept for its memory.
    rest: Vec<Rest>,
}

impl Scheduler {
    /// A scheduler without users.
    pub const fn new(policy: Policy) -> Self {
        Self { policy, means: Vec::new(), turn: UserIndex(0), rest: Vec::new() }
    }

    /// Adds a user, or begins the mean of a known one anew.
    pub fn add(&mut self, now: Slot, user: UserIndex) {
        if self.means.len() <= user.index() {
            self.means.resize(user.index() + 1, None);
        }
        let newcomer = match self.policy {
            Policy::ProportionalFair { newcomer, .. } => newcomer,
            _ => Newcomer::Nothing,
        };
        self.means[user.index()] = None;
        let (sum, count) = (0..self.means.len())
            .filter(|other| self.means[*other].is_some())
            .fold((0.0, 0.0), |(sum, count), other| {
                (sum + self.mean(now, UserIndex(other as u32)), count + 1.0)
            });
        let bits = if newcomer == Newcomer::Mean && count > 0.0 { sum / count } else { NEARLY_NOTHING };
        self.means[user.index()] = Some(Mean { bits, at: now });
    }

    /// Removes a user.
    pub fn remove(&mut self, user: UserIndex) {
        if let Some(mean) = self.means.get_mut(user.index()) {
            *mean = None;
        }
    }

    /// The mean rate of a user in bits per slot, before `now`.
    pub fn mean(&self, now: Slot, user: UserIndex) -> f64 {
        let Some(Some(mean)) = self.means.get(user.index()) else { return NEARLY_NOTHING };
        let Policy::ProportionalFair { memory, .. } = self.policy else { return mean.bits };
        let passed = now.since(mean.at);
        let decayed = match passed {
            0 => mean.bits,
            1 => mean.bits * (1.0 - 1.0 / memory),
            _ => mean.bits * libm::pow(1.0 - 1.0 / memory, passed as f64),
        };
        decayed.max(NEARLY_NOTHING)
    }

    /// Gives the groups of a slot to the users with data, in the order of their numbers. `bits` is what a
    /// group would carry for the candidate of that place, 0 for none. The result has one entry for each
    /// group: `None` for a group that no candidate can use.
    pub fn allocate(
        &mut self,
        now: Slot,
        candidates: &[Candidate],
        groups: u16,
        bits: impl Fn(usize, u16) -> f64,
        given: &mut Vec<Option<UserIndex>>,
    ) {
        given.clear();
        if let Policy::RoundRobin { least } = self.policy {
            self.take_turns(candidates, groups, least, given);
            return;
        }
        let mut rest = core::mem::take(&mut self.rest);
        rest.clear();
        rest.extend(candidates.iter().map(|candidate| Rest {
            bits: candidate.backlog,
            weight: match self.policy {
                Policy::ProportionalFair { .. } => 1.0 / self.mean(now, candidate.user),
                _ => 1.0,
            },
        }));
        for group in 0..groups {
            let value = |place: usize| {
                let Rest { bits: rest, weight } = rest[place];
                if rest <= 0.0 { 0.0 } else { bits(place, group) * weight }
            };
            let place = best(candidates.len(), value);
            if let Some(place) = place {
                rest[place].bits -= bits(place, group);
            } else if rest.iter().all(|rest| rest.bits <= 0.0) {
                given.resize(usize::from(groups), None);
                break;
            }
            given.push(place.map(|place| candidates[place].user));
        }
        self.rest = rest;
    }

    fn take_turns(
        &mut self,
        candidates: &[Candidate],
        groups: u16,
        least: u16,
        given: &mut Vec<Option<UserIndex>>,
    ) {
        let count = u16::try_from(candidates.len()).unwrap_or(u16::MAX).max(1);
        let share = (groups / count).max(least).clamp(1, groups.max(1));
        let turns = usize::from(groups / share).min(candidates.len());
        let first = candidates.iter().position(|candidate| candidate.user >= self.turn).unwrap_or(0);
        for turn in 0..turns {
            let user = candidates[(first + turn) % candidates.len()].user;
            given.extend((0..share).map(|_| Some(user)));
            self.turn = UserIndex(user.0 + 1);
        }
        given.resize(usize::from(groups), None);
    }

    /// A user was served these bits in the slot. Users that were not served need no call.
    pub fn handle_served(&mut self, now: Slot, user: UserIndex, bits: f64) {
        let Policy::ProportionalFair { memory, .. } = self.policy else { return };
        let before = self.mean(now, user);
        if let Some(Some(mean)) = self.means.get_mut(user.index()) {
            // The slot's own decay, with which its share is added.
            let after = before * (1.0 - 1.0 / memory) + bits / memory;
            *mean = Mean { bits: after, at: now.after(1) };
        }
    }
}

/// The place with the greatest value above 0, the first of equals.
fn best(count: usize, value: impl Fn(usize) -> f64) -> Option<usize> {
    let mut found = None;
    let mut greatest = 0.0;
    for place in 0..count {
        let value = value(place);
        if value > greatest {
            (found, greatest) = (Some(place), value);
        }
    }
    found
}

#[cfg(test)]
pub(crate) mod tests;
