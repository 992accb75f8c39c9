//! One base station and its terminals: the layers put together.
//!
//! A [`Cell`] has the shape of a sans-IO connection. The driver gives packets ([`Cell::handle_packet`]) and
//! the time ([`Cell::handle_timeout`]), and takes what has come of them ([`Cell::poll_outcome`]) and the
//! next deadline ([`Cell::poll_timeout`]). A [`Channel`] says what the radio is like. Each packet has one
//! outcome: it is delivered, in the order of its bearer, or lost with a cause.
//!
//! Packets that are given before the time of their instant join the slot that begins then.
//!
//! Slots without data cost nothing: the next slot is computed from queues, repetitions and grants. The
//! deadline of a terminal is kept until something happens to it, so that a slot costs by the terminals that
//! have data in it.
//!
//! A terminal can leave ([`Cell::remove_terminal`]) and enter another cell ([`Cell::insert_terminal`]) with
//! its bearers, as in a handover.

mod bearer;
mod config;
mod slot;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use whimbrel_units::random::{Random, SplitMix64};
use whimbrel_units::{ByteCount, Instant};

pub use bearer::{Fate, LossCause};
pub use config::{BearerConfig, BlockSizes, CellConfig, HarqConfig};

use self::bearer::{Bearer, Block};
use crate::amc::Ladder;
use crate::amc::lte::Direction;
use crate::duplex::Slot;
use crate::harq::Outcome;
use crate::level::Decibels;
use crate::packet::{Packet, Segment};
use crate::queue::Management;
use crate::radio::OuterLoop;
use crate::rrc::Rrc;
use crate::scheduler::{Scheduler, UserIndex};
use crate::uplink::Uplink;

/// The radio channels of a cell.
pub trait Channel {
    /// The ratio that a transmission meets.
    fn sinr(&mut self, now: Instant, user: UserIndex, direction: Direction) -> Decibels;

    /// The ratio that the station believes at `now`.
    fn reported(&mut self, now: Instant, user: UserIndex, direction: Direction) -> Decibels;
}

/// The fate of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketOutcome {
    /// When.
    pub at: Instant,
    /// The terminal.
    pub user: UserIndex,
    /// The direction of its bearer.
    pub direction: Direction,
    /// The packet, with the marks it has got.
    pub packet: Packet,
    /// Delivered, or lost.
    pub fate: Fate,
}

/// A terminal: a bearer in each direction.
#[derive(Debug)]
struct Terminal {
    down: Bearer,
    up: Bearer,
    uplink: Uplink,
    rrc: Option<Rrc>,
    margins: [Option<OuterLoop>; 2],
    /// From when on the cell serves it: the end of a handover.
    served_from: Instant,
}

impl Terminal {
    const fn bearer(&mut self, direction: Direction) -> &mut Bearer {
        match direction {
            Direction::Down => &mut self.down,
            Direction::Up => &mut self.up,
        }
    }

    /// From when on packets of a direction can be sent.
    fn ready_at(&self, direction: Direction) -> Instant {
        let bearer = if direction == Direction::Down { &self.down } else { &self.up };
        bearer.ready_at.max(self.served_from)
    }
}

/// A terminal between two cells, with what its bearers hold.
#[derive(Debug)]
pub struct Bearers(Box<Terminal>);

/// A block in the air.
#[derive(Clone, Debug)]
struct OnAir {
    ends_at: Instant,
    user: UserIndex,
    direction: Direction,
    outcome: Outcome<Block>,
}

/// A base station and its terminals.
#[derive(Debug)]
pub struct Cell {
    config: CellConfig,
    terminals: Vec<Option<Box<Terminal>>>,
    /// The deadline of each terminal as it was when something last happened to it.
    deadlines: Vec<Instant>,
    /// The schemes of downlink and uplink.
    ladders: [Ladder; 2],
    down: Scheduler,
    up: Scheduler,
    /// The first slot that was not worked on.
    next_slot: Slot,
    on_air: VecDeque<OnAir>,
    outcomes: VecDeque<PacketOutcome>,
    random: SplitMix64,
    blocks: u64,
    /// Groups of resource blocks in use since the beginning, in downlink and uplink.
    used: [u64; 2],
    scratch: slot::Scratch,
    /// Empty lists of blocks that have ended.
    spare: Vec<Vec<Segment>>,
}

const DIRECTIONS: [Direction; 2] = [Direction::Down, Direction::Up];

impl Cell {
    /// A cell without terminals.
    pub fn new(config: CellConfig, seed: u64) -> Self {
        let (down, up) = (Scheduler::new(config.down), Scheduler::new(config.up));
        Self {
            ladders: config.adaptation.map(Ladder::new),
            config,
            terminals: Vec::new(),
            deadlines: Vec::new(),
            down,
            up,
            next_slot: Slot(0),
            on_air: VecDeque::new(),
            outcomes: VecDeque::new(),
            random: SplitMix64::new(seed),
            blocks: 0,
            used: [0; 2],
            scratch: slot::Scratch::default(),
            spare: Vec::new(),
        }
    }

