//! State of symbols that arrive, and of those that are missing.

use alloc::collections::VecDeque;

use whimbrel_units::{Duration, Instant};

use crate::fecframe::Esi;
use crate::wire::AduHeader;

/// Reports whose answers are awaited.
pub(super) const MOST_AWAITED: usize = 32;
/// Requests, one each round trip, for what may not exist. After them each interval is twice the one before,
/// up to so many times.
const GUESSES: u8 = 2;
const MOST_DOUBLINGS: u8 = 8;

/// Symbols that were asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Awaited {
    /// When the answer should be complete.
    pub(super) due: Instant,
    /// When they were asked for first, and last.
    pub(super) asked: Instant,
    pub(super) reported: Instant,
    pub(super) first: Esi,
    pub(super) last: Esi,
    /// Number of requests for these symbols since no arrival has shown that they were sent.
    pub(super) guesses: u8,
}

impl Awaited {
    /// Asks for these symbols again. `end` is the end of what arrived, `wait` the time of an answer, and
    /// `interval` the one between frames. Returns whether a report that asks for them is said again.
    ///
    /// Symbols after the newest arrival may not exist: a sender that pauses gets few requests for them.
    pub(super) fn ask_again(&mut self, now: Instant, end: Esi, wait: Duration, interval: Duration) -> bool {
        self.guesses = if self.first.since(end) < 0 { 0 } else { self.guesses.saturating_add(1) };
        let doublings = self.guesses.saturating_sub(GUESSES).min(MOST_DOUBLINGS);
        // Each frame that is expected asks for them as well.
        let wait = if self.is_unlikely() { wait.max(interval) } else { wait };
        (self.due, self.reported) = (now + wait * (1 << doublings), now);
        !self.is_unlikely()
    }

    /// Adds these symbols to those asked for. Returns whether the report that asks for them is said again.
    ///
    /// Each frame that is expected asks for the same symbol, which is no more likely to exist by that.
    pub(super) fn remember(mut self, all: &mut VecDeque<Self>) -> bool {
        all.retain(|known| {
            let is_same = (known.first, known.last) == (self.first, self.last);
            if is_same {
                (self.guesses, self.due) = (known.guesses, known.due.max(self.due));
            }
            !is_same
        });
        if all.len() >= MOST_AWAITED {
            all.pop_front();
        }
        let is_likely = !self.is_unlikely();
        all.push_back(self);
        is_likely
    }

    /// After a silence: each frame lost in it but the first was asked for when it was due, before that was
    /// known. `asked` has the times of these requests, and when their answers are due; the answer to the
    /// request for all of them is due later.
    pub(super) fn remember_frames(
        all: &mut VecDeque<Self>,
        gap: (Esi, Esi),
        asked: impl Iterator<Item = (Instant, Instant)>,
        now: Instant,
    ) {
        for (frame, (asked, due)) in (1..).zip(asked) {
            let first = gap.0.plus(frame);
            if due > now && gap.1.since(first) > 0 {
                let last = gap.1.plus(u32::MAX);
                Self { due, asked, reported: asked, first, last, guesses: 0 }.remember(all);
            }
        }
    }

    /// `true` if requests remain without an answer, and no arrival shows that the symbols were sent.
    fn is_unlikely(&self) -> bool {
        self.guesses > GUESSES
    }
}

/// Symbols to be asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asking {
    pub(super) at: Instant,
    pub(super) first: Esi,
    pub(super) last: Esi,
}

/// Originals that were missing when a later one arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gap {
    pub(super) first: Esi,
    /// The one that arrived.
    pub(super) end: Esi,
    pub(super) noticed: Instant,
}

/// An original that arrives.
#[derive(Clone, Copy, Debug)]
pub(in crate::receiver) struct Original<'a> {
    pub(in crate::receiver) esi: Esi,
    /// `false` if the path has damaged it.
    pub(in crate::receiver) is_whole: bool,
    pub(in crate::receiver) header: &'a AduHeader,
    /// The end of the window before it.
    pub(in crate::receiver) before: Esi,
}

/// The frame that arrives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arriving {
    pub(super) number: u16,
    pub(super) time: u32,
    /// Estimated arrival of its first packet.
    pub(super) begun: Instant,
    pub(super) newest: Esi,
    pub(super) newest_at: Instant,
}
