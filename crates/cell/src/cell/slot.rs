//! The work of one slot in one direction: repetitions first, then grants without competition, then the
//! scheduler.

use alloc::vec::Vec;

use whimbrel_units::random::Random;
use whimbrel_units::{ByteCount, Instant};

use super::bearer::Block;
use super::{Cell, Channel, OnAir};
use crate::amc::Mcs;
use crate::amc::lte::Direction;
use crate::duplex::Slot;
use crate::harq::Attempt;
use crate::level::Decibels;
use crate::numerology::ResourceBlocks;
use crate::scheduler::{Candidate, UserIndex};
use crate::uplink::Grant;

/// Lists that are kept between slots, so that a slot allocates nothing for them.
#[derive(Clone, Default, Debug)]
pub(super) struct Scratch {
    candidates: Vec<Candidate>,
    /// The scheme of each candidate, and the bits of a resource block.
    schemes: Vec<(Mcs, f64)>,
    given: Vec<Option<UserIndex>>,
    /// The terminals that have something to do in the slot.
    pub(super) due: Vec<UserIndex>,
}

impl Cell {
    pub(super) fn run_slot(
        &mut self,
        now: Instant,
        slot: Slot,
        direction: Direction,
        due: &[UserIndex],
        channel: &mut impl Channel,
    ) {
        let is_used = match direction {
            Direction::Down => self.config.duplex.down_symbols(slot) > 0,
            Direction::Up => self.config.duplex.has_up(slot),
        };
        if !is_used {
            return;
        }
        let mut free = self.config.groups.count() - self.taken_by_others();
        for user in due.iter().copied() {
            self.repeat(now, slot, (user, direction), channel, &mut free);
        }
        let mut scratch = core::mem::take(&mut self.scratch);
        scratch.candidates.clear();
        scratch.schemes.clear();
        for user in due.iter().copied() {
            let Some(mcs) = self.scheme(now, slot, (user, direction), channel) else { continue };
            let grant = match direction {
                Direction::Down => None,
                Direction::Up => {
                    let duplex = &self.config.duplex;
                    let terminal = self.terminals[user.0 as usize].as_deref_mut();
                    let Some(grant) = terminal.and_then(|terminal| terminal.uplink.grant(slot, duplex))
                    else {
                        continue;
                    };
                    Some(grant)
                }
            };
            if let Some(Grant::Fixed(room)) = grant {
                self.send_fixed(now, slot, user, (mcs, room), channel, &mut free);
            } else {
                scratch.candidates.push(self.candidate(user, direction, grant));
                scratch.schemes.push((mcs, self.bits_per_block(slot, direction, mcs)));
            }
        }
        self.schedule(now, slot, direction, channel, free, &mut scratch);
        self.scratch = scratch;
    }

    /// Groups that users outside the model have in a slot: whole ones, and the rest by chance.
    fn taken_by_others(&mut self) -> u16 {
        if self.config.load <= 0.0 {
            return 0;
        }
        let taken = self.config.load.min(1.0) * f64::from(self.config.groups.count());
        let whole = libm::floor(taken);
        whole as u16 + u16::from(self.random.uniform() < taken - whole)
    }

    /// Repetitions of a terminal that are due, as far as there is room.
    fn repeat(
        &mut self,
        now: Instant,
        slot: Slot,
        (user, direction): (UserIndex, Direction),
        channel: &mut impl Channel,
        free: &mut u16,
    ) {
        let Some(terminal) = self.terminals[user.0 as usize].as_deref_mut() else { return };
        let harq = &mut terminal.bearer(direction).harq;
        while let Some((process, block)) = harq.due(slot) {
            let (groups, needed) = (block.groups, block.needed);
            if groups > *free {
                return;
            }
            *free -= groups;
            self.used[direction as usize] += u64::from(groups);
            let sinr = channel.sinr(now, user, direction);
            let attempt = Attempt { needed, sinr, draw: self.random.uniform() };
            harq.repeat(slot, &self.config.duplex, process, attempt);
            self.blocks += 1;
        }
        self.collect(slot, user, direction);
    }

    /// The scheme of a terminal that has data and can be served.
    fn scheme(
        &mut self,
        now: Instant,
        slot: Slot,
        (user, direction): (UserIndex, Direction),
        channel: &mut impl Channel,
    ) -> Option<Mcs> {
        let terminal = self.terminals[user.0 as usize].as_deref_mut()?;
        let is_ready = terminal.ready_at(direction) <= now;
        let margin = terminal.margins[direction as usize].map_or(Decibels::ZERO, |margin| margin.margin());
        let bearer = terminal.bearer(direction);
        if !is_ready || bearer.backlog() == ByteCount::new(0) || !bearer.harq.is_ready(slot) {
            return None;
        }
        self.ladders[direction as usize].mcs(channel.reported(now, user, direction) + margin)
    }

