//! Sizes between the least and the base size, on a path that does not carry the base size.
//!
//! RFC 8899, Section 5.2 leaves such a path at MIN_PLPMTU. IPv4 paths with an MTU of 1000 to 1228 bytes
//! exist, behind tunnels for instance, and would lose more than half of what they carry.

use super::{MAX_PROBES, RESOLUTION};

/// The search for the largest size below the base size.
#[derive(Clone, Copy, Debug)]
pub(super) struct BelowBaseSearch {
    /// The largest size that may work.
    ceiling: usize,
    /// The network reported the ceiling.
    is_named: bool,
    /// The path is known to carry some packets, so a lost probe was too large. Before that, it may be an
    /// outage.
    is_answered: bool,
    /// The next probe is below the base size, rather than one of the base size.
    is_turn: bool,
    /// The size in use is being verified.
    confirms: bool,
    /// Number of consecutive lost probes of the same size.
    lost: u8,
}

impl BelowBaseSearch {
    /// Starts the search below `ceiling`. `is_named`: the network reported the ceiling. `is_answered`: some
    /// packets arrive, so that the base size may work as well by now and is probed first.
    pub(super) fn new(ceiling: usize, is_named: bool, is_answered: bool) -> Self {
        Self { ceiling, is_named, is_answered, is_turn: !is_answered, confirms: false, lost: 0 }
    }

    /// The size to probe below the base size, if any, while `size` is in use and `least` always works; and
    /// whether the probe is exempt from congestion control.
    pub(super) fn candidate(&self, size: usize, least: usize) -> Option<(usize, bool)> {
        let gain = self.ceiling.saturating_sub(size);
        if self.confirms {
            Some((size, true))
        } else if !self.is_turn {
            None
        } else if self.is_named && gain > 0 {
            Some((self.ceiling, true))
        } else if !self.is_answered {
            Some((least, true))
        } else if gain > RESOLUTION {
            Some((size + gain.div_ceil(2), false))
        } else {
            None
        }
    }

    /// Processes the answer to a probe below the base size.
    pub(super) fn on_answered(&mut self) {
        (self.is_answered, self.confirms, self.lost) = (true, false, 0);
    }

    /// Processes the loss of a probe of `size` bytes below the base size. Returns `true` if the size in use
    /// no longer works.
    pub(super) fn on_lost(&mut self, size: usize) -> bool {
        self.lost += 1;
        let is_probe_enough = !self.is_answered && !self.confirms;
        if self.lost < MAX_PROBES && !is_probe_enough {
            return false;
        }
        self.lost = 0;
        if self.confirms {
            return true;
        }
        self.refuse(size);
        false
    }

    /// `size` is too large, or no packets arrive at all.
    pub(super) fn refuse(&mut self, size: usize) {
        let was_named = core::mem::take(&mut self.is_named);
        if self.is_answered {
            self.ceiling = size - 1;
        } else {
            self.is_turn = was_named;
        }
    }

    /// Another probe of the base size was lost.
    pub(super) fn on_base_lost(&mut self) {
        self.is_turn = true;
    }

    /// Starts verifying the size in use. Returns `false` if that was already under way.
    pub(super) fn confirm(&mut self) -> bool {
        let is_news = !self.confirms;
        if is_news {
            (self.confirms, self.lost) = (true, 0);
        }
        is_news
    }

    /// The network reported the largest size.
    pub(super) fn on_named(&mut self, ceiling: usize) {
        (self.ceiling, self.is_named, self.is_turn, self.lost) = (ceiling, true, true, 0);
    }

    /// Raises the ceiling after a while, as larger sizes may work by now.
    pub(super) fn widen(&mut self, ceiling: usize) {
        (self.ceiling, self.is_named, self.lost) = (ceiling, false, 0);
    }
}
