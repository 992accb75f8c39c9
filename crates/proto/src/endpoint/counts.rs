//! Numbers of connections, in total and per source, for the endpoint's limits.

use core::net::IpAddr;
use std::collections::VecDeque;

use rustc_hash::{FxHashMapSeed, FxSeededState};
use whimbrel_units::Instant;

use super::held::Held;
use super::table::{Counted, Entry};
use crate::EndpointConfig;

/// Number of outdated entries below which a list is not pruned.
const OUTDATED_AT_LEAST: usize = 64;

/// Source of connections as counted by the limits: an IPv4 address, or an IPv6 network of 64 bits, in which
/// one host may use any address (RFC 4291, Section 2.5.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct SourcePrefix {
    is_ipv6: bool,
    prefix: u64,
}

impl SourcePrefix {
    pub(super) fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(v4) => Self { is_ipv6: false, prefix: v4.to_bits().into() },
            IpAddr::V6(v6) => Self { is_ipv6: true, prefix: (v6.to_bits() >> 64) as u64 },
        }
    }
}

/// Number of server connections of one source.
#[derive(Clone, Copy, Default, Debug)]
struct Tally {
    confirmed: usize,
    half_open: usize,
}

/// Decision on a further server connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Admission {
    /// A connection may be created.
    Granted,
    /// A connection may be created only once its client has proved its address, as there are many unproved
    /// ones.
    Unconfirmed,
    /// Likewise, but only this source has many.
    UnconfirmedHere,
    /// The connection is refused.
    Refused,
}

/// Table entries by age, oldest first, each with its index, number and time of insertion. Entries that are no
/// longer current are skipped.
#[derive(Debug, Default)]
struct AgeList(VecDeque<(usize, u64, Instant)>);

impl AgeList {
    /// Adds an entry. `waiting`: number of entries of the list that are current.
    fn push(
        &mut self,
        now: Instant,
        (index, number): (usize, u64),
        waiting: usize,
        is_current: impl Fn(usize, u64) -> bool,
    ) {
        if self.0.len() > OUTDATED_AT_LEAST + 2 * waiting {
            self.0.retain(|(index, number, _)| is_current(*index, *number));
        }
        self.0.push_back((index, number, now));
    }

    /// Removes and returns the oldest current entry, if it was added at `latest` or before.
    fn pop(&mut self, latest: Instant, is_current: impl Fn(usize, u64) -> bool) -> Option<usize> {
        while let Some((index, number, since)) = self.0.front().copied() {
            let is_current = is_current(index, number);
            if is_current && since > latest {
                return None;
            }
            self.0.pop_front();
            if is_current {
                return Some(index);
            }
        }
        None
    }
}

/// Numbers of connections that count against the endpoint's limits.
#[derive(Debug)]
pub(super) struct Counts {
    accepted: usize,
    half_open: usize,
    time_wait: usize,
    /// Seeded, so that attackers cannot choose colliding sources. Holds only sources with connections.
    by_source: FxHashMapSeed<SourcePrefix, Tally>,
    half_open_by_age: AgeList,
    time_wait_by_age: AgeList,
}

impl Counts {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            accepted: 0,
            half_open: 0,
            time_wait: 0,
            by_source: FxHashMapSeed::with_hasher(FxSeededState::with_seed(seed as usize)),
            half_open_by_age: AgeList::default(),
            time_wait_by_age: AgeList::default(),
        }
    }

    pub(super) fn accepted(&self) -> usize {
        self.accepted
    }

    pub(super) fn half_open(&self) -> usize {
        self.half_open
    }

    pub(super) fn time_wait(&self) -> usize {
        self.time_wait
    }

    pub(super) fn sources(&self) -> usize {
        self.by_source.len()
    }

    /// Decides on a Request from that source.
    pub(super) fn admission(&self, config: &EndpointConfig, source: SourcePrefix) -> Admission {
        let tally = self.by_source.get(&source).copied().unwrap_or_default();
        let confirmed = self.accepted - self.half_open;
        if confirmed >= config.max_accepted || tally.confirmed >= config.max_accepted_per_source {
            Admission::Refused
        } else if tally.half_open >= config.max_half_open_per_source {
            Admission::UnconfirmedHere
        } else if self.accepted >= config.max_accepted || self.half_open >= config.max_half_open {
            Admission::Unconfirmed
        } else {
            Admission::Granted
        }
    }

    /// `true` if a client that has proved its address needs the place of one that has not.
    pub(super) fn is_full(&self, config: &EndpointConfig) -> bool {
        self.accepted >= config.max_accepted
    }

    /// Counts a new server connection. `is_waiting`: tests whether an entry, by index and number, is
    /// half-open.
    pub(super) fn add<C: Held>(
        &mut self,
        now: Instant,
        index: usize,
        entry: &Entry<C>,
        is_waiting: impl Fn(usize, u64) -> bool,
    ) {
        if entry.counted == Counted::HalfOpen {
            self.half_open_by_age.push(now, (index, entry.number), self.half_open, is_waiting);
        }
        self.count(entry.source, entry.counted, true);
    }

    /// Counts a connection again after a possible change of its state.
    pub(super) fn recount<C: Held>(&mut self, entry: &mut Entry<C>) {
        let (was, is) = (entry.counted, entry.standing());
        if was != is {
            entry.counted = is;
            self.count(entry.source, was, false);
            self.count(entry.source, is, true);
        }
    }

    fn count(&mut self, source: SourcePrefix, counted: Counted, is_more: bool) {
        let change =
            |number: &mut usize| *number = if is_more { *number + 1 } else { number.saturating_sub(1) };
        let (confirmed, half_open) = match counted {
            Counted::Not => return,
            Counted::Accepted => (true, false),
            Counted::HalfOpen => (false, true),
        };
        let tally = self.by_source.entry(source).or_default();
        change(&mut self.accepted);
        if half_open {
            change(&mut self.half_open);
            change(&mut tally.half_open);
        }
        if confirmed {
            change(&mut tally.confirmed);
        }
        if tally.confirmed == 0 && tally.half_open == 0 {
            self.by_source.remove(&source);
        }
    }

    /// Removes and returns the half-open connection that has waited longest, if it has since `latest` or
    /// before.
    pub(super) fn pop_half_open(
        &mut self,
        latest: Instant,
        is_waiting: impl Fn(usize, u64) -> bool,
    ) -> Option<usize> {
        self.half_open_by_age.pop(latest, is_waiting)
    }

    /// Counts a connection in TIMEWAIT. Returns the oldest one, if there are too many.
    pub(super) fn enter_time_wait(
        &mut self,
        entry: (usize, u64),
        limit: usize,
        is_there: impl Fn(usize, u64) -> bool,
    ) -> Option<usize> {
        self.time_wait_by_age.push(Instant::ZERO, entry, self.time_wait, &is_there);
        self.time_wait += 1;
        if self.time_wait > limit { self.time_wait_by_age.pop(Instant::FAR_FUTURE, is_there) } else { None }
    }

    pub(super) fn leave_time_wait(&mut self) {
        self.time_wait = self.time_wait.saturating_sub(1);
    }
}
