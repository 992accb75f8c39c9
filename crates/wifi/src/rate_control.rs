//! Rate adaptation: the rate of data frames to one station, chosen from the outcomes of earlier ones.
//!
//! A [`RateController`] keeps its state per receiver. Control frames, frames to a group, management frames
//! and payloads with a rate of their own ([`crate::dcf::Outgoing::rate`]) are not subject to it.
//!
//! - [`Arf`]: up after a number of successes or a time, down after two failures.
//! - [`Minstrel`]: the rate of the highest measured throughput, with some frames at other rates.
//! - [`MinstrelHt`]: Linux's for modes of 802.11n and later, for stations of [`crate::edca`].

mod arf;
mod minstrel;
mod minstrel_ht;

use alloc::vec::Vec;

use whimbrel_units::{Duration, Instant};

pub use arf::Arf;
pub use minstrel::Minstrel;
pub use minstrel_ht::{Chain, MinstrelHt, Stage};

use self::arf::ArfState;
use self::minstrel::MinstrelState;
use crate::frame::MacAddress;
use crate::phy::Rate;
use crate::random::Random;

/// Choice of the rate of data frames to one station.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum RateControl {
    /// Always the configured data rate.
    #[default]
    Fixed,
    /// Automatic rate fallback, which begins at the configured data rate.
    Arf(Arf),
    /// A Minstrel-like control, which begins at the configured data rate.
    Minstrel(Minstrel),
}

/// Receivers whose state is kept. A new one replaces the oldest.
const RECEIVERS: usize = 256;

/// A rate with the time that a frame of typical length takes at it, access and acknowledgement included.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RateCost {
    /// The rate.
    pub rate: Rate,
    /// Time per frame.
    pub time: Duration,
}

#[derive(Clone, Debug)]
enum State {
    Arf(ArfState),
    Minstrel(MinstrelState),
}

/// Rate adaptation of one station.
#[derive(Clone, Debug)]
pub struct RateController {
    control: RateControl,
    initial: Rate,
    /// The rates in ascending order of speed.
    ladder: Vec<RateCost>,
    receivers: Vec<(MacAddress, State)>,
    /// Receiver to be replaced next when all places are in use.
    oldest: usize,
}

impl RateController {
    /// Chooses among `ladder`, which is in ascending order of speed. The first frame to a receiver is sent at
    /// `initial`, or at the next lower rate of the ladder.
    pub fn new(control: RateControl, initial: Rate, ladder: Vec<RateCost>) -> Self {
        Self { control, initial, ladder, receivers: Vec::new(), oldest: 0 }
    }

    /// `true` if rates are adapted.
    pub fn is_adaptive(&self) -> bool {
        self.control != RateControl::Fixed && !self.ladder.is_empty()
    }

    /// The rate of the first transmission of a new payload.
    pub fn begin(&mut self, now: Instant, receiver: MacAddress, random: &mut impl Random) -> Rate {
        let Self { ladder, .. } = self;
        if ladder.is_empty() {
            return self.initial;
        }
        let index = self.index_of(now, receiver);
        match (&mut self.receivers[index].1, self.control) {
            (State::Arf(state), RateControl::Arf(arf)) => state.begin(now, arf, self.ladder.len()),
            (State::Minstrel(state), RateControl::Minstrel(minstrel)) => {
                state.begin(now, minstrel, &self.ladder, random);
            }
            _ => {}
        }
        self.rate_at(index)
    }

    /// A data frame to this receiver was acknowledged.
    pub fn handle_success(&mut self, receiver: MacAddress) {
        if let Some(index) = self.find(receiver) {
            match (&mut self.receivers[index].1, self.control) {
                (State::Arf(state), RateControl::Arf(arf)) => state.handle_success(arf, self.ladder.len()),
                (State::Minstrel(state), _) => state.handle_outcome(true),
                _ => {}
            }
        }
    }

    /// A data frame to this receiver was not acknowledged. Returns the rate of the next transmission.
    pub fn handle_failure(&mut self, now: Instant, receiver: MacAddress) -> Rate {
        let Some(index) = self.find(receiver) else { return self.initial };
        match (&mut self.receivers[index].1, self.control) {
            (State::Arf(state), RateControl::Arf(arf)) => state.handle_failure(now, arf),
            (State::Minstrel(state), _) => state.handle_outcome(false),
            _ => {}
        }
        self.rate_at(index)
    }

    fn rate_at(&self, index: usize) -> Rate {
        let place = match &self.receivers[index].1 {
            State::Arf(state) => state.place(),
            State::Minstrel(state) => state.place(),
        };
        self.ladder.get(place).map_or(self.initial, |cost| cost.rate)
    }

    fn find(&self, receiver: MacAddress) -> Option<usize> {
        self.receivers.iter().position(|(address, _)| *address == receiver)
    }

    /// The place of a receiver's state, which is created if there is none.
    fn index_of(&mut self, now: Instant, receiver: MacAddress) -> usize {
        if let Some(index) = self.find(receiver) {
            return index;
        }
        let speed = self.initial.bits_per_second();
        let slower = self.ladder.iter().rposition(|cost| cost.rate.bits_per_second() <= speed);
        let start = slower.unwrap_or(0);
        let state = match self.control {
            RateControl::Minstrel(_) => State::Minstrel(MinstrelState::new(now, start, self.ladder.len())),
            RateControl::Arf(_) | RateControl::Fixed => State::Arf(ArfState::new(start)),
        };
        if self.receivers.len() < RECEIVERS {
            self.receivers.push((receiver, state));
            return self.receivers.len() - 1;
        }
        let index = self.oldest;
        self.oldest = (self.oldest + 1) % RECEIVERS;
        self.receivers[index] = (receiver, state);
        index
    }
}

#[cfg(test)]
mod tests;
