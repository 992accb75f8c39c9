//! Several base stations, and the terminals that move between them.
//!
//! A [`Network`] has the shape of a [`Cell`]: packets and the time go in, outcomes and a deadline come out.
//! The network asks a [`Mobility`] where terminals are, and finds the rest itself: what they receive, which
//! cell serves them, when they change it, and how much the cells disturb each other.

mod background;
mod config;
mod load;
mod radio;
mod terminal;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use whimbrel_units::random::{Random, SplitMix64};
use whimbrel_units::{ByteCount, Instant};

pub use config::{
    Background, NetworkConfig, RadioConfig, ReportConfig, ShadowingConfig, SiteConfig, TerminalConfig,
};

use self::background::{ANONYMOUS, BackgroundUser};
use self::load::Load;
use self::radio::Radio;
use self::terminal::{Readings, Terminal};
use crate::amc::lte::Direction;
use crate::cell::{Cell, PacketOutcome};
use crate::handover::{CellIndex, HandoverEvent, InvalidHandover, Phase};
use crate::packet::Packet;
use crate::queue::Management;
use crate::radio::{Metres, Place};
use crate::scheduler::UserIndex;

/// Places of terminals.
pub trait Mobility {
    /// The place of a terminal.
    fn place(&self, terminal: UserIndex, now: Instant) -> Place;

    /// Distance that a terminal has travelled since the beginning.
    fn travelled(&self, terminal: UserIndex, now: Instant) -> Metres;
}

/// Event between a terminal and its cells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NetworkEvent {
    /// When.
    pub at: Instant,
    /// The terminal.
    pub terminal: UserIndex,
    /// Kind.
    pub change: Change,
}

/// A change of a terminal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// A step of a handover, which its modem reports to its host.
    Handover(HandoverEvent),
    /// A planned handover could not be carried out.
    Refused(InvalidHandover),
}

/// Base stations and terminals.
pub struct Network<M> {
    config: NetworkConfig,
    cells: Vec<Cell>,
    /// The deadline of each cell.
    cell_deadlines: Vec<Instant>,
    terminals: Vec<Terminal>,
    /// The deadline of each terminal.
    deadlines: Vec<Instant>,
    background: Vec<BackgroundUser>,
    radio: Radio<M>,
    loads: Vec<Load>,
    /// The window in which loads were measured last.
    window: u64,
    readings: Readings,
    outcomes: VecDeque<PacketOutcome>,
    events: VecDeque<NetworkEvent>,
}

impl<M: Mobility> Network<M> {
    /// A network with these terminals, numbered in this order.
    ///
    /// # Errors
    /// If a terminal is to be served by a cell that does not exist.
    pub fn new(
        config: NetworkConfig,
        terminals: &[TerminalConfig],
        mobility: M,
    ) -> Result<Self, InvalidHandover> {
        let streams = SplitMix64::new(config.seed);
        let mut radio = Radio::new(&config, mobility);
        let seed = |number: usize| streams.stream(5).stream(number as u64).next_u64();
        let sites = config.sites.iter().enumerate();
        let mut cells: Vec<Cell> =
            sites.map(|(number, site)| Cell::new(site.cell.clone(), seed(number))).collect();
        let known = terminals.iter().map(|terminal| Terminal::new(&config, terminal));
        let known = known.collect::<Result<Vec<_>, _>>()?;
        for (user, terminal) in (0..).map(UserIndex).zip(terminals) {
            radio.add_terminal(None);
            add(&mut cells[terminal.cell.0 as usize], user);
        }
        let mut background = Vec::new();
        let mut user = UserIndex(terminals.len() as u32);
        for (cell, site) in config.sites.iter().enumerate() {
            let Some(own) = site.background else { continue };
            for number in 0..own.users {
                let random = streams.stream(6).stream(cell as u64).stream(u64::from(number));
                let mut new = BackgroundUser::new(own, cell, user, random);
                radio.add_terminal(Some(new.place(site.place)));
                add(&mut cells[cell], user);
                background.push(new);
                user = UserIndex(user.0 + 1);
            }
        }
        Ok(Self {
            cell_deadlines: alloc::vec![Instant::FAR_FUTURE; cells.len()],
            loads: alloc::vec![Load::default(); cells.len()],
            deadlines: known.iter().map(Terminal::deadline).collect(),
            terminals: known,
            cells,
            background,
            radio,
            window: 0,
            readings: Readings::default(),
            outcomes: VecDeque::new(),
            events: VecDeque::new(),
            config,
        })
    }

    /// The cells.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Places of terminals.
    pub const fn mobility(&self) -> &M {
        &self.radio.mobility
    }

    /// The cell that serves a terminal; `None` in a gap.
    pub fn serving(&self, terminal: UserIndex) -> Option<CellIndex> {
        self.terminals[terminal.0 as usize].handover.serving()
    }

    /// Bytes of a terminal's bearer that were not sent yet.
    pub fn backlog(&self, terminal: UserIndex, direction: Direction) -> ByteCount {
        self.holder(terminal).backlog(terminal, direction)
    }

    /// Has the queue of a bearer managed.
    pub fn manage(&mut self, terminal: UserIndex, direction: Direction, management: Box<dyn Management>) {
        let holder = self.terminals[terminal.0 as usize].holder.0 as usize;
        self.cells[holder].manage(terminal, direction, management);
    }

