//! Sizes between the least and the base size, on a path that does not carry the base size.
//!
//! RFC 8899, Section 5.2 leaves such a path at MIN_PLPMTU. IPv4 paths with an MTU of 1000 to 1228 bytes exist, behind
//! tunnels for instance, and would lose more than half of what they carry.

use super::{MAX_PROBES, RESOLUTION};

/// The search for the largest size below the base size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Narrow {
    /// The largest size that may work.
    ceiling: usize,
    /// The network named the ceiling.
    is_named: bool,
    /// The path is known to carry something: a probe that is lost was too large. Before that, it may be an outage.
    is_answered: bool,
    /// A probe below the base size goes next, not one of the base size.
    is_turn: bool,
    /// It is to be seen whether the size in use still arrives.
    confirms: bool,
    /// Probes of the same size that were lost in a row.
    lost: u8,
}

impl Narrow {
    /// Nothing above `ceiling` arrives, which the network named or not; `is_answered`: but something does, so that
    /// the base size may arrive as well by now and goes first.
    pub(super) fn new(ceiling: usize, is_named: bool, is_answered: bool) -> Self {
        Self { ceiling, is_named, is_answered, is_turn: !is_answered, confirms: false, lost: 0 }
    }
    /// The size to probe below the base size, if there is one, where `size` is in use and `least` always works;
    /// and whether it matters more than the congestion control's leave.
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
    /// A probe below the base size arrived.
    pub(super) fn on_answered(&mut self) {
        (self.is_answered, self.confirms, self.lost) = (true, false, 0);
    }
    /// A probe of `size` bytes below the base size was lost. True: the size in use no longer arrives.
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
    /// `size` is too large, or nothing arrives at all.
    pub(super) fn refuse(&mut self, size: usize) {
        let was_named = core::mem::take(&mut self.is_named);
        if self.is_answered {
            self.ceiling = size - 1;
        } else {
            self.is_turn = was_named;
        }
    }
    /// A probe of the base size was lost once more.
    pub(super) fn on_base_lost(&mut self) {
        self.is_turn = true;
    }
    /// It is to be seen whether the size in use still arrives. Whether that is news.
    pub(super) fn confirm(&mut self) -> bool {
        let is_news = !self.confirms;
        if is_news {
            (self.confirms, self.lost) = (true, 0);
        }
        is_news
    }
    /// The network named the most.
    pub(super) fn on_named(&mut self, ceiling: usize) {
        (self.ceiling, self.is_named, self.is_turn, self.lost) = (ceiling, true, true, 0);
    }
    /// A while has passed: larger sizes may work by now.
    pub(super) fn widen(&mut self, ceiling: usize) {
        (self.ceiling, self.is_named, self.lost) = (ceiling, false, 0);
    }
}
