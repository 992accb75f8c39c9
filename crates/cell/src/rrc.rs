//! States of the radio resource control: a terminal without traffic is released, and a packet for it waits
//! for a page and a new connection.

use whimbrel_units::{Duration, Instant};

use crate::amc::lte::Direction;
use crate::drx::{Drx, DrxConfig};

/// Parameters of the states.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RrcConfig {
    /// Discontinuous reception while connected.
    pub drx: DrxConfig,
    /// Time without traffic until the terminal is released.
    pub inactivity: Duration,
    /// Time until a released terminal is connected.
    pub promotion: Duration,
    /// Cycle of the pages.
    pub paging: Duration,
}

impl RrcConfig {
    /// LTE as measured in operators' networks (Narayanan et al., SIGCOMM 2021).
    pub const LTE: Self = Self {
        drx: DrxConfig {
            cycle: Duration::from_millis(320),
            on: Duration::from_millis(10),
            inactivity: Duration::from_millis(100),
        },
        inactivity: Duration::from_millis(10_200),
        promotion: Duration::from_millis(290),
        paging: Duration::from_millis(1_280),
    };
    /// NR with a core network of its own, from the same measurements.
    pub const NR: Self =
        Self { drx: DrxConfig { cycle: Duration::from_millis(40), ..Self::LTE.drx }, ..Self::LTE };
}

/// RRC state of a terminal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RrcState {
    /// With a connection.
    Connected,
    /// A packet waits for a connection, which there is from this time on.
    Connecting(Instant),
    /// Released.
    Idle,
}

/// The states of a terminal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rrc {
    config: RrcConfig,
    drx: Drx,
    /// End of the last traffic, or of the last promotion; `None` before the first.
    active_at: Option<Instant>,
    promotions: u64,
}

impl Rrc {
    /// A released terminal.
    pub const fn new(config: RrcConfig) -> Self {
        Self { config, drx: Drx::new(config.drx), active_at: None, promotions: 0 }
    }

    /// The state at `now`.
    pub fn state(&self, now: Instant) -> RrcState {
        match self.active_at {
            Some(since) if now < since => RrcState::Connecting(since),
            Some(since) if now - since < self.config.inactivity => RrcState::Connected,
            _ => RrcState::Idle,
        }
    }

    /// Connections that were made.
    pub const fn promotions(&self) -> u64 {
        self.promotions
    }

    /// A packet waits to be sent: the time from which on it can be. A released terminal is promoted, after a
    /// page for a packet of the downlink.
    pub fn handle_packet(&mut self, now: Instant, direction: Direction) -> Instant {
        match self.state(now) {
            RrcState::Connected if direction == Direction::Up => now,
            RrcState::Connected => self.drx.listens_at(now),
            RrcState::Connecting(ready) => ready,
            RrcState::Idle => {
                let paging = self.config.paging.as_nanos().max(1);
                let page = match direction {
                    Direction::Up => now,
                    Direction::Down => Instant::from_nanos(now.as_nanos().div_ceil(paging) * paging),
                };
                let ready = page + self.config.promotion;
                self.handle_traffic(ready);
                self.promotions += 1;
                ready
            }
        }
    }

    /// A block was sent to or from the terminal.
    pub fn handle_traffic(&mut self, now: Instant) {
        self.active_at = self.active_at.max(Some(now));
        self.drx.handle_grant(now);
    }

    /// When a connected terminal is released, unless there is traffic.
    pub fn poll_timeout(&self, now: Instant) -> Option<Instant> {
        let release = self.active_at? + self.config.inactivity;
        (release > now).then_some(release)
    }
}

#[cfg(test)]
mod tests;