    fn schedule(
        &mut self,
        now: Instant,
        slot: Slot,
        direction: Direction,
        channel: &mut impl Channel,
        free: u16,
        scratch: &mut Scratch,
    ) {
        let Scratch { candidates, schemes, given, .. } = scratch;
        let groups = self.config.groups;
        let bits = |place: usize, group: u16| schemes[place].1 * f64::from(groups.blocks_of(group).0);
        let scheduler = if direction == Direction::Down { &mut self.down } else { &mut self.up };
        scheduler.allocate(slot, candidates, free, bits, given);
        for (Candidate { user, .. }, (mcs, _)) in candidates.iter().zip(schemes.iter()) {
            let own = || (0..free).filter(|group| given[usize::from(*group)] == Some(*user));
            let count = own().count() as u16;
            let blocks = ResourceBlocks(own().map(|group| groups.blocks_of(group).0).sum());
            if count > 0 {
                self.send(now, slot, (*user, direction), (*mcs, blocks, count), channel);
            }
        }
    }

    /// The bits that a terminal has to send, as the station knows them.
    fn candidate(&self, user: UserIndex, direction: Direction, grant: Option<Grant>) -> Candidate {
        let backlog = match grant {
            Some(Grant::Scheduled(known)) => known,
            _ => self.backlog(user, direction),
        };
        // With the headers of the segments at the block's ends.
        let headers = self.config.bearer.header * 2;
        Candidate { user, backlog: (backlog + headers).bits() as f64 }
    }

    /// The bits of a resource block, as a part of a block of one group.
    fn bits_per_block(&self, slot: Slot, direction: Direction, mcs: Mcs) -> f64 {
        let blocks = self.config.groups.blocks_of(0);
        let size = self.config.sizes(direction).size(mcs, blocks, self.symbols(slot));
        size.bits() as f64 / f64::from(blocks.0)
    }

    /// Sends on a grant without competition: as many groups as its size needs.
    fn send_fixed(
        &mut self,
        now: Instant,
        slot: Slot,
        user: UserIndex,
        (mcs, room): (Mcs, ByteCount),
        channel: &mut impl Channel,
        free: &mut u16,
    ) {
        let groups = &self.config.groups;
        let blocks = |count: u16| ResourceBlocks((0..count).map(|group| groups.blocks_of(group).0).sum());
        let size = |count| self.config.sizes(Direction::Up).size(mcs, blocks(count), self.symbols(slot));
        let Some(count) = (1..=*free).find(|count| size(*count) >= room || *count == *free) else { return };
        let allocation = (mcs, blocks(count), count);
        *free -= count;
        self.send(now, slot, (user, Direction::Up), allocation, channel);
    }

    fn symbols(&self, slot: Slot) -> u32 {
        match self.config.duplex.down_symbols(slot) {
            0 => crate::numerology::SYMBOLS_PER_SLOT,
            symbols => symbols,
        }
    }

    fn send(
        &mut self,
        now: Instant,
        slot: Slot,
        (user, direction): (UserIndex, Direction),
        (mcs, blocks, groups): (Mcs, ResourceBlocks, u16),
        channel: &mut impl Channel,
    ) {
        let room = self.config.sizes(direction).size(mcs, blocks, self.symbols(slot));
        let Some(terminal) = self.terminals[user.0 as usize].as_deref_mut() else { return };
        let mut segments = self.spare.pop().unwrap_or_default();
        let before = terminal.bearer(direction).backlog();
        let is_poll = terminal.bearer(direction).fill(now, room, &mut segments);
        if segments.is_empty() {
            self.spare.push(segments);
            return;
        }
        let sent = before - terminal.bearer(direction).backlog();
        if direction == Direction::Up {
            terminal.uplink.handle_sent(slot, &self.config.duplex, sent);
        }
        if let Some(rrc) = &mut terminal.rrc {
            rrc.handle_traffic(now);
        }
        let needed = self.ladders[direction as usize].needed(mcs);
        let sinr = channel.sinr(now, user, direction);
        let attempt = Attempt { needed, sinr, draw: self.random.uniform() };
        let block = Block { segments, is_poll, groups, needed };
        // A process is free: `scheme` has asked.
        if let Ok(arrives) = terminal.bearer(direction).harq.send(slot, &self.config.duplex, block, attempt) {
            self.blocks += 1;
            self.used[direction as usize] += u64::from(groups);
            if let Some(margin) = &mut terminal.margins[direction as usize] {
                margin.handle_outcome(arrives);
            }
        }
        let scheduler = if direction == Direction::Down { &mut self.down } else { &mut self.up };
        scheduler.handle_served(slot, user, room.bits() as f64);
        self.collect(slot, user, direction);
    }

    /// Takes the outcomes of a terminal's blocks, which are known at the end of the slot.
    fn collect(&mut self, slot: Slot, user: UserIndex, direction: Direction) {
        let ends_at = slot.after(1).start(self.config.numerology);
        let Some(terminal) = self.terminals[user.0 as usize].as_deref_mut() else { return };
        let harq = &mut terminal.bearer(direction).harq;
        while let Some((_, outcome)) = harq.poll_outcome() {
            self.on_air.push_back(OnAir { ends_at, user, direction, outcome });
        }
    }
}