    /// The parameters.
    pub const fn config(&self) -> &CellConfig {
        &self.config
    }

    /// Adds a terminal after those that there are.
    pub fn add_terminal(&mut self) -> UserIndex {
        let user = UserIndex(self.terminals.len() as u32);
        let bearers = self.new_bearers();
        self.place(user, bearers.0);
        user
    }

    /// The bearers of a new terminal.
    pub fn new_bearers(&mut self) -> Bearers {
        let seed = self.random.next_u64();
        Bearers(Box::new(Terminal {
            down: Bearer::new(&self.config, Direction::Down, seed),
            up: Bearer::new(&self.config, Direction::Up, seed ^ 1),
            uplink: Uplink::new(self.config.uplink),
            rrc: self.config.rrc.map(Rrc::new),
            margins: [self.config.outer_loop; 2],
            served_from: Instant::ZERO,
        }))
    }

    fn place(&mut self, user: UserIndex, terminal: Box<Terminal>) {
        let place = user.0 as usize;
        if self.terminals.len() <= place {
            self.terminals.resize_with(place + 1, || None);
            self.deadlines.resize(place + 1, Instant::FAR_FUTURE);
        }
        self.terminals[place] = Some(terminal);
        self.down.add(self.next_slot, user);
        self.up.add(self.next_slot, user);
        self.remind(user);
    }

    /// Takes a terminal out of the cell. Blocks in the air do not reach it any more. `None` if the cell
    /// has no such terminal.
    pub fn remove_terminal(&mut self, now: Instant, user: UserIndex) -> Option<Bearers> {
        self.land(now);
        let terminal = self.terminals.get_mut(user.0 as usize)?.take()?;
        self.on_air.retain(|on_air| on_air.user != user);
        self.down.remove(user);
        self.up.remove(user);
        self.remind(user);
        Some(Bearers(terminal))
    }

    /// Adds a terminal that comes from another cell, and serves it from `served_from` on. With `forwards`
    /// the cell that it left has handed on what was not acknowledged; without, that is lost.
    pub fn insert_terminal(
        &mut self,
        now: Instant,
        user: UserIndex,
        bearers: Bearers,
        served_from: Instant,
        forwards: bool,
    ) {
        self.handle_timeout_before(now);
        let Bearers(mut terminal) = bearers;
        for direction in DIRECTIONS {
            terminal.bearer(direction).change_cell(now, &self.config, direction, forwards);
        }
        terminal.uplink = Uplink::new(self.config.uplink);
        terminal.margins = [self.config.outer_loop; 2];
        terminal.served_from = served_from;
        self.place(user, terminal);
        self.settle(now, user);
    }

    /// Serves a terminal from another time on than was [expected](Self::insert_terminal).
    pub fn serve_from(&mut self, now: Instant, user: UserIndex, served_from: Instant) {
        self.handle_timeout_before(now);
        if let Some(terminal) = self.terminals.get_mut(user.0 as usize).and_then(Option::as_mut) {
            terminal.served_from = served_from;
            if served_from == Instant::FAR_FUTURE {
                terminal.uplink = Uplink::new(self.config.uplink);
            }
            self.settle(now, user);
        }
    }

    fn terminal(&mut self, user: UserIndex) -> Option<&mut Terminal> {
        self.terminals.get_mut(user.0 as usize)?.as_deref_mut()
    }

    /// Has the queue of a bearer managed, if there is the terminal. The terminal keeps it in other cells.
    pub fn manage(&mut self, user: UserIndex, direction: Direction, management: Box<dyn Management>) {
        if let Some(terminal) = self.terminal(user) {
            terminal.bearer(direction).queue.manage(management);
        }
    }

    /// Groups of resource blocks in use in a direction since the beginning, of
    /// [those](crate::scheduler::Groups::count) in each slot.
    pub const fn used(&self, direction: Direction) -> u64 {
        self.used[direction as usize]
    }

    /// Transport blocks that were sent, with repetitions.
    pub const fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Bytes of a bearer that were not sent yet.
    pub fn backlog(&self, user: UserIndex, direction: Direction) -> ByteCount {
        let terminal = self.terminals.get(user.0 as usize).and_then(Option::as_ref);
        terminal.map_or(ByteCount::new(0), |terminal| match direction {
            Direction::Down => terminal.down.backlog(),
            Direction::Up => terminal.up.backlog(),
        })
    }

    /// A packet for or from a terminal.
    ///
    /// # Panics
    /// If there is no such terminal.
    pub fn handle_packet(&mut self, now: Instant, user: UserIndex, direction: Direction, packet: Packet) {
        self.handle_timeout_before(now);
        let terminal = self.terminal(user).expect("the cell has the terminal");
        if terminal.bearer(direction).backlog() == ByteCount::new(0)
            && let Some(rrc) = &mut terminal.rrc
        {
            let ready_at = rrc.handle_packet(now, direction);
            terminal.bearer(direction).ready_at = ready_at;
        }
        terminal.bearer(direction).queue.handle_packet(now, packet);
        self.settle(now, user);
    }

