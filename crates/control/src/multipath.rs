//! Packet schedulers of multipath transports: the path of the next datagram.
//!
//! A [`Scheduler`] sees the paths as numbers ([`PathView`]) and chooses among those on which congestion
//! control permits a packet now. Before any scheduler, the priorities of RFC 9897, Section 3.2.10 apply:
//! paths of priority 0 are never used, standby paths (1) only while no other is alive, secondary paths (2)
//! only while no primary one (3 to 15) is alive or may send. A path that has stopped answering is used only
//! if all others have as well.
//!
//! - [`LowestRtt`]: the least round-trip time, with copies of single datagrams on paths that would otherwise
//!   never be measured again.
//! - [`Weighted`]: shares in proportion to weights.
//! - [`Redundant`]: every datagram on every path.
//! - [`CheapestFirst`]: the least cost, and the next when that path is full.
//! - [`Coded`]: the least round-trip time, and another path for what repairs the data.
//! - [`Handover`]: one path at a time, by priority (RFC 9897, Section 3.11.1).
//!
//! ```
//! use whimbrel_control::multipath::{PathView, SchedulerKind, Selection};
//! use whimbrel_units::{Duration, Instant};
//!
//! let path = |id, millis| PathView { rtt: Some(Duration::from_millis(millis)), ..PathView::new(id) };
//! let mut scheduler = SchedulerKind::LowestRtt.build();
//! let paths = [path(1, 80), path(2, 20)];
//! // The second path is faster; the first datagram measures the other as well.
//! let chosen = scheduler.select(Instant::ZERO, 1_000, &paths);
//! assert_eq!(chosen, Some(Selection { path: 1, copies: 0b1 }));
//! let chosen = scheduler.select(Instant::from_millis(10), 1_000, &paths);
//! assert_eq!(chosen, Some(Selection::one(1)));
//! ```

use alloc::boxed::Box;
use core::fmt;

use whimbrel_units::{Duration, Instant};

mod cheapest_first;
mod coded;
mod handover;
mod lowest_rtt;
mod redundant;
mod weighted;

#[cfg(test)]
mod tests;

pub use cheapest_first::CheapestFirst;
pub use coded::Coded;
pub use handover::Handover;
pub use lowest_rtt::LowestRtt;
pub use redundant::Redundant;
pub use weighted::Weighted;

/// The most paths that a scheduler considers; further ones are not used.
pub const MAX_PATHS: usize = 32;

/// Priority of paths that are never used.
const UNUSABLE: u8 = 0;
/// Priority of paths that are used while no other is alive.
const STANDBY: u8 = 1;
/// The lowest priority of paths that are always used.
const PRIMARY: u8 = 3;

/// A path, as a scheduler sees it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PathView {
    /// Identifies the path as long as it exists.
    pub id: u32,
    /// Priority, 0 to 15 (RFC 9897, Section 3.2.10).
    pub priority: u8,
    /// The smoothed round-trip time; `None` before a measurement.
    pub rtt: Option<Duration>,
    /// `true` unless the path has stopped answering.
    pub is_alive: bool,
    /// `true` if congestion control permits the datagram now.
    pub may_send: bool,
    /// Share of the datagrams under [`Weighted`], relative to the other paths; 0 counts as 1.
    pub weight: u32,
    /// Cost of a datagram under [`CheapestFirst`].
    pub cost: u32,
}

impl PathView {
    /// A primary path that may send, without a measurement.
    pub fn new(id: u32) -> Self {
        Self { id, priority: PRIMARY, rtt: None, is_alive: true, may_send: true, weight: 1, cost: 0 }
    }
}

/// The choice of a scheduler: indices of the given paths.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Selection {
    /// The path of the datagram.
    pub path: usize,
    /// Further paths that get a copy of it: bit `i` stands for path `i`.
    pub copies: u32,
}

impl Selection {
    /// One path, and no copies.
    pub const fn one(path: usize) -> Self {
        Self { path, copies: 0 }
    }