    fn holder(&self, terminal: UserIndex) -> &Cell {
        &self.cells[self.terminals[terminal.0 as usize].holder.0 as usize]
    }

    /// A packet for or from a terminal.
    pub fn handle_packet(&mut self, now: Instant, terminal: UserIndex, direction: Direction, packet: Packet) {
        let cell = self.terminals[terminal.0 as usize].holder.0 as usize;
        self.cells[cell].handle_packet(now, terminal, direction, packet);
        self.collect(cell);
    }

    /// Takes what has come of a cell's packets, and its deadline.
    fn collect(&mut self, cell: usize) {
        while let Some(outcome) = self.cells[cell].poll_outcome() {
            if outcome.packet.id != ANONYMOUS {
                self.outcomes.push_back(outcome);
            }
        }
        self.cell_deadlines[cell] = self.cells[cell].poll_timeout().unwrap_or(Instant::FAR_FUTURE);
    }

    /// The next deadline; `None` while there is nothing to do.
    pub fn poll_timeout(&self) -> Option<Instant> {
        let background = self.background.iter().map(|user| user.next);
        let all = self.cell_deadlines.iter().chain(&self.deadlines).copied().chain(background);
        all.min().filter(|at| *at < Instant::FAR_FUTURE)
    }

    /// The time has come to `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        if Load::window(now) != self.window {
            self.window = Load::window(now);
            for (number, load) in self.loads.iter_mut().enumerate() {
                self.radio.set_load(number, load.measure(now, &self.cells[number]));
            }
        }
        for user in 0..self.background.len() {
            if self.background[user].next <= now {
                self.begin_download(now, user);
            }
        }
        for terminal in 0..self.terminals.len() {
            if self.deadlines[terminal] <= now {
                self.attend(now, terminal);
            }
        }
        for cell in 0..self.cells.len() {
            if self.cell_deadlines[cell] <= now {
                self.cells[cell].handle_timeout(now, &mut self.radio.of_cell(cell));
                self.collect(cell);
            }
        }
    }

    fn begin_download(&mut self, now: Instant, number: usize) {
        let own = &mut self.background[number];
        let (user, cell) = (own.user, own.cell);
        for _ in 0..own.begin(now) {
            self.cells[cell].handle_packet(now, user, Direction::Down, BackgroundUser::packet());
        }
        self.collect(cell);
    }

    /// The deadlines of a terminal.
    fn attend(&mut self, now: Instant, number: usize) {
        let user = UserIndex(number as u32);
        let Readings { levels, ratios } = &mut self.readings;
        self.radio.ratios(now, user, ratios);
        let terminal = &mut self.terminals[number];
        if terminal.measures(now) {
            self.radio.levels(now, user, levels);
            terminal.handle_measurement(now, levels, ratios);
        }
        terminal.handle_timeout(now, ratios);
        while let Some((at, reason)) = self.terminals[number].refused.pop_front() {
            self.events.push_back(NetworkEvent { at, terminal: user, change: Change::Refused(reason) });
        }
        while let Some((at, event)) = self.terminals[number].poll_event(&self.config) {
            self.change(now, user, event);
            self.events.push_back(NetworkEvent { at, terminal: user, change: Change::Handover(event) });
        }
        self.deadlines[number] = self.terminals[number].deadline();
    }

    /// Moves the bearers of a terminal by what happened to it.
    fn change(&mut self, now: Instant, user: UserIndex, event: HandoverEvent) {
        let terminal = &self.terminals[user.0 as usize];
        let (target, served_from) = match (event, terminal.handover.phase()) {
            (HandoverEvent::Prepared { .. }, _) => return,
            (HandoverEvent::Commanded { to, .. }, Phase::Changing { until, .. }) => (to, until),
            (HandoverEvent::Commanded { to, .. }, _) => (to, now),
            (HandoverEvent::Completed { cell } | HandoverEvent::Reestablished { cell }, _) => (cell, now),
            (HandoverEvent::Failed { .. }, _) => (terminal.holder, Instant::FAR_FUTURE),
        };
        let (from, to) = (terminal.holder.0 as usize, target.0 as usize);
        if from == to {
            self.cells[to].serve_from(now, user, served_from);
        } else if let Some(bearers) = self.cells[from].remove_terminal(now, user) {
            self.terminals[user.0 as usize].holder = target;
            self.cells[to].insert_terminal(now, user, bearers, served_from, self.config.forwards);
        }
        self.collect(from);
        self.collect(to);
    }

    /// The fate of the next packet.
    pub fn poll_outcome(&mut self) -> Option<PacketOutcome> {
        self.outcomes.pop_front()
    }

    /// The next thing that happened to a terminal.
    pub fn poll_event(&mut self) -> Option<NetworkEvent> {
        self.events.pop_front()
    }
}

/// Adds a new terminal to a cell.
fn add(cell: &mut Cell, user: UserIndex) {
    let bearers = cell.new_bearers();
    cell.insert_terminal(Instant::ZERO, user, bearers, Instant::ZERO, true);
}

#[cfg(test)]
mod tests;