    /// Slots that have passed without anybody having data are not made up for.
    fn handle_timeout_before(&mut self, now: Instant) {
        let first = Slot::from_instant(now, self.config.numerology);
        if self.poll_timeout().is_none_or(|deadline| deadline >= now) {
            self.next_slot = self.next_slot.max(first);
        }
    }

    /// Blocks that have ended.
    fn land(&mut self, now: Instant) {
        while self.on_air.front().is_some_and(|on_air| on_air.ends_at <= now) {
            let Some(OnAir { ends_at, user, direction, outcome }) = self.on_air.pop_front() else { break };
            if let Some(terminal) = self.terminal(user) {
                let spare = terminal.bearer(direction).handle_outcome(ends_at, outcome);
                self.spare.push(spare);
                self.deadlines[user.0 as usize] = now;
            }
        }
    }

    /// The time has come to `now`.
    pub fn handle_timeout(&mut self, now: Instant, channel: &mut impl Channel) {
        self.land(now);
        for user in 0..self.deadlines.len() {
            if self.deadlines[user] <= now {
                self.settle(now, UserIndex(user as u32));
            }
        }
        let slot = Slot::from_instant(now, self.config.numerology);
        if slot.start(self.config.numerology) == now && slot >= self.next_slot {
            let mut due = core::mem::take(&mut self.scratch.due);
            due.clear();
            let users = self.deadlines.iter().enumerate();
            due.extend(users.filter(|(_, at)| **at <= now).map(|(user, _)| UserIndex(user as u32)));
            self.next_slot = slot.after(1);
            for direction in DIRECTIONS {
                self.run_slot(now, slot, direction, &due, channel);
            }
            due.iter().for_each(|user| self.remind(*user));
            self.scratch.due = due;
        }
    }

    /// Timers of a terminal's bearers, and what has come of its packets.
    fn settle(&mut self, now: Instant, user: UserIndex) {
        let slot = Slot::from_instant(now, self.config.numerology).max(self.next_slot);
        if let Some(terminal) = self.terminals[user.0 as usize].as_deref_mut() {
            for direction in DIRECTIONS {
                let bearer = terminal.bearer(direction);
                bearer.handle_timeout(now);
                while let Some((packet, fate)) = bearer.fates.pop_front() {
                    self.outcomes.push_back(PacketOutcome { at: now, user, direction, packet, fate });
                }
            }
            // A terminal without a cell has no time yet at which it can ask for a grant.
            let ready = terminal.ready_at(Direction::Up);
            if ready < Instant::FAR_FUTURE {
                let ready = Slot::from_instant(ready, self.config.numerology);
                let backlog = terminal.up.backlog();
                terminal.uplink.handle_backlog(slot.max(ready), &self.config.duplex, backlog);
            }
        }
        self.remind(user);
    }

    /// Computes the deadline of a terminal anew.
    fn remind(&mut self, user: UserIndex) {
        let place = user.0 as usize;
        let deadline = self.terminals[place].as_ref().and_then(|terminal| {
            let timers = [terminal.down.poll_timeout(), terminal.up.poll_timeout()];
            let slots = [self.next_down(terminal), self.next_up(terminal)];
            let starts = slots.map(|slot| slot.map(|slot| slot.start(self.config.numerology)));
            timers.into_iter().chain(starts).flatten().min()
        });
        self.deadlines[place] = deadline.unwrap_or(Instant::FAR_FUTURE);
    }

    /// The next deadline; `None` while there is nothing to do.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let air = self.on_air.front().map(|on_air| on_air.ends_at);
        let terminals = self.deadlines.iter().copied().min();
        air.into_iter().chain(terminals).min().filter(|at| *at < Instant::FAR_FUTURE)
    }

    fn next_down(&self, terminal: &Terminal) -> Option<Slot> {
        let bearer = &terminal.down;
        let duplex = &self.config.duplex;
        let ready = terminal.ready_at(Direction::Down);
        let ready = Slot::from_instant(ready, self.config.numerology).max(self.next_slot);
        let new = (bearer.backlog() > ByteCount::new(0)).then(|| bearer.harq.next_free(ready)).flatten();
        let again = bearer.harq.poll_timeout().map(|due| due.max(self.next_slot));
        new.into_iter().chain(again).min().map(|slot| duplex.next_down(slot))
    }

    fn next_up(&self, terminal: &Terminal) -> Option<Slot> {
        let bearer = &terminal.up;
        let duplex = &self.config.duplex;
        let new = terminal.uplink.poll_timeout(self.next_slot, duplex);
        let new = new.and_then(|slot| bearer.harq.next_free(slot));
        let again = bearer.harq.poll_timeout().map(|due| due.max(self.next_slot));
        new.into_iter().chain(again).min().map(|slot| duplex.next_up(slot))
    }

    /// The fate of the next packet.
    pub fn poll_outcome(&mut self) -> Option<PacketOutcome> {
        self.outcomes.pop_front()
    }
}

#[cfg(test)]
mod tests;
