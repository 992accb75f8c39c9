//! One base station and its terminals: the layers put together.
//!
//! A [`Cell`] has the shape of a sans-IO connection. The driver gives packets ([`Cell::handle_packet`]) and
//! the time ([`Cell::handle_timeout`]), and takes what has come of them ([`Cell::poll_outcome`]) and the
//! next deadline ([`Cell::poll_timeout`]). A [`Channel`] says what the radio is like. Each packet has one
//! outcome: it is delivered, in the order of its bearer, or lost with a cause.
//!
//! Packets that are given before the time of their instant join the slot that begins then.
//!
//! Slots without data cost nothing: the next slot is computed from queues,
//! repetitions and grants.

mod bearer;
mod config;
mod slot;

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use whimbrel_units::random::{Random, SplitMix64};
use whimbrel_units::{ByteCount, Instant};

pub use bearer::{Fate, LossCause};
pub use config::{BearerConfig, BlockSizes, CellConfig, HarqConfig};

use self::bearer::{Bearer, Block};
use crate::amc::lte::Direction;
use crate::duplex::Slot;
use crate::harq::Outcome;
use crate::level::Decibels;
use crate::packet::{Packet, Segment};
use crate::rrc::Rrc;
use crate::scheduler::{Scheduler, UserIndex};
use crate::uplink::Uplink;

/// The radio channels of a cell.
pub trait Channel {
    /// The ratio that a transmission meets.
    fn sinr(&self, now: Instant, user: UserIndex, direction: Direction) -> Decibels;

    /// The ratio that the station believes at `now`.
    fn reported(&self, now: Instant, user: UserIndex, direction: Direction) -> Decibels;
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
#[derive(Clone, Debug)]
struct Terminal {
    down: Bearer,
    up: Bearer,
    uplink: Uplink,
    rrc: Option<Rrc>,
}

impl Terminal {
    const fn bearer(&mut self, direction: Direction) -> &mut Bearer {
        match direction {
            Direction::Down => &mut self.down,
            Direction::Up => &mut self.up,
        }
    }
}

/// A block in the air.
#[derive(Clone, Debug)]
struct OnAir {
    ends_at: Instant,
    user: UserIndex,
    direction: Direction,
    outcome: Outcome<Block>,
}

/// A base station and its terminals.
#[derive(Clone, Debug)]
pub struct Cell {
    config: CellConfig,
    terminals: Vec<Terminal>,
    down: Scheduler,
    up: Scheduler,
    /// The first slot that was not worked on.
    next_slot: Slot,
    on_air: VecDeque<OnAir>,
    outcomes: VecDeque<PacketOutcome>,
    random: SplitMix64,
    blocks: u64,
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
            config,
            terminals: Vec::new(),
            down,
            up,
            next_slot: Slot(0),
            on_air: VecDeque::new(),
            outcomes: VecDeque::new(),
            random: SplitMix64::new(seed),
            blocks: 0,
            scratch: slot::Scratch::default(),
            spare: Vec::new(),
        }
    }

    /// Adds a terminal.
    pub fn add_terminal(&mut self) -> UserIndex {
        let user = UserIndex(self.terminals.len() as u32);
        let seed = self.random.next_u64();
        self.terminals.push(Terminal {
            down: Bearer::new(&self.config, Direction::Down, seed),
            up: Bearer::new(&self.config, Direction::Up, seed ^ 1),
            uplink: Uplink::new(self.config.uplink),
            rrc: self.config.rrc.map(Rrc::new),
        });
        self.down.add(self.next_slot, user);
        self.up.add(self.next_slot, user);
        user
    }

    /// Transport blocks that were sent, with repetitions.
    pub const fn blocks(&self) -> u64 {
        self.blocks
    }

    /// Bytes of a bearer that were not sent yet.
    ///
    /// # Panics
    /// If there is no such terminal.
    pub fn backlog(&self, user: UserIndex, direction: Direction) -> ByteCount {
        let terminal = &self.terminals[user.0 as usize];
        match direction {
            Direction::Down => terminal.down.backlog(),
            Direction::Up => terminal.up.backlog(),
        }
    }

    /// A packet for or from a terminal.
    ///
    /// # Panics
    /// If there is no such terminal.
    pub fn handle_packet(&mut self, now: Instant, user: UserIndex, direction: Direction, packet: Packet) {
        self.handle_timeout_before(now);
        let terminal = &mut self.terminals[user.0 as usize];
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

    /// The time has come to `now`.
    pub fn handle_timeout(&mut self, now: Instant, channel: &impl Channel) {
        while let Some(on_air) = self.on_air.pop_front() {
            if on_air.ends_at > now {
                self.on_air.push_front(on_air);
                break;
            }
            let terminal = &mut self.terminals[on_air.user.0 as usize];
            let bearer = terminal.bearer(on_air.direction);
            self.spare.push(bearer.handle_outcome(on_air.ends_at, on_air.outcome));
        }
        for user in 0..self.terminals.len() {
            self.settle(now, UserIndex(user as u32));
        }
        let slot = Slot::from_instant(now, self.config.numerology);
        if slot.start(self.config.numerology) == now && slot >= self.next_slot {
            self.next_slot = slot.after(1);
            for direction in DIRECTIONS {
                self.run_slot(now, slot, direction, channel);
            }
        }
    }

    /// Timers of a terminal's bearers, and what has come of its packets.
    fn settle(&mut self, now: Instant, user: UserIndex) {
        let slot = Slot::from_instant(now, self.config.numerology).max(self.next_slot);
        let terminal = &mut self.terminals[user.0 as usize];
        for direction in DIRECTIONS {
            let bearer = terminal.bearer(direction);
            bearer.handle_timeout(now);
            while let Some((packet, fate)) = bearer.fates.pop_front() {
                self.outcomes.push_back(PacketOutcome { at: now, user, direction, packet, fate });
            }
        }
        let backlog = terminal.up.backlog();
        let ready = Slot::from_instant(terminal.up.ready_at, self.config.numerology);
        terminal.uplink.handle_backlog(slot.max(ready), &self.config.duplex, backlog);
    }

    /// The next deadline; `None` while there is nothing to do.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let air = self.on_air.front().map(|on_air| on_air.ends_at);
        let terminals = self.terminals.iter().flat_map(|terminal| {
            let timers = [terminal.down.poll_timeout(), terminal.up.poll_timeout()];
            let slots = [self.next_down(terminal), self.next_up(terminal)];
            let starts = slots.map(|slot| slot.map(|slot| slot.start(self.config.numerology)));
            timers.into_iter().chain(starts)
        });
        air.into_iter().chain(terminals.flatten()).min()
    }

    fn next_down(&self, terminal: &Terminal) -> Option<Slot> {
        let bearer = &terminal.down;
        let duplex = &self.config.duplex;
        let ready = Slot::from_instant(bearer.ready_at, self.config.numerology).max(self.next_slot);
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
