//! The order in which the receivers of a category are served.

use whimbrel_units::{Duration, Instant};

use super::{AccessCategory, Edca};
use crate::frame::MacAddress;
use crate::random::Random;

/// A receiver keeps its deficit for this time after its last packet, as in Linux.
const MEMORY: Duration = Duration::from_millis(100);

/// Weight of a receiver without one of its own, the default of hostapd's `airtime_sta_weight`.
pub const DEFAULT_WEIGHT: u16 = 256;

/// Order of receivers.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Turns {
    /// Receivers take turns: one transmission for each.
    #[default]
    Transmissions,
    /// Deficit round robin over the time that the exchanges with a receiver take, in both directions and
    /// with repetitions. A receiver with packets after a pause is served first (`ieee80211_next_txq`).
    Airtime,
}

/// The account of a session's airtime.
#[derive(Clone, Copy, Debug)]
pub(super) struct Account {
    /// Nanoseconds that may still be used in this turn.
    deficit: i64,
    weight: u16,
    idle_since: Instant,
}

impl Account {
    pub(super) const NEW: Self = Self { deficit: 0, weight: DEFAULT_WEIGHT, idle_since: Instant::ZERO };

    /// Credit of a turn: a microsecond for each unit of weight.
    const fn quantum(&self) -> i64 {
        self.weight as i64 * 1_000
    }
}

impl<R: Random> Edca<R> {
    /// The weight of a receiver's share of the airtime.
    ///
    /// # Panics
    /// If it is 0.
    pub fn set_weight(&mut self, receiver: MacAddress, weight: u16) {
        assert!(weight > 0, "a weight above zero");
        for category in AccessCategory::ALL {
            let number = self.session(receiver, category);
            self.sessions[number].account.weight = weight;
        }
    }

    /// A session has traffic again.
    pub(super) fn join(&mut self, now: Instant, category: usize, session: usize) {
        let active = &mut self.active[category];
        if self.config.turns == Turns::Transmissions {
            return active.push_back(session as u32);
        }
        let account = &mut self.sessions[session].account;
        if now.saturating_since(account.idle_since) > MEMORY {
            account.deficit = 0;
        }
        // Behind the session that is being served.
        let is_served = self.opportunity.as_ref().is_some_and(|served| served.category == category);
        active.insert(usize::from(is_served && !active.is_empty()), session as u32);
    }

    /// The session of a category that is to be served; `None` if none has traffic.
    pub(super) fn next_session(&mut self, category: usize) -> Option<usize> {
        let active = &mut self.active[category];
        loop {
            let first = *active.front()? as usize;
            let account = &mut self.sessions[first].account;
            if self.config.turns == Turns::Transmissions || account.deficit >= 0 {
                return Some(first);
            }
            account.deficit += account.quantum();
            active.rotate_left(1);
        }
    }

    /// The medium was used for a session.
    pub(super) fn charge(&mut self, session: usize, time: Duration) {
        self.sessions[session].account.deficit -= time.as_nanos() as i64;
    }

    /// The medium was used by the receiver of a session.
    pub(super) fn charge_sender(&mut self, transmitter: MacAddress, identifier: u8, time: Duration) {
        if self.config.turns == Turns::Airtime {
            let is_other = |session: &super::Session| {
                session.receiver == transmitter
                    && session.category.identifier() == identifier
                    && !session.is_management
            };
            if let Some(session) = self.sessions.iter().position(is_other) {
                self.charge(session, time);
            }
        }
    }

    /// A session was served: it waits for the others of its category, or has nothing left.
    pub(super) fn take_turns(&mut self, now: Instant, category: usize, session: usize) {
        let active = &mut self.active[category];
        if active.front() != Some(&(session as u32)) {
            return;
        }
        let served = &mut self.sessions[session];
        if !served.window.has_traffic() && !served.owes_request {
            active.pop_front();
            served.account.idle_since = now;
        } else if self.config.turns == Turns::Transmissions {
            active.rotate_left(1);
        }
    }
}