    /// All chosen paths.
    pub fn paths(self) -> impl Iterator<Item = usize> {
        core::iter::once(self.path).chain((0..MAX_PATHS).filter(move |index| self.copies >> index & 1 == 1))
    }
}

/// The purpose of a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Purpose {
    /// Data of the application.
    #[default]
    Data,
    /// Repetitions and coded packets, which repair lost data.
    Repair,
    /// Reports of what has arrived.
    Feedback,
}

/// Chooses the paths of datagrams.
pub trait Scheduler: fmt::Debug + Send {
    /// Chooses the paths of a datagram of `size` bytes, among those that may send it now. `None`: the
    /// datagram waits until a path may send.
    ///
    /// The caller sends the datagram on the chosen paths.
    fn select(&mut self, now: Instant, size: usize, paths: &[PathView]) -> Option<Selection>;
    /// The same for a datagram of that purpose, which most schedulers do not distinguish.
    fn select_for(
        &mut self,
        purpose: Purpose,
        now: Instant,
        size: usize,
        paths: &[PathView],
    ) -> Option<Selection> {
        let _ = purpose;
        self.select(now, size, paths)
    }
}

/// The schedulers of this module.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub enum SchedulerKind {
    /// [`LowestRtt`].
    #[default]
    LowestRtt,
    /// [`Weighted`].
    Weighted,
    /// [`Redundant`].
    Redundant,
    /// [`CheapestFirst`].
    CheapestFirst,
    /// [`Coded`].
    Coded,
    /// [`Handover`].
    Handover,
}

impl SchedulerKind {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::LowestRtt, Self::Weighted, Self::Redundant, Self::CheapestFirst, Self::Coded, Self::Handover];

    /// The name in configurations.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LowestRtt => "lowest-rtt",
            Self::Weighted => "weighted",
            Self::Redundant => "redundant",
            Self::CheapestFirst => "cheapest-first",
            Self::Coded => "coded",
            Self::Handover => "handover",
        }
    }

    /// The scheduler of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// A scheduler in its initial state.
    pub fn build(self) -> Box<dyn Scheduler> {
        match self {
            Self::LowestRtt => Box::new(LowestRtt::new()),
            Self::Weighted => Box::new(Weighted::new()),
            Self::Redundant => Box::new(Redundant),
            Self::CheapestFirst => Box::new(CheapestFirst),
            Self::Coded => Box::new(Coded::new()),
            Self::Handover => Box::new(Handover::new()),
        }
    }
}

/// The paths that priorities permit for a datagram now, whether they may send or not. Bit `i` stands for path
/// `i`.
fn permitted(paths: &[PathView]) -> u32 {
    let usable = mask(paths, |path| path.priority > UNUSABLE);
    let alive = usable & mask(paths, |path| path.is_alive);
    // Without a path that answers, any of them may be the one that answers again.
    let alive = if alive == 0 { usable } else { alive };
    let primary = alive & mask(paths, |path| path.priority >= PRIMARY);
    let regular = alive & mask(paths, |path| path.priority > STANDBY);
    let ready = mask(paths, |path| path.may_send);
    if primary & ready != 0 {
        primary
    } else if regular != 0 {
        regular
    } else {
        alive
    }
}

/// The paths that meet a condition. Bit `i` stands for path `i`.
fn mask(paths: &[PathView], condition: impl Fn(&PathView) -> bool) -> u32 {
    let bits = paths.iter().take(MAX_PATHS).enumerate().filter(|(_, path)| condition(path));
    bits.fold(0, |bits, (index, _)| bits | 1 << index)
}

/// The permitted paths that may send now, by index.
fn ready(paths: &[PathView]) -> impl Iterator<Item = (usize, &PathView)> {
    let permitted = permitted(paths);
    paths
        .iter()
        .take(MAX_PATHS)
        .enumerate()
        .filter(move |(index, path)| permitted >> index & 1 == 1 && path.may_send)
}
